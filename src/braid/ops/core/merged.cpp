#include "braid/ops/core/merged.h"

#include "braid/ops/build/functions.h"

namespace braid {
namespace {

// The shape of input i with ones in front, as it broadcasts to `rank` dims.
Shape aligned_shape(const NodeView& one, size_t i, size_t rank) {
  Shape shape = one.shape(i);
  shape.insert(shape.begin(), rank - shape.size(), 1);
  return shape;
}

// What brings an operand to a merged result.
enum class Way {
  kAsItIs,   // merged already, or the same for all channels and members
  kChannel,  // a value for each member: its channels are laid side by side
  kNone,
};

// A small operand may be copied, if the result is so many times as large.
constexpr int64_t kSmall = 2;

Way way_of(ArrayContext& c, size_t i, const Shape& result) {
  NodeView one = c.one();
  Shape shape = aligned_shape(one, i, result.size());
  bool merged = c.member_axis(i) == MemberAxis::kMerged;
  if (merged && one.rank(i) == static_cast<int64_t>(result.size()) &&
      shape[1] == result[1]) {
    return Way::kAsItIs;
  }
  if (c.shared(i) && shape[1] == 1) return Way::kAsItIs;
  shape[1] = result[1];
  bool small = num_elements(shape) * kSmall <= num_elements(result);
  return small ? Way::kChannel : Way::kNone;
}

// An operand of the members as [N or 1, B * C, S or 1].
Var laid_out(ArrayContext& c, size_t i, const Shape& result) {
  Var x = c.leading(i);  // [B, ...]
  Shape shape = aligned_shape(c.one(), i, result.size());
  shape.insert(shape.begin(), c.members());
  x = transpose(reshape(x, shape), 0, 1);  // [N, B, C or 1, S]
  shape = x.shape();
  shape[2] = result[1];
  return join_channels(expand(x, shape));
}

// Whether some input lies merged in the full size of the result.
bool has_large(ArrayContext& c, const Shape& result) {
  for (size_t i = 0; i < c.one().count(); ++i) {
    if (c.has(i) && c.member_axis(i) == MemberAxis::kMerged &&
        c.one().shape(i) == result) {
      return true;
    }
  }
  return false;
}

}  // namespace

Var split_channels(Var x, int64_t members) {
  Shape shape = x.shape();
  shape[1] /= members;
  shape.insert(shape.begin() + 1, members);
  return reshape(x, shape);
}

Var join_channels(Var x) {
  Shape shape = x.shape();
  shape[2] *= shape[1];
  shape.erase(shape.begin() + 1);
  return reshape(x, shape);
}

std::optional<std::vector<Var>> merged_operands(ArrayContext& c) {
  const Shape result = c.one().output(0).type.shape;
  if (!has_large(c, result)) return std::nullopt;
  for (size_t i = 0; i < c.one().count(); ++i) {
    if (c.has(i) && way_of(c, i, result) == Way::kNone) return std::nullopt;
  }
  std::vector<Var> operands;
  for (size_t i = 0; i < c.one().count(); ++i) {
    if (!c.has(i)) {
      operands.emplace_back();
    } else if (way_of(c, i, result) == Way::kAsItIs) {
      operands.push_back(c.in(i));
    } else {
      operands.push_back(laid_out(c, i, result));
    }
  }
  return operands;
}

}  // namespace braid
