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

void repeat_interleave_rule(RuleContext& c) {
  if (c.is_tensor("repeats")) fail_usage("counts that are data");
  Var x = c.tensor("self");
  int64_t count = c.integer("repeats");
  c.give(c.has("dim") ? repeat_interleave(x, count, c.integer("dim"))
                      : repeat_interleave(x, count));
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
