// Runs one row in Braid and in libtorch.
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "braid/train/trainer.h"
#include "row.h"

namespace braid::parity {

// What a run gives: the output "y" and the gradient of each float input.
using Results = std::map<std::string, at::Tensor>;

// Inputs of one member, by position; undefined where missing.
Tensors random_inputs(const Row& row, DType dtype, int64_t seed);

// Weights of the scalar whose gradient is taken: loss = sum(y * weights).
at::Tensor random_weights(const Row& row, const Tensors& inputs);

// On the device of the inputs.
Results run_reference(const Row& row, const Tensors& inputs);

// A row in Braid, made once and run on many inputs of one size: for one model,
// or an array of as many members as there are sets of inputs.
class PreparedRow {
 public:
  // Borrows the row and the backend. `like` gives weights and the number of
  // members.
  PreparedRow(const Row& row, const std::vector<Tensors>& like, DType dtype,
              runtime::Backend& backend, bool as_array,
              DType precision = DType::kFloat32,
              std::optional<Lowering> lowering = {});

  // Results by member.
  std::vector<Results> run(const std::vector<Tensors>& inputs);

  // Of the last run, when there is one member.
  double loss() const { return trainer_.losses().at(0); }

 private:
  void write(const std::vector<Tensors>& inputs);

  const Row& row_;
  bool as_array_;
  train::Trainer trainer_;
  std::map<std::string, at::Tensor> feeds_;
};

// The ops that a row's graph consists of.
std::set<std::string> ops_of(const OpTable& ops, const Row& row);

// Runs it once.
std::vector<Results> run_braid(const Row& row,
                               const std::vector<Tensors>& inputs, DType dtype,
                               runtime::Backend& backend, bool as_array,
                               DType precision = DType::kFloat32,
                               std::optional<Lowering> lowering = {});

// max |a - b| / max |b|, with b's scale bounded from below.
double difference(const at::Tensor& a, const at::Tensor& b);

}  // namespace braid::parity
