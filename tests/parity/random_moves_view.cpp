#include <algorithm>
#include <numeric>

#include "random_moves.h"

namespace braid::parity {
namespace {

using T = const at::Tensor&;

// Some views of an index or a mask, most of a float.
size_t anything(Chooser& c, int64_t low, int64_t high) {
  auto fits = [=](T t) { return t.dim() >= low && t.dim() <= high; };
  if (c.chance(0.1)) {
    auto x = c.find(c.chance(0.5) ? at::kLong : at::kBool, fits);
    if (x) return *x;
  }
  return c.of_rank(low, high);
}

Ints shuffled(Chooser& c, int64_t rank) {
  Ints dims(static_cast<size_t>(rank));
  std::iota(dims.begin(), dims.end(), 0);
  for (size_t i = dims.size(); i > 1; --i) {
    std::swap(dims[i - 1],
              dims[static_cast<size_t>(c.below(static_cast<int64_t>(i)))]);
  }
  return dims;
}

// The numbers of entries, spread over up to four sizes.
Drawn draw_reshape(Chooser& c) {
  size_t x = anything(c, 0, 5);
  int64_t left = c.value(x).numel();
  Shape shape;
  for (int64_t factor : {2, 3, 2, 5, 4}) {
    if (shape.size() < 3 && left % factor == 0 && c.chance(0.6)) {
      shape.push_back(factor);
      left /= factor;
    }
  }
  shape.insert(shape.begin() + c.below(std::ssize(shape) + 1),
               c.chance(0.5) ? -1 : left);
  if (c.chance(0.2)) shape.push_back(1);
  return step(
      {x}, [=](const Vars& v) { return reshape(v[0], shape); },
      [=](const Tensors& t) { return t[0].reshape(shape); });
}

Drawn draw_permute(Chooser& c) {
  size_t x = anything(c, 1, 5);
  Ints dims = shuffled(c, c.rank(x));
  return step(
      {x}, [=](const Vars& v) { return permute(v[0], dims); },
      [=](const Tensors& t) { return t[0].permute(dims); });
}

Drawn draw_transpose(Chooser& c) {
  size_t x = c.of_rank(2, 5);
  int64_t a = c.below(c.rank(x)), b = c.below(c.rank(x)) - c.rank(x);
  return step(
      {x}, [=](const Vars& v) { return transpose(v[0], a, b); },
      [=](const Tensors& t) { return t[0].transpose(a, b); });
}

Drawn draw_expand(Chooser& c) {
  size_t x = anything(c, 0, 3);
  Shape shape = c.shape(x);
  for (int64_t& size : shape) {
    if (size == 1 && c.chance(0.7)) size = c.between(1, 3);
  }
  if (c.chance(0.4)) shape.insert(shape.begin(), c.between(1, 3));
  return step(
      {x}, [=](const Vars& v) { return expand(v[0], shape); },
      [=](const Tensors& t) { return t[0].expand(shape); });
}

Drawn draw_unsqueeze(Chooser& c) {
  size_t x = anything(c, 0, 4);
  int64_t dim = c.between(0, c.rank(x));
  return step(
      {x}, [=](const Vars& v) { return unsqueeze(v[0], dim); },
      [=](const Tensors& t) { return t[0].unsqueeze(dim); });
}

Drawn draw_squeeze(Chooser& c) {
  auto x = c.find_float([](T t) {
    return std::count(t.sizes().begin(), t.sizes().end(), 1) > 0;
  });
  if (!x) return {};
  return step(
      {*x}, [](const Vars& v) { return squeeze(v[0]); },
      [](const Tensors& t) { return t[0].squeeze(); });
}

Drawn draw_slice(Chooser& c) {
  size_t x = anything(c, 1, 5);
  int64_t dim = c.below(c.rank(x)), size = c.value(x).size(dim);
  int64_t start = c.below(size), end = c.between(start + 1, size + 1);
  int64_t step_size = c.between(1, 2);
  if (c.chance(0.3)) start -= size;
  return step(
      {x},
      [=](const Vars& v) { return slice(v[0], dim, start, end, step_size); },
      [=](const Tensors& t) { return t[0].slice(dim, start, end, step_size); });
}

Drawn draw_empty_slice(Chooser& c) {
  if (!c.chance(0.2)) return {};
  size_t x = c.of_rank(1, 3);
  int64_t dim = c.below(c.rank(x));
  return step(
      {x}, [=](const Vars& v) { return slice(v[0], dim, 1, 1); },
      [=](const Tensors& t) { return t[0].slice(dim, 1, 1); });
}

Drawn draw_select(Chooser& c) {
  size_t x = anything(c, 1, 5);
  int64_t dim = c.below(c.rank(x)), size = c.value(x).size(dim);
  int64_t place = c.between(-size, size - 1);
  return step(
      {x}, [=](const Vars& v) { return select(v[0], dim, place); },
      [=](const Tensors& t) { return t[0].select(dim, place); });
}

Drawn draw_unfold(Chooser& c) {
  size_t x = c.of_rank(1, 4);
  int64_t dim = c.below(c.rank(x));
  int64_t size = c.between(1, c.value(x).size(dim)), stride = c.between(1, 2);
  return step(
      {x}, [=](const Vars& v) { return unfold(v[0], dim, size, stride); },
      [=](const Tensors& t) { return t[0].unfold(dim, size, stride); });
}

Drawn draw_cat(Chooser& c) {
  size_t x = c.of_rank(1, 4);
  int64_t dim = c.below(c.rank(x));
  auto fits = [&](T t) {
    if (t.dim() != c.rank(x)) return false;
    for (int64_t d = 0; d < t.dim(); ++d) {
      if (d != dim && t.size(d) != c.value(x).size(d)) return false;
    }
    return true;
  };
  std::vector<size_t> operands{x};
  for (int64_t i = c.between(1, 2); i > 0; --i) {
    operands.push_back(c.find_float(fits).value_or(x));
  }
  if (c.chance(0.3)) dim -= c.rank(x);
  return step(
      operands, [=](const Vars& v) { return cat(v, dim); },
      [=](const Tensors& t) { return at::cat(t, dim); });
}

Drawn draw_stack(Chooser& c) {
  size_t x = c.of_rank(0, 3), y = c.of_shape(c.shape(x));
  int64_t dim = c.between(-1, c.rank(x));
  return step(
      {x, y, x}, [=](const Vars& v) { return stack(v, dim); },
      [=](const Tensors& t) { return at::stack(t, dim); });
}

// One value becomes several.
struct Parted {
  const char* name;
  std::vector<Var> (*ours)(Var, int64_t, int64_t);
  std::vector<at::Tensor> (*theirs)(T, int64_t, int64_t);
};

Move parted_move(const Parted& f) {
  return {f.name, [f](Chooser& c) -> Drawn {
            size_t x = c.of_rank(1, 4);
            int64_t dim = c.below(c.rank(x)), n = c.between(1, 3);
            return Step{
                {},
                {x},
                [=](const Vars& v) { return f.ours(v[0], n, dim); },
                [=](const Tensors& t) { return f.theirs(t[0], n, dim); }};
          }};
}

Drawn draw_flip(Chooser& c) {
  size_t x = c.of_rank(1, 4);
  Ints dims = shuffled(c, c.rank(x));
  dims.resize(static_cast<size_t>(c.between(1, c.rank(x))));
  return step(
      {x}, [=](const Vars& v) { return flip(v[0], dims); },
      [=](const Tensors& t) { return t[0].flip(dims); });
}

Drawn draw_roll(Chooser& c) {
  size_t x = c.of_rank(1, 4);
  int64_t shift = c.between(-4, 4), dim = c.below(c.rank(x));
  Ints dims = c.chance(0.5) ? Ints{dim} : Ints{};
  return step(
      {x}, [=](const Vars& v) { return roll(v[0], {shift}, dims); },
      [=](const Tensors& t) { return at::roll(t[0], shift, dims); });
}

Drawn draw_triangle(Chooser& c) {
  size_t x = c.of_rank(2, 4);
  int64_t diagonal = c.between(-2, 2);
  bool low = c.chance(0.5);
  return step(
      {x},
      [=](const Vars& v) {
        return low ? tril(v[0], diagonal) : triu(v[0], diagonal);
      },
      [=](const Tensors& t) {
        return low ? at::tril(t[0], diagonal) : at::triu(t[0], diagonal);
      });
}

Drawn draw_diagonal(Chooser& c) {
  size_t x = c.of_rank(2, 4);
  Ints dims = shuffled(c, c.rank(x));
  int64_t offset = c.between(-1, 1), a = dims[0], b = dims[1];
  return step(
      {x}, [=](const Vars& v) { return diagonal(v[0], offset, a, b); },
      [=](const Tensors& t) { return t[0].diagonal(offset, a, b); });
}

Drawn draw_repeat(Chooser& c) {
  size_t x = c.of_rank(0, 3);
  Ints counts(static_cast<size_t>(c.rank(x) + c.below(2)));
  for (int64_t& n : counts) n = c.between(1, 2);
  return step(
      {x}, [=](const Vars& v) { return repeat(v[0], counts); },
      [=](const Tensors& t) { return t[0].repeat(counts); });
}

Drawn draw_repeat_interleave(Chooser& c) {
  size_t x = c.of_rank(1, 3);
  int64_t dim = c.below(c.rank(x));
  return step(
      {x}, [=](const Vars& v) { return repeat_interleave(v[0], 2, dim); },
      [=](const Tensors& t) { return at::repeat_interleave(t[0], 2, dim); });
}

Drawn draw_movedim(Chooser& c) {
  size_t x = c.of_rank(2, 5);
  Ints from = shuffled(c, c.rank(x)), to = shuffled(c, c.rank(x));
  from.resize(2), to.resize(2);
  return step(
      {x}, [=](const Vars& v) { return movedim(v[0], from, to); },
      [=](const Tensors& t) { return at::movedim(t[0], from, to); });
}

Drawn draw_broadcast(Chooser& c) {
  size_t x = c.any_float(), y = c.partner(x);
  return Step{{},
              {x, y},
              [](const Vars& v) { return broadcast_tensors(v); },
              [](const Tensors& t) { return at::broadcast_tensors(t); }};
}

Drawn draw_pad(Chooser& c) {
  size_t x = c.of_rank(3, 4);
  const char* modes[] = {"constant", "reflect", "replicate", "circular"};
  std::string mode = modes[c.below(4)];
  int64_t dims = mode == "constant" ? c.between(1, 2) : c.rank(x) - 2;
  Ints widths;
  for (int64_t d = 1; d <= dims; ++d) {
    int64_t size = c.value(x).size(-d);
    int64_t most = mode == "reflect" ? size - 1 : size;
    int64_t least = mode == "constant" && size > 2 ? -1 : 0;
    widths.push_back(c.between(least, std::min<int64_t>(most, 2)));
    widths.push_back(c.between(least, std::min<int64_t>(most, 2)));
  }
  return step(
      {x}, [=](const Vars& v) { return pad(v[0], widths, mode); },
      [=](const Tensors& t) { return at::pad(t[0], widths, mode); });
}

}  // namespace

void add_view_moves(std::vector<Move>& moves) {
  const Parted parted[] = {
      {"split", [](Var x, int64_t n, int64_t d) { return split(x, n, d); },
       [](T x, int64_t n, int64_t d) { return at::split(x, n, d); }},
      {"chunk", [](Var x, int64_t n, int64_t d) { return chunk(x, n, d); },
       [](T x, int64_t n, int64_t d) { return at::chunk(x, n, d); }},
      {"unbind", [](Var x, int64_t, int64_t d) { return unbind(x, d); },
       [](T x, int64_t, int64_t d) { return at::unbind(x, d); }},
  };
  for (const Parted& f : parted) moves.push_back(parted_move(f));
  moves.insert(moves.end(), {{"reshape", draw_reshape},
                             {"permute", draw_permute},
                             {"transpose", draw_transpose},
                             {"expand", draw_expand},
                             {"unsqueeze", draw_unsqueeze},
                             {"squeeze", draw_squeeze},
                             {"slice", draw_slice},
                             {"empty slice", draw_empty_slice},
                             {"select", draw_select},
                             {"unfold", draw_unfold},
                             {"cat", draw_cat},
                             {"stack", draw_stack},
                             {"flip", draw_flip},
                             {"roll", draw_roll},
                             {"tril, triu", draw_triangle},
                             {"diagonal", draw_diagonal},
                             {"repeat", draw_repeat},
                             {"repeat_interleave", draw_repeat_interleave},
                             {"movedim", draw_movedim},
                             {"broadcast_tensors", draw_broadcast},
                             {"pad", draw_pad}});
}

}  // namespace braid::parity
