#include "braid/ops/core/traits.h"

#include "braid/ops/build/functions.h"
#include "braid/ops/core/merged.h"

namespace braid {
namespace {

std::vector<Var> all_leading(ArrayContext& c) {
  std::vector<Var> inputs;
  for (size_t i = 0; i < c.one().count(); ++i) {
    inputs.push_back(c.has(i) ? c.leading(i) : Var{});
  }
  return inputs;
}

void emit_all(ArrayContext& c, const std::vector<Var>& outputs,
              MemberAxis axis) {
  for (size_t i = 0; i < outputs.size(); ++i) c.emit(i, outputs[i], axis);
}

// [B, ...] with ones after B, so that it broadcasts to `rank` member dims.
Var aligned(ArrayContext& c, size_t i, int64_t rank) {
  if (c.shared(i)) return c.in(i);
  Var x = c.leading(i);
  Shape shape = x.shape();
  auto missing = static_cast<size_t>(rank + 1 - x.rank());
  shape.insert(shape.begin() + 1, missing, 1);
  return reshape(x, shape);
}

// Input i of member b; empty if missing.
Var member_of(ArrayContext& c, size_t i, int64_t b) {
  if (!c.has(i)) return {};
  return c.shared(i) ? c.in(i) : select(c.leading(i), 0, b);
}

Var fold(Var x) {
  Shape shape(x.shape().begin() + 1, x.shape().end());
  shape.at(0) *= x.dim(0);
  return reshape(x, shape);
}

Var unfold(Var x, int64_t members) {
  Shape shape = x.shape();
  shape.at(0) /= members;
  shape.insert(shape.begin(), members);
  return reshape(x, shape);
}

}  // namespace

void no_gradient(VjpContext&) {}

Ints shift_dims(Ints dims) {
  for (int64_t& d : dims) ++d;
  return dims;
}

std::vector<ValueType> shape_like_first(const NodeView& v) {
  return {v.type(0)};
}

void array_pointwise(ArrayContext& c) {
  NodeView one = c.one();
  if (auto merged = merged_operands(c)) {
    emit_all(c, apply_all(*one.node().op, *merged, c.attrs()),
             MemberAxis::kMerged);
    return;
  }
  std::vector<Var> inputs;
  auto rank = static_cast<int64_t>(one.output(0).type.shape.size());
  for (size_t i = 0; i < one.count(); ++i) {
    inputs.push_back(c.has(i) ? aligned(c, i, rank) : Var{});
  }
  emit_all(c, apply_all(*one.node().op, inputs, c.attrs()),
           MemberAxis::kLeading);
}

void array_shifted(ArrayContext& c, Attrs attrs) {
  emit_all(c, apply_all(*c.one().node().op, all_leading(c), std::move(attrs)),
           MemberAxis::kLeading);
}

bool all_merged(ArrayContext& c) {
  for (size_t i = 0; i < c.one().count(); ++i) {
    if (!c.has(i) || c.member_axis(i) != MemberAxis::kMerged ||
        c.one().rank(i) != c.one().rank(0)) {
      return false;
    }
  }
  return true;
}

void array_merged(ArrayContext& c) {
  std::vector<Var> inputs;
  for (size_t i = 0; i < c.one().count(); ++i) inputs.push_back(c.in(i));
  emit_all(c, apply_all(*c.one().node().op, inputs, c.attrs()),
           MemberAxis::kMerged);
}

void array_folded(ArrayContext& c) {
  std::vector<Var> inputs = all_leading(c);
  for (Var& x : inputs) {
    if (x) x = fold(x);
  }
  std::vector<Var> outputs = apply_all(*c.one().node().op, inputs, c.attrs());
  for (Var& x : outputs) x = unfold(x, c.members());
  emit_all(c, outputs, MemberAxis::kLeading);
}

void array_channels(ArrayContext& c) {
  if (c.member_axis(0) != MemberAxis::kMerged) return array_folded(c);
  emit_all(c, apply_all(*c.one().node().op, {c.in(0)}, c.attrs()),
           MemberAxis::kMerged);
}

void array_members(ArrayContext& c) {
  Attrs attrs = c.attrs();
  attrs.set("members", c.members());
  array_shifted(c, attrs);
}

void array_loop(ArrayContext& c) {
  std::vector<std::vector<Var>> results;  // by output, then member
  for (int64_t b = 0; b < c.members(); ++b) {
    std::vector<Var> one;
    for (size_t i = 0; i < c.one().count(); ++i) {
      one.push_back(member_of(c, i, b));
    }
    std::vector<Var> outputs = apply_all(*c.one().node().op, one, c.attrs());
    results.resize(outputs.size());
    for (size_t i = 0; i < outputs.size(); ++i) {
      results[i].push_back(unsqueeze(outputs[i], 0));
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    c.emit(i, cat(results[i], 0), MemberAxis::kLeading);
  }
}

}  // namespace braid
