// Norms that are compositions of other ops, and the defaults of those that
// are ops.
#include <limits>

#include "braid/base/error.h"
#include "braid/ops/build/functions.h"

namespace braid {
namespace {

// The last `dims` dimensions as one.
Var flat_end(Var x, int64_t dims) {
  if (!x || dims == 1) return x;
  Shape shape(x.shape().begin(), x.shape().end() - dims);
  Shape last(x.shape().end() - dims, x.shape().end());
  shape.push_back(num_elements(last));
  return reshape(x, shape);
}

double spacing(DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return std::numeric_limits<double>::epsilon();
    case DType::kBFloat16: return 0x1p-7;
    default: return std::numeric_limits<float>::epsilon();
  }
}

// [C] repeated for N images: [N * C].
Var repeated(Var x, int64_t images) {
  if (!x) return x;
  return reshape(expand(x, {images, x.dim(0)}), {images * x.dim(0)});
}

// [N * C] statistics of images as their mean [C].
Var mean_of_images(Var x, int64_t images) {
  return mean(reshape(x, {images, x.dim(0) / images}), {0});
}

}  // namespace

Var layer_norm(Var x, Var w, Var b, double eps, int64_t dims) {
  Var y = apply("layer_norm",
                {flat_end(x, dims), flat_end(w, dims), flat_end(b, dims)},
                {{"eps", eps}});
  return reshape(y, x.shape());
}

Var rms_norm(Var x, Var w, std::optional<double> eps, int64_t dims) {
  Var y = apply("rms_norm", {flat_end(x, dims), flat_end(w, dims)},
                {{"eps", eps.value_or(spacing(x.dtype()))}});
  return reshape(y, x.shape());
}

Var group_norm(Var x, int64_t groups, Var w, Var b, double eps) {
  return apply("group_norm", {x, w, b}, {{"num_groups", groups}, {"eps", eps}});
}

Normed batch_norm(Var x, Var w, Var b, Var running_mean, Var running_var,
                  const Norm& options) {
  auto outputs = apply_all("batch_norm", {x, w, b, running_mean, running_var},
                           {{"training", options.training},
                            {"momentum", options.momentum},
                            {"eps", options.eps}});
  if (outputs.size() < 5) return {outputs[0], {}, {}};
  return {outputs[0], outputs[3], outputs[4]};
}

// A batch norm over the channels of all images, each on its own; running
// statistics move by the mean over the images.
Normed instance_norm(Var x, Var w, Var b, Var running_mean, Var running_var,
                     const Norm& options) {
  if (!options.training) {
    return batch_norm(x, w, b, running_mean, running_var, options);
  }
  int64_t images = x.dim(0);
  Shape shape = x.shape();
  shape[1] *= images;
  shape[0] = 1;
  Normed all = batch_norm(reshape(x, shape), repeated(w, images),
                          repeated(b, images), repeated(running_mean, images),
                          repeated(running_var, images), options);
  all.y = reshape(all.y, x.shape());
  if (all.running_mean) {
    all.running_mean = mean_of_images(all.running_mean, images);
    all.running_var = mean_of_images(all.running_var, images);
  }
  return all;
}

Var weight_norm(Var v, Var g, int64_t dim) {
  Ints dims;
  for (int64_t d = 0; d < v.rank(); ++d) {
    if (dim == -1 || d != normalize_dim(dim, v.rank(), "weight_norm")) {
      dims.push_back(d);
    }
  }
  Var norm = dims.empty() ? abs(v) : vector_norm(v, 2, dims, dim != -1);
  return mul(v, div(g, norm));
}

// x / (k + alpha * mean of x^2 over `size` neighbouring channels)^beta; the
// window has its larger half before the channel.
Var local_response_norm(Var x, int64_t size, double alpha, double beta,
                        double k) {
  if (x.rank() < 3) fail_usage("[local_response_norm] needs three dimensions");
  if (x.numel() == 0) return x;
  int64_t n = x.dim(0), c = x.dim(1), places = x.numel() / (n * c);
  Var squares = reshape(mul(x, x), {n, 1, c, places});
  Var padded = pad(squares, {0, 0, size / 2, (size - 1) / 2});
  Var means = avg_pool2d(padded, {.kernel = {size, 1}, .stride = {1}});
  Var scale = add_scalar(mul_scalar(means, alpha), k);
  return div(x, reshape(pow_scalar(scale, beta), x.shape()));
}

Var normalize(Var x, double p, int64_t dim, double eps) {
  return div(x, clamp_min(vector_norm(x, p, {dim}, true), eps));
}

}  // namespace braid
