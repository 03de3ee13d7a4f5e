// EvalOutputs: the outputs of an evaluation's last batch, by member; each is
// read from the device once, however many members look at it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "braid/runtime/executor.h"

namespace braid::train {

class EvalOutputs {
 public:
  // Borrows it until its next step.
  explicit EvalOutputs(const runtime::Executor& executor);

  double loss(size_t lane) const { return losses_.at(lane); }
  bool has(const std::string& name, size_t lane) const;
  // All numbers of an output, row-major; throws when there is none.
  std::vector<double> numbers(const std::string& name, size_t lane);
  double number(const std::string& name, size_t lane);

 private:
  const runtime::Executor& executor_;
  std::vector<double> losses_;
  std::map<std::string, std::vector<std::byte>> read_;
};

}  // namespace braid::train
