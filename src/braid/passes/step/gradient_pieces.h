// Gradients of parts of a value. Where a value is cut into parts, each part
// has a gradient of its own; they are joined into one, which is far less work
// than the sum of as many values of zeros.
#pragma once

#include <map>
#include <vector>

#include "braid/graph/var.h"

namespace braid::passes {

class GradientPieces {
 public:
  // Keeps a gradient that is that of a part; false when it is none.
  bool take(ValueId of, Var gradient);

  // The sum of what was kept for a value, appended to the graph now; nothing
  // when there is nothing.
  Var join(ValueId of);

 private:
  std::map<ValueId, std::vector<Var>> kept_;
};

}  // namespace braid::passes
