// Which numbers the values of an optimizer may be.
#pragma once

#include <limits>
#include <string>

namespace braid::passes {

struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool with_low = true;
  bool with_high = true;

  // False for NaN.
  bool holds(double value) const;
  std::string text() const;  // "at least 0", "from 0 to below 1"
};

// Of a value by name: "lr", "beta1", "clip_norm", ...
Range option_range(const std::string& name);

}  // namespace braid::passes
