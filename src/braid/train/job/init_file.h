// A file of first parameters and buffers, by PyTorch names: all of a model's,
// or those of another model as far as patterns allow it to differ. A tied
// tensor may stand in it under any of its names. Floats of a narrower type than
// the model's become wider, which keeps every number as it is.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "braid/graph/graph.h"
#include "braid/io/format/safetensors.h"
#include "braid/runtime/state.h"

namespace braid::train {

// Where a file need not fit: patterns of names of the model that it may lack or
// have in another shape, and of names of its own that nobody needs. `rename`:
// what its names begin with -> what those of the model do; of several
// beginnings that fit a name the longest counts.
struct InitPatterns {
  std::vector<std::string> missing = {}, reshaped = {}, extra = {};
  std::map<std::string, std::string> rename = {};
};

// What became of the tensors of a model and of a file.
struct InitFit {
  std::vector<std::string> taken = {}, missing = {}, reshaped = {};
  std::vector<std::string> widened = {};  // of those that are taken
  std::vector<std::string> extra = {};    // by the file's own names

  // One line: "4 of 6 tensors taken, 2 missing ...". Then all names, a line for
  // each of the lists that is not empty.
  std::string summary(const std::string& file) const;
  std::vector<std::string> details() const;
};

class InitFile {
 public:
  explicit InitFile(const std::filesystem::path& path,
                    InitPatterns allowed = {});
  // One that is open already, with the name it has in errors.
  InitFile(std::string name, io::SafetensorsFile file,
           InitPatterns allowed = {});

  // Everything that is missing, unknown or of another type and that no pattern
  // covers, in one error. Of several networks it is the one whose slots begin
  // with the prefix; where members of an array differ, it is for one of them.
  InitFit check(const std::vector<Slot>& slots, const std::string& prefix = "",
                int64_t member = 0) const;
  // Writes into one member of a checked state; what the file does not have
  // stays as it is.
  void apply(runtime::State& state, int64_t member,
             const std::string& prefix = "") const;

  const std::string& name() const { return name_; }
  const io::SafetensorsFile& file() const { return file_; }
  // Equal contents have equal numbers.
  uint64_t fingerprint() const;

 private:
  std::vector<const io::TensorBytes*> tensors_for(const Slot& slot) const;

  std::string name_;
  InitPatterns allowed_;
  io::SafetensorsFile file_;
  std::map<std::string, size_t> tensors_;  // by name of the model, of file_
};

}  // namespace braid::train
