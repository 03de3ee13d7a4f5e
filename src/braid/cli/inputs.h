// Inputs of a step: tensors from files, checked against the forward graph and
// given as data.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "braid/data/dataset.h"
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

// The checked tensors of a file as data: a sample is what one micro-batch takes
// of them, a field an input of the forward. Holds a copy.
data::DatasetPtr given_batch(const Graph& forward, const InputFile& file,
                             int64_t micro_batches);

// Equal contents have equal numbers.
uint64_t fingerprint(const Graph& forward, const std::vector<InputFile>& files,
                     int64_t micro_batches);

}  // namespace braid::cli
