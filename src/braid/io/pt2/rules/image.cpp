// Convolutions, pools, resizing.
#include "braid/base/error.h"
#include "braid/io/pt2/rule.h"

namespace braid::io::pt2 {
namespace {

using ConvFunction = Var (*)(Var, Var, Var, const Conv&);

// Padding as a word: "same" or "valid".
bool names_padding(RuleContext& c) {
  return c.has("padding") && c.find("padding")->kind == Argument::Kind::kText;
}

Conv conv_of(RuleContext& c) {
  Conv conv{.stride = c.ints_or("stride", {1}),
            .dilation = c.ints_or("dilation", {1}),
            .groups = c.integer_or("groups", 1)};
  if (!names_padding(c)) conv.padding = c.ints_or("padding", {0});
  conv.output_padding = c.ints_or("output_padding", {0});
  return conv;
}

template <ConvFunction f>
void conv_rule(RuleContext& c) {
  Var x = c.tensor("input"), w = c.tensor("weight");
  Var b = c.tensor_or_none("bias");
  c.give(names_padding(c) ? conv_padded(x, w, b, c.text("padding"), conv_of(c))
                          : f(x, w, b, conv_of(c)));
}

// The general form: the rank of the weight tells the dimensions.
void convolution_rule(RuleContext& c) {
  Var x = c.tensor("input"), w = c.tensor("weight");
  Var b = c.tensor_or_none("bias");
  bool transposed = c.flag_or("transposed", false);
  constexpr ConvFunction kForward[] = {conv1d, conv2d, conv3d};
  constexpr ConvFunction kTransposed[] = {conv_transpose1d, conv_transpose2d,
                                          conv_transpose3d};
  auto dims = static_cast<size_t>(w.rank() - 3);
  if (dims > 2) fail_usage("a convolution over {} dimensions", w.rank() - 2);
  c.give((transposed ? kTransposed : kForward)[dims](x, w, b, conv_of(c)));
}

Pool pool_of(RuleContext& c) {
  Pool pool{.kernel = c.ints("kernel_size"),
            .stride = c.ints_or("stride", {}),
            .padding = c.ints_or("padding", {0}),
            .dilation = c.ints_or("dilation", {1}),
            .ceil_mode = c.flag_or("ceil_mode", false),
            .count_include_pad = c.flag_or("count_include_pad", true)};
  if (c.has("divisor_override")) {
    pool.divisor_override = c.integer("divisor_override");
  }
  return pool;
}

template <Var (*f)(Var, const Pool&)>
void pool_rule(RuleContext& c) {
  c.give(f(c.tensor("self"), pool_of(c)));
}

template <int kDims>
void max_pool_with_indices_rule(RuleContext& c) {
  Pooled pooled = max_pool_with_indices(c.tensor("self"), kDims, pool_of(c));
  c.give(pooled.y);
  c.give(pooled.indices);
}

template <Var (*f)(Var, Ints)>
void adaptive_avg_rule(RuleContext& c) {
  c.give(f(c.tensor("self"), c.ints("output_size")));
}

template <Pooled (*f)(Var, Ints)>
void adaptive_max_rule(RuleContext& c) {
  Pooled pooled = f(c.tensor("self"), c.ints("output_size"));
  c.give(pooled.y);
  c.give(pooled.indices);
}

// "upsample_bilinear2d" by size or by factors.
void upsample_rule(RuleContext& c) {
  std::string name = c.name();
  Upsample options;
  if (name.starts_with("_upsample_nearest_exact")) {
    options.mode = "nearest-exact";
  } else {
    size_t begin = std::string("upsample_").size();
    options.mode = name.substr(begin, name.size() - begin - 2);
  }
  if (c.has("output_size")) options.size = c.ints("output_size");
  if (options.size.empty() && c.has("scale_factors")) {
    options.scale = c.numbers("scale_factors");
  }
  options.align_corners = c.flag_or("align_corners", false);
  const char* input = c.find("input") ? "input" : "self";
  c.give(upsample(c.tensor(input), options));
}

}  // namespace

void add_image_rules(Rules& rules) {
  rules.insert({
      {"conv1d", conv_rule<conv1d>},
      {"conv2d", conv_rule<conv2d>},
      {"conv3d", conv_rule<conv3d>},
      {"conv_transpose1d", conv_rule<conv_transpose1d>},
      {"conv_transpose2d", conv_rule<conv_transpose2d>},
      {"conv_transpose3d", conv_rule<conv_transpose3d>},
      {"convolution", convolution_rule},
      {"max_pool1d", pool_rule<max_pool1d>},
      {"max_pool2d", pool_rule<max_pool2d>},
      {"max_pool3d", pool_rule<max_pool3d>},
      {"max_pool1d_with_indices", max_pool_with_indices_rule<1>},
      {"max_pool2d_with_indices", max_pool_with_indices_rule<2>},
      {"max_pool3d_with_indices", max_pool_with_indices_rule<3>},
      {"avg_pool1d", pool_rule<avg_pool1d>},
      {"avg_pool2d", pool_rule<avg_pool2d>},
      {"avg_pool3d", pool_rule<avg_pool3d>},
      {"adaptive_avg_pool1d", adaptive_avg_rule<adaptive_avg_pool1d>},
      {"adaptive_avg_pool2d", adaptive_avg_rule<adaptive_avg_pool2d>},
      {"adaptive_avg_pool3d", adaptive_avg_rule<adaptive_avg_pool3d>},
      {"adaptive_max_pool1d", adaptive_max_rule<adaptive_max_pool1d>},
      {"adaptive_max_pool2d", adaptive_max_rule<adaptive_max_pool2d>},
      {"adaptive_max_pool3d", adaptive_max_rule<adaptive_max_pool3d>},
  });
  for (const char* name :
       {"upsample_nearest1d", "upsample_nearest2d", "upsample_nearest3d",
        "_upsample_nearest_exact1d", "_upsample_nearest_exact2d",
        "_upsample_nearest_exact3d", "upsample_linear1d", "upsample_bilinear2d",
        "upsample_bicubic2d", "upsample_trilinear3d"}) {
    rules[name] = upsample_rule;
  }
}

}  // namespace braid::io::pt2
