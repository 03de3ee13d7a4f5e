// Inputs of a step: tensors from files, checked against the forward graph and
// laid out as the executor takes them.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "braid/graph/graph.h"
#include "braid/io/format/safetensors.h"

namespace braid::cli {

// A file of inputs with the name it has in errors.
struct InputFile {
  std::string name;
  const io::SafetensorsFile* file = nullptr;
};

// Types of the tensors, of one micro-batch.
std::map<std::string, ValueType> input_types(const io::SafetensorsFile& file,
                                             int64_t micro_batches);

// Names of the forward's inputs that files must hold.
std::vector<std::string> input_names(const Graph& forward);

// Everything that is wrong with the files, in one error: missing and unknown
// names, dtypes, shapes, indices outside their table. Tensors hold the whole
// batch: dimension 0 is that of the graph times `micro_batches`.
void check_inputs(const Graph& forward, const std::vector<InputFile>& files,
                  int64_t micro_batches, const std::string& hint);

// The bytes of every micro-batch. One file serves the model or all members;
// several are the members' own and are put side by side, [B, ...].
class Feed {
 public:
  Feed(const Graph& forward, const std::vector<InputFile>& files,
       int64_t micro_batches);

  // To be called once with the graph that runs, whose inputs have the same
  // names but other ids.
  void bind(const Graph& graph);
  const std::byte* at(int64_t micro, ValueId input) const {
    return bound_[static_cast<size_t>(micro)][static_cast<size_t>(input)];
  }

  // Equal contents have equal numbers.
  uint64_t fingerprint() const;

 private:
  std::vector<std::map<std::string, std::vector<std::byte>>> bytes_;  // micro
  std::vector<std::vector<const std::byte*>> bound_;  // micro, ValueId
};

}  // namespace braid::cli
