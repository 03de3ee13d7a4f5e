#include "braid/train/run/eval_outputs.h"

#include "braid/base/error.h"
#include "braid/base/narrow_float.h"

namespace braid::train {
namespace {

// Members whose outputs differ in shape have their own.
std::string own_name(const std::string& name, size_t lane) {
  return member_prefix(static_cast<int64_t>(lane)) + name;
}

}  // namespace

EvalOutputs::EvalOutputs(const runtime::Executor& executor)
    : executor_(executor), losses_(executor.losses()) {}

bool EvalOutputs::has(const std::string& name, size_t lane) const {
  const Graph& graph = executor_.program().graph;
  return graph.find_output(name) != kNone ||
         graph.find_output(own_name(name, lane)) != kNone;
}

std::vector<double> EvalOutputs::numbers(const std::string& name, size_t lane) {
  const Graph& graph = executor_.program().graph;
  bool is_common = graph.find_output(name) != kNone;
  const std::string key = is_common ? name : own_name(name, lane);
  ValueId output = graph.find_output(key);
  if (output == kNone) fail_usage("[metrics] there is no output '{}'", name);
  auto [at, is_new] = read_.try_emplace(key);
  if (is_new) at->second = executor_.output(key);
  DType dtype = graph.value(output).type.dtype;
  auto item = static_cast<size_t>(item_bytes(dtype));
  size_t lanes = is_common ? losses_.size() : 1;
  std::vector<double> numbers(at->second.size() / item / lanes);
  size_t begin = is_common ? lane * numbers.size() : 0;
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = number_at(at->second.data() + (begin + i) * item, dtype);
  }
  return numbers;
}

double EvalOutputs::number(const std::string& name, size_t lane) {
  return numbers(name, lane).at(0);
}

}  // namespace braid::train
