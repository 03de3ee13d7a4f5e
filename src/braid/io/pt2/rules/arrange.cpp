// Joining, repeating, padding, turning.
#include "braid/base/error.h"
#include "braid/io/pt2/rule.h"

namespace braid::io::pt2 {
namespace {

// An empty one-dimensional tensor joins anything.
void cat_rule(RuleContext& c) {
  std::vector<Var> parts = c.tensors("tensors"), kept;
  for (Var x : parts) {
    if (x.shape() != Shape{0}) kept.push_back(x);
  }
  if (kept.empty()) kept = {parts.at(0)};
  DType dtype = c.type_or_result("");
  for (Var& x : kept) x = cast(x, dtype);
  if (kept.size() == 1) return c.give(apply("copy", {kept[0]}));
  int64_t dim = normalize_dim(c.integer_or("dim", 0), kept[0].rank(), "cat");
  c.give(cat(kept, dim));
}

void stack_rule(RuleContext& c) {
  std::vector<Var> parts = c.tensors("tensors");
  DType dtype = c.type_or_result("");
  for (Var& x : parts) x = cast(x, dtype);
  c.give(stack(parts, c.integer_or("dim", 0)));
}

void repeat_rule(RuleContext& c) {
  c.give(repeat(c.tensor("self"), c.ints("repeats")));
}

void tile_rule(RuleContext& c) {
  Var x = c.tensor("self");
  Ints counts = c.ints("dims");
  while (counts.size() < x.shape().size()) counts.insert(counts.begin(), 1);
  c.give(repeat(x, counts));
}

// How often each entry comes is a tensor: place j is of the entry before which
// as many end as are not after j. The size must be known.
void repeat_by_counts(RuleContext& c) {
  const TensorMeta* meta = c.meta_of_result(0);
  if (!c.has("dim") || !meta) fail_usage("counts that are data");
  Var x = c.tensor("self");
  int64_t dim = normalize_dim(c.integer("dim"), x.rank(), "repeat_interleave");
  const Size& size = meta->sizes.at(static_cast<size_t>(dim));
  if (!size.symbol.empty()) fail_usage("counts that are data");
  Var ends = cumsum(c.tensor("repeats"), 0);
  Var places = arange(x, 0, static_cast<double>(size.value), 1, ends.dtype());
  Var passed = le(unsqueeze(ends, 0), unsqueeze(places, 1));
  c.give(index_select(x, dim, sum(cast(passed, DType::kInt64), {1})));
}

void repeat_interleave_rule(RuleContext& c) {
  if (c.is_tensor("repeats")) return repeat_by_counts(c);
  Var x = c.tensor("self");
  int64_t count = c.integer("repeats");
  c.give(c.has("dim") ? repeat_interleave(x, count, c.integer("dim"))
                      : repeat_interleave(x, count));
}

void fill_diagonal_rule(RuleContext& c) {
  Var x = c.tensor("self");
  if (x.rank() != 2 || c.flag_or("wrap", false)) {
    fail_usage("only the diagonal of a matrix, not wrapped, is supported");
  }
  Var on = eye(x, x.dim(0), x.dim(1), DType::kBool);
  c.give(where(on, c.scalar("fill_value"), x));
}

// Elements by their places in memory, as indices of row-major values.
Var places_in_memory(Var like, const Shape& size, const Ints& strides,
                     int64_t offset) {
  Var places = full(like, {}, static_cast<double>(offset), DType::kInt64);
  for (size_t d = 0; d < size.size(); ++d) {
    Var steps = arange(like, 0, static_cast<double>(size[d]), 1, DType::kInt64);
    places = add(unsqueeze(places, -1), mul_scalar(steps, strides.at(d)));
  }
  return reshape(places, {-1});
}

bool is_row_major(const TensorMeta* meta) {
  if (!meta || meta->offset.value != 0) return false;
  int64_t expected = 1;
  for (size_t d = meta->sizes.size(); d-- > 0;) {
    const Size &size = meta->sizes[d], &stride = meta->strides.at(d);
    if (!size.symbol.empty() || stride.value != expected) return false;
    expected *= size.value;
  }
  return true;
}

void as_strided_rule(RuleContext& c) {
  if (!is_row_major(c.meta_of("self"))) {
    fail_usage("only values with memory of their own are supported");
  }
  Shape size = c.ints("size");
  Ints strides = c.ints("stride");
  int64_t offset = c.integer_or("storage_offset", 0);
  c.give_view("self", {[size, strides, offset](Var x) {
                Var places = places_in_memory(x, size, strides, offset);
                return reshape(index_select(reshape(x, {-1}), 0, places), size);
              }});
}

void pad_rule(RuleContext& c) {
  c.give(pad(c.tensor("self"), c.ints("pad"), c.text_or("mode", "constant"),
             c.number_or("value", 0)));
}

void constant_pad_rule(RuleContext& c) {
  c.give(pad(c.tensor("self"), c.ints("pad"), "constant",
             c.number_or("value", 0)));
}

void reflection_pad_rule(RuleContext& c) {
  c.give(pad(c.tensor("self"), c.ints("padding"), "reflect"));
}

void replication_pad_rule(RuleContext& c) {
  c.give(pad(c.tensor("self"), c.ints("padding"), "replicate"));
}

void flip_rule(RuleContext& c) {
  c.give(flip(c.tensor("self"), c.ints("dims")));
}

void roll_rule(RuleContext& c) {
  c.give(roll(c.tensor("self"), c.ints("shifts"), c.ints_or("dims", {})));
}

void tril_rule(RuleContext& c) {
  c.give(tril(c.tensor("self"), c.integer_or("diagonal", 0)));
}

void triu_rule(RuleContext& c) {
  c.give(triu(c.tensor("self"), c.integer_or("diagonal", 0)));
}

Windows windows_of(RuleContext& c) {
  return {.kernel = c.ints("kernel_size"),
          .dilation = c.ints("dilation"),
          .padding = c.ints("padding"),
          .stride = c.ints("stride")};
}

void im2col_rule(RuleContext& c) {
  c.give(im2col(c.tensor("self"), windows_of(c)));
}

void col2im_rule(RuleContext& c) {
  c.give(col2im(c.tensor("self"), c.ints("output_size"), windows_of(c)));
}

void pixel_shuffle_rule(RuleContext& c) {
  c.give(pixel_shuffle(c.tensor("self"), c.integer("upscale_factor")));
}

void pixel_unshuffle_rule(RuleContext& c) {
  c.give(pixel_unshuffle(c.tensor("self"), c.integer("downscale_factor")));
}

void meshgrid_rule(RuleContext& c) {
  c.give(meshgrid(c.tensors("tensors"), c.text_or("indexing", "ij") == "xy"));
}

}  // namespace

void add_arrange_rules(Rules& rules) {
  rules.insert({
      {"cat", cat_rule},
      {"concat", cat_rule},
      {"concatenate", cat_rule},
      {"stack", stack_rule},
      {"repeat", repeat_rule},
      {"tile", tile_rule},
      {"repeat_interleave", repeat_interleave_rule},
      {"fill_diagonal", fill_diagonal_rule},
      {"as_strided", as_strided_rule},
      {"pad", pad_rule},
      {"constant_pad_nd", constant_pad_rule},
      {"reflection_pad1d", reflection_pad_rule},
      {"reflection_pad2d", reflection_pad_rule},
      {"reflection_pad3d", reflection_pad_rule},
      {"replication_pad1d", replication_pad_rule},
      {"replication_pad2d", replication_pad_rule},
      {"replication_pad3d", replication_pad_rule},
      {"flip", flip_rule},
      {"roll", roll_rule},
      {"tril", tril_rule},
      {"triu", triu_rule},
      {"im2col", im2col_rule},
      {"col2im", col2im_rule},
      {"pixel_shuffle", pixel_shuffle_rule},
      {"pixel_unshuffle", pixel_unshuffle_rule},
      {"meshgrid", meshgrid_rule},
  });
}

}  // namespace braid::io::pt2
