// The model's part of a State (parameters and buffers) to and from safetensors
// files, by PyTorch names; a tied tensor stands there under each of its names.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "braid/graph/graph.h"
#include "braid/io/format/safetensors.h"
#include "braid/io/format/tensor_list.h"
#include "braid/runtime/state.h"

namespace braid::train {

using io::TensorList;

// Whether a slot is part of a PyTorch state dict.
bool is_of_model(const Slot& slot);

// Whether a checkpoint keeps a slot: gradients of micro-batches are written
// anew by every step, constants come with the model.
bool is_saved(const Slot& slot);

// Sets a hyper-parameter of a member: "lr", or "dropout" for all its dropout
// layers, "label_smoothing" for all its losses. Unknown names are errors.
void set_hyper(runtime::State& state, int64_t member, const std::string& name,
               double value);

// A file of initial parameters and buffers, with the name it has in errors.
class InitFile {
 public:
  explicit InitFile(const std::filesystem::path& path);
  InitFile(std::string name, io::SafetensorsFile file)
      : name_(std::move(name)), file_(std::move(file)) {}

  // Everything that is missing, unknown or of another type, in one error. Of
  // several networks it is the one whose slots begin with the prefix; where
  // members of an array differ, it is for one of them.
  void check(const std::vector<Slot>& slots, const std::string& prefix = "",
             int64_t member = 0) const;
  // Writes into one member of a checked state.
  void apply(runtime::State& state, int64_t member,
             const std::string& prefix = "") const;

  const io::SafetensorsFile& file() const { return file_; }
  // Equal contents have equal numbers.
  uint64_t fingerprint() const;

 private:
  std::string name_;
  io::SafetensorsFile file_;
};

// Parameters and buffers of one member; of several networks that whose slots
// begin with the prefix, under its own names.
TensorList member_state(const runtime::State& state, int64_t member,
                        const std::string& prefix = "");

// The same with averaged weights where there are some: parameters that are not
// trained, and buffers, are as they are.
TensorList member_average(const runtime::State& state, int64_t member,
                          const std::string& prefix = "");

}  // namespace braid::train
