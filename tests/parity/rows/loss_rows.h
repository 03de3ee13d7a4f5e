// What rows of losses share.
#pragma once

#include <optional>

#include "../row.h"
#include "braid/ops/build/functions.h"

namespace braid::parity {

inline constexpr Reduction kAll[] = {Reduction::kMean, Reduction::kSum,
                                     Reduction::kEach};

inline int64_t torch_reduction(Reduction r) {
  if (r == Reduction::kEach) return at::Reduction::None;
  return r == Reduction::kMean ? at::Reduction::Mean : at::Reduction::Sum;
}

// Without a gradient; missing ones stay so.
inline std::optional<at::Tensor> fixed(const at::Tensor& t) {
  return t.defined() ? std::optional(t.detach()) : std::nullopt;
}

}  // namespace braid::parity
