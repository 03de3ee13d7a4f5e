// The kinds of optimizer: one row each. The update of a parameter is one op,
// `NAME_update`, with the inputs
//   parameter, gradient, states..., updates so far, values..., extra?,
//   scale?, keep?
// where values are f64 and all numbers after the states are one per member.
// Its outputs are the new parameter and the new states, in that order.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace braid {

struct UpdateKind {
  std::string name;
  std::vector<std::string> states;  // slots of the parameter's shape
  std::vector<std::pair<std::string, double>> values;  // with defaults
  // Switches that hold for all members: names with the states they need.
  std::vector<std::pair<std::string, std::string>> flags = {};
  bool has_extra = false;  // nadam: the running product of its momenta
  std::string summary = {};

  // Places of the inputs that follow the states.
  size_t step_input() const { return 2 + states.size(); }
  size_t value_input(size_t i) const { return step_input() + 1 + i; }
  size_t extra_input() const { return value_input(values.size()); }
  size_t scale_input() const { return extra_input() + (has_extra ? 1 : 0); }
  size_t keep_input() const { return scale_input() + 1; }
  std::string op() const { return name + "_update"; }
};

const std::vector<UpdateKind>& update_kinds();

// Null when there is none.
const UpdateKind* find_update_kind(const std::string& name);

}  // namespace braid
