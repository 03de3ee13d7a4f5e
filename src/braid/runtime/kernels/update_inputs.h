// The numbers of one update of the parameters of one member.
#pragma once

namespace braid::runtime {

struct UpdateInputs {
  double value[8] = {};  // in the order of UpdateKind::values
  double step = 1;       // of this update, from 1
  double extra = 1;
  double scale = 1;  // of the gradient
  bool nesterov = false, decoupled = false;
};

// What a rule makes of them, as it lies in memory: the same for all
// parameters of a member.
struct UpdateCoefficients {
  alignas(8) unsigned char bytes[96];
};

}  // namespace braid::runtime
