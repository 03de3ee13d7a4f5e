// Functions on images: they fill in defaults, give unbatched inputs a batch
// of one and resolve sizes; the ops take everything spelled out.
#include <algorithm>

#include "braid/base/error.h"
#include "braid/ops/build/functions.h"

namespace braid {
namespace {

// One number counts for all dimensions.
Ints for_each_dim(Ints list, int64_t dims) {
  if (list.size() == 1) list.resize(static_cast<size_t>(dims), list[0]);
  return list;
}

// Runs `body` on x as a batch; results of a single image lose the batch again.
template <class Body>
auto as_batch(Var x, int64_t dims, Body body) {
  std::vector<Var> results = body(x.rank() == dims + 1 ? unsqueeze(x, 0) : x);
  if (x.rank() != dims + 1) return results;
  for (Var& y : results) {
    y = reshape(y, Shape(y.shape().begin() + 1, y.shape().end()));
  }
  return results;
}

Var conv(Var x, Var w, Var b, int64_t dims, const Conv& options,
         bool transposed) {
  Attrs attrs{{"stride", for_each_dim(options.stride, dims)},
              {"padding", for_each_dim(options.padding, dims)},
              {"dilation", for_each_dim(options.dilation, dims)},
              {"groups", options.groups}};
  if (transposed) {
    attrs.set("output_padding", for_each_dim(options.output_padding, dims));
  }
  std::string op =
      fmt::format("conv{}{}d", transposed ? "_transpose" : "", dims);
  return as_batch(x, dims, [&](Var batch) {
    return apply_all(op, {batch, w, b}, attrs);
  })[0];
}

// An odd sum of padding is one more at the end, which is done on the input.
Var conv_same(Var x, Var w, Var b, Conv options, int64_t dims) {
  options.dilation = for_each_dim(options.dilation, dims);
  options.padding.assign(static_cast<size_t>(dims), 0);
  Ints more(2 * static_cast<size_t>(dims), 0);  // last dimension first
  for (int64_t stride : options.stride) {
    if (stride != 1) fail_usage("[conv] padding 'same' needs a stride of 1");
  }
  for (int64_t d = 0; d < dims; ++d) {
    auto i = static_cast<size_t>(d);
    int64_t total = options.dilation[i] * (w.dim(d + 2) - 1);
    options.padding[i] = total / 2;
    more[more.size() - 1 - 2 * i] = total % 2;
  }
  bool uneven = std::any_of(more.begin(), more.end(), [](auto m) { return m; });
  return conv(uneven ? pad(x, more) : x, w, b, dims, options, false);
}

Attrs window_attrs(const Pool& options, int64_t dims) {
  Ints stride = options.stride.empty() ? options.kernel : options.stride;
  return {{"kernel", for_each_dim(options.kernel, dims)},
          {"stride", for_each_dim(stride, dims)},
          {"padding", for_each_dim(options.padding, dims)},
          {"ceil_mode", options.ceil_mode}};
}

Var avg_pool(Var x, int64_t dims, const Pool& options) {
  Attrs attrs = window_attrs(options, dims);
  attrs.set("count_include_pad", options.count_include_pad);
  if (options.divisor_override) {
    attrs.set("divisor_override", *options.divisor_override);
  }
  std::string op = fmt::format("avg_pool{}d", dims);
  return as_batch(x, dims,
                  [&](Var batch) { return apply_all(op, {batch}, attrs); })[0];
}

std::vector<Var> adaptive_pool(Var x, const char* kind, int64_t dims,
                               Ints size) {
  size = for_each_dim(std::move(size), dims);
  for (size_t d = 0; d < size.size(); ++d) {
    auto from_end = static_cast<int64_t>(d) - dims;
    if (size[d] == -1) size[d] = x.dim(from_end);
  }
  std::string op = fmt::format("adaptive_{}_pool{}d", kind, dims);
  return as_batch(x, dims, [&](Var batch) {
    return apply_all(op, {batch}, {{"size", size}});
  });
}

Pooled adaptive_max(Var x, int64_t dims, Ints size) {
  auto results = adaptive_pool(x, "max", dims, std::move(size));
  return {results[0], results[1]};
}

std::string upsample_op(const std::string& mode, int64_t dims) {
  if (mode == "nearest") return fmt::format("upsample_nearest{}d", dims);
  if (mode == "nearest-exact") {
    return fmt::format("_upsample_nearest_exact{}d", dims);
  }
  constexpr std::pair<std::string_view, int64_t> kModes[] = {
      {"linear", 1}, {"bilinear", 2}, {"bicubic", 2}, {"trilinear", 3}};
  for (const auto& [name, of] : kModes) {
    if (mode == name && dims == of) {
      return fmt::format("upsample_{}{}d", mode, dims);
    }
  }
  fail_usage("[upsample] no mode '{}' in {} dimensions", mode, dims);
}

// scale_d, scale_h, scale_w are those of the last three dimensions.
void set_scales(Attrs& attrs, const std::vector<double>& scale) {
  constexpr const char* kNames[] = {"scale_d", "scale_h", "scale_w"};
  for (size_t i = 0; i < scale.size(); ++i) {
    attrs.set(kNames[3 - scale.size() + i], scale[i]);
  }
}

}  // namespace

Var conv1d(Var x, Var w, Var b, const Conv& options) {
  return conv(x, w, b, 1, options, false);
}
Var conv2d(Var x, Var w, Var b, const Conv& options) {
  return conv(x, w, b, 2, options, false);
}
Var conv3d(Var x, Var w, Var b, const Conv& options) {
  return conv(x, w, b, 3, options, false);
}
Var conv_transpose1d(Var x, Var w, Var b, const Conv& options) {
  return conv(x, w, b, 1, options, true);
}
Var conv_transpose2d(Var x, Var w, Var b, const Conv& options) {
  return conv(x, w, b, 2, options, true);
}
Var conv_transpose3d(Var x, Var w, Var b, const Conv& options) {
  return conv(x, w, b, 3, options, true);
}

Var conv_padded(Var x, Var w, Var b, std::string_view padding,
                const Conv& options) {
  int64_t dims = w.rank() - 2;
  if (padding == "same") return conv_same(x, w, b, options, dims);
  if (padding != "valid") fail_usage("[conv] no padding '{}'", padding);
  Conv plain = options;
  plain.padding = {0};
  return conv(x, w, b, dims, plain, false);
}

Pooled max_pool_with_indices(Var x, int64_t dims, const Pool& options) {
  Attrs attrs = window_attrs(options, dims);
  attrs.set("dilation", for_each_dim(options.dilation, dims));
  std::string op = fmt::format("max_pool{}d", dims);
  auto results = as_batch(
      x, dims, [&](Var batch) { return apply_all(op, {batch}, attrs); });
  return {results[0], results[1]};
}
Var max_pool1d(Var x, const Pool& options) {
  return max_pool_with_indices(x, 1, options).y;
}
Var max_pool2d(Var x, const Pool& options) {
  return max_pool_with_indices(x, 2, options).y;
}
Var max_pool3d(Var x, const Pool& options) {
  return max_pool_with_indices(x, 3, options).y;
}
Var avg_pool1d(Var x, const Pool& options) { return avg_pool(x, 1, options); }
Var avg_pool2d(Var x, const Pool& options) { return avg_pool(x, 2, options); }
Var avg_pool3d(Var x, const Pool& options) { return avg_pool(x, 3, options); }

Var adaptive_avg_pool1d(Var x, Ints size) {
  return adaptive_pool(x, "avg", 1, std::move(size))[0];
}
Var adaptive_avg_pool2d(Var x, Ints size) {
  return adaptive_pool(x, "avg", 2, std::move(size))[0];
}
Var adaptive_avg_pool3d(Var x, Ints size) {
  return adaptive_pool(x, "avg", 3, std::move(size))[0];
}
Pooled adaptive_max_pool1d(Var x, Ints size) {
  return adaptive_max(x, 1, std::move(size));
}
Pooled adaptive_max_pool2d(Var x, Ints size) {
  return adaptive_max(x, 2, std::move(size));
}
Pooled adaptive_max_pool3d(Var x, Ints size) {
  return adaptive_max(x, 3, std::move(size));
}

Var upsample(Var x, const Upsample& options) {
  int64_t dims = x.rank() - 2;
  if (options.size.empty() == options.scale.empty()) {
    fail_usage("[upsample] needs either a size or a scale");
  }
  std::vector<double> scale = options.scale;
  if (scale.size() == 1) scale.resize(static_cast<size_t>(dims), scale[0]);
  Ints size = for_each_dim(options.size, dims);
  if (size.empty()) {
    for (size_t d = 0; d < scale.size(); ++d) {
      auto input = static_cast<double>(x.dim(static_cast<int64_t>(d) + 2));
      size.push_back(static_cast<int64_t>(input * scale[d]));
    }
  }
  Attrs attrs{{"size", size}};
  set_scales(attrs, scale);
  if (!options.mode.starts_with("nearest")) {
    attrs.set("align_corners", options.align_corners);
  }
  return apply(upsample_op(options.mode, dims), {x}, attrs);
}

Var pixel_shuffle(Var x, int64_t factor) {
  Shape lead(x.shape().begin(), x.shape().end() - 3);
  int64_t n = num_elements(lead), c = x.dim(-3) / (factor * factor);
  int64_t h = x.dim(-2), w = x.dim(-1);
  if (c * factor * factor != x.dim(-3)) {
    fail_usage("[pixel_shuffle] {} channels with a factor of {}", x.dim(-3),
               factor);
  }
  Var y = permute(reshape(x, {n, c, factor, factor, h, w}), {0, 1, 4, 2, 5, 3});
  lead.insert(lead.end(), {c, h * factor, w * factor});
  return reshape(y, lead);
}

Var pixel_unshuffle(Var x, int64_t factor) {
  Shape lead(x.shape().begin(), x.shape().end() - 3);
  int64_t n = num_elements(lead), c = x.dim(-3);
  int64_t h = x.dim(-2) / factor, w = x.dim(-1) / factor;
  if (h * factor != x.dim(-2) || w * factor != x.dim(-1)) {
    fail_usage("[pixel_unshuffle] {} with a factor of {}",
               shape_text(x.shape()), factor);
  }
  Var y = permute(reshape(x, {n, c, h, factor, w, factor}), {0, 1, 3, 5, 2, 4});
  lead.insert(lead.end(), {c * factor * factor, h, w});
  return reshape(y, lead);
}

}  // namespace braid
