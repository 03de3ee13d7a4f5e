// The numbers of one update of one parameter of one member.
#pragma once

namespace braid::runtime {

struct UpdateInputs {
  double value[8] = {};  // in the order of UpdateKind::values
  double step = 1;       // of this update, from 1
  double extra = 1;
  double scale = 1;  // of the gradient
  bool nesterov = false, decoupled = false;
};

}  // namespace braid::runtime
