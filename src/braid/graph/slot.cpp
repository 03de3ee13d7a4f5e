#include "braid/graph/slot.h"

namespace braid {

std::string_view role_name(Role role) {
  switch (role) {
    case Role::kParameter: return "parameter";
    case Role::kBuffer: return "buffer";
    case Role::kConstant: return "constant";
    case Role::kOptimizer: return "optimizer";
    case Role::kGradient: return "gradient";
    case Role::kCounter: return "counter";
    case Role::kHyper: return "hyper";
  }
  return "";
}

Shape Slot::stored_shape() const {
  if (members == 0) return shape;
  Shape stored{members};
  stored.insert(stored.end(), shape.begin(), shape.end());
  return stored;
}

int64_t Slot::bytes() const {
  return num_elements(stored_shape()) * item_bytes(dtype);
}

}  // namespace braid
