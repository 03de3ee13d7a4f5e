#include "random_moves.h"

namespace braid::parity {
namespace {

using T = const at::Tensor&;

// Two floats that broadcast and never come close to each other.
std::optional<std::pair<size_t, size_t>> apart(Chooser& c) {
  size_t a = c.any_float(), b = c.partner(a);
  Tensors x = c.trials(a), y = c.trials(b);
  for (size_t i = 0; i < x.size(); ++i) {
    at::Tensor gap = (x[i] - y[i]).abs();
    if (gap.numel() > 0 && gap.min().item<double>() < 1e-4) return {};
  }
  return std::pair{a, b};
}

struct Compared {
  const char* name;
  Var (*ours)(Var, Var);
  at::Tensor (*theirs)(T, T);
};

Move compared_move(const Compared& f) {
  return {f.name, [f](Chooser& c) -> Drawn {
            auto pair = apart(c);
            if (!pair) return {};
            return step(
                {pair->first, pair->second},
                [f](const Vars& v) { return f.ours(v[0], v[1]); },
                [f](const Tensors& t) { return f.theirs(t[0], t[1]); });
          }};
}

Drawn draw_above(Chooser& c) {
  size_t x = c.any_float();
  if (!is_clear_of(c, x, 0.125)) return {};
  return step(
      {x}, [](const Vars& v) { return gt_scalar(v[0], 0.125); },
      [](const Tensors& t) { return t[0] > 0.125; });
}

Drawn draw_index_below(Chooser& c) {
  auto x = c.find(at::kLong, [](T t) { return t.dim() < 5; });
  if (!x) return {};
  return step(
      {*x}, [](const Vars& v) { return le_scalar(v[0], int64_t{1}); },
      [](const Tensors& t) { return t[0] <= 1; });
}

std::optional<size_t> find_mask(Chooser& c) {
  return c.find(at::kBool, [](T) { return true; });
}

// A mask and a float that broadcast.
std::optional<std::pair<size_t, size_t>> masked(Chooser& c) {
  auto mask = find_mask(c);
  if (!mask) return {};
  return std::pair{*mask, c.partner(*mask)};
}

Drawn draw_where(Chooser& c) {
  auto pair = masked(c);
  if (!pair) return {};
  size_t other = c.partner(pair->second);
  return step(
      {pair->first, pair->second, other},
      [](const Vars& v) { return where(v[0], v[1], v[2]); },
      [](const Tensors& t) { return at::where(t[0], t[1], t[2]); });
}

Drawn draw_where_number(Chooser& c) {
  auto pair = masked(c);
  if (!pair) return {};
  if (c.chance(0.5)) {
    return step(
        {pair->first, pair->second},
        [](const Vars& v) { return where(v[0], v[1], 0.5); },
        [](const Tensors& t) { return at::where(t[0], t[1], 0.5); });
  }
  return step(
      {pair->first, pair->second},
      [](const Vars& v) { return where(v[0], int64_t{1}, v[1]); },
      [](const Tensors& t) { return at::where(t[0], 1, t[1]); });
}

Drawn draw_masked_fill(Chooser& c) {
  auto pair = masked(c);
  if (!pair) return {};
  if (c.chance(0.5)) {
    return step(
        {pair->first, pair->second},
        [](const Vars& v) { return masked_fill(v[1], v[0], -0.5); },
        [](const Tensors& t) { return at::masked_fill(t[1], t[0], -0.5); });
  }
  size_t value = c.of_shape({});
  return step(
      {pair->first, pair->second, value},
      [](const Vars& v) { return masked_fill(v[1], v[0], v[2]); },
      [](const Tensors& t) { return at::masked_fill(t[1], t[0], t[2]); });
}

Drawn draw_mask_as_factor(Chooser& c) {
  auto pair = masked(c);
  if (!pair) return {};
  return step(
      {pair->first, pair->second},
      [](const Vars& v) { return mul(v[1], v[0]); },
      [](const Tensors& t) { return t[1] * t[0]; });
}

Drawn draw_index_as_float(Chooser& c) {
  auto x = c.find(at::kLong, [](T t) { return t.numel() > 0; });
  if (!x) return {};
  size_t y = c.partner(*x);
  return step(
      {*x, y}, [](const Vars& v) { return add(v[0], v[1]); },
      [](const Tensors& t) { return t[0] + t[1]; });
}

Drawn draw_logic(Chooser& c) {
  auto a = find_mask(c);
  if (!a) return {};
  auto b =
      c.find(at::kBool, [&](T t) { return t.sizes() == c.value(*a).sizes(); });
  bool both = c.chance(0.5);
  if (!b || *b == *a) {
    return step(
        {*a}, [](const Vars& v) { return logical_not(v[0]); },
        [](const Tensors& t) { return t[0].logical_not(); });
  }
  return step(
      {*a, *b},
      [=](const Vars& v) {
        return both ? logical_and(v[0], v[1]) : logical_xor(v[0], v[1]);
      },
      [=](const Tensors& t) {
        return both ? t[0].logical_and(t[1]) : t[0].logical_xor(t[1]);
      });
}

Drawn draw_larger(Chooser& c) {
  auto pair = apart(c);
  if (!pair) return {};
  bool larger = c.chance(0.5);
  return step(
      {pair->first, pair->second},
      [=](const Vars& v) {
        return larger ? maximum(v[0], v[1]) : minimum(v[0], v[1]);
      },
      [=](const Tensors& t) {
        return larger ? at::maximum(t[0], t[1]) : at::minimum(t[0], t[1]);
      });
}

Drawn draw_clamp_tensor(Chooser& c) {
  auto pair = apart(c);
  if (!pair) return {};
  bool low = c.chance(0.5);
  return step(
      {pair->first, pair->second},
      [=](const Vars& v) {
        return clamp_tensor(v[0], low ? v[1] : Var{}, low ? Var{} : v[1]);
      },
      [=](const Tensors& t) {
        return low ? at::clamp(t[0], t[1]) : at::clamp(t[0], {}, t[1]);
      });
}

Drawn draw_three(Chooser& c) {
  size_t x = c.any_float(), y = c.partner(x), z = c.partner(x);
  switch (c.below(3)) {
    case 0:
      return step(
          {x, y, z},
          [](const Vars& v) { return addcmul(v[0], v[1], v[2], 0.5); },
          [](const Tensors& t) { return at::addcmul(t[0], t[1], t[2], 0.5); });
    case 1:
      return step(
          {x, y, z},
          [](const Vars& v) {
            return addcdiv(v[0], v[1], add_scalar(exp(v[2]), 0.5));
          },
          [](const Tensors& t) {
            return at::addcdiv(t[0], t[1], at::exp(t[2]) + 0.5);
          });
    default:
      return step(
          {x, y, z}, [](const Vars& v) { return lerp(v[0], v[1], v[2]); },
          [](const Tensors& t) { return at::lerp(t[0], t[1], t[2]); });
  }
}

}  // namespace

bool is_clear_of(const Chooser& c, size_t x, double point) {
  at::Tensor near, exact;
  for (const at::Tensor& t : c.trials(x)) {
    at::Tensor is_near = (t - point).abs() < 1e-4, is_exact = t.eq(point);
    near = near.defined() ? near.logical_or(is_near) : is_near;
    exact = exact.defined() ? exact.logical_and(is_exact) : is_exact;
  }
  return !near.logical_and(exact.logical_not()).any().item<bool>();
}

bool has_no_ties(const Chooser& c, size_t x, int64_t dim) {
  for (const at::Tensor& t : c.trials(x)) {
    if (t.numel() == 0) return false;
    at::Tensor flat = t.dim() == 0 ? t.reshape({1}) : t;
    at::Tensor gaps = at::diff(std::get<0>(flat.sort(dim)), 1, dim);
    if (gaps.numel() > 0 && gaps.min().item<double>() < 1e-4) return false;
  }
  return true;
}

void add_choice_moves(std::vector<Move>& moves) {
  const Compared compared[] = {
      {"lt", lt, [](T a, T b) { return a < b; }},
      {"ge", ge, [](T a, T b) { return a >= b; }},
      {"ne", ne, [](T a, T b) { return a != b; }},
  };
  for (const Compared& f : compared) moves.push_back(compared_move(f));
  moves.insert(moves.end(), {{"gt_scalar", draw_above},
                             {"le of an index", draw_index_below},
                             {"where", draw_where},
                             {"where with a number", draw_where_number},
                             {"masked_fill", draw_masked_fill},
                             {"mask as a factor", draw_mask_as_factor},
                             {"index as a float", draw_index_as_float},
                             {"logic", draw_logic},
                             {"maximum, minimum", draw_larger},
                             {"clamp_tensor", draw_clamp_tensor},
                             {"three operands", draw_three}});
}

}  // namespace braid::parity
