// On the CPU the functions used here go through an index in order. On a GPU
// they do not: there sums take the path of libtorch that sorts the places, and
// the last of several writers is found as the largest number.
#include "braid/runtime/kernels/aten/places.h"

namespace braid::runtime {
namespace {

// Places in the flat memory of `out` that index names along dim.
at::Tensor flat_places(const at::Tensor& out, int64_t dim,
                       const at::Tensor& index) {
  at::Tensor places = index * out.stride(dim);
  for (int64_t d = 0; d < out.dim(); ++d) {
    if (d == dim) continue;
    std::vector<int64_t> shape(static_cast<size_t>(out.dim()), 1);
    shape[static_cast<size_t>(d)] = index.size(d);
    places = places + at::arange(index.size(d), index.options()).view(shape) *
                          out.stride(d);
  }
  return places.reshape({-1});
}

at::Tensor column(const at::Tensor& x) { return x.reshape({-1, 1}); }

}  // namespace

void add_rows(at::Tensor out, const at::Tensor& rows, const at::Tensor& src) {
  if (rows.numel() == 0 || out.numel() == 0) return;
  if (out.is_cpu()) {
    out.index_add_(0, rows, src);
  } else {
    c10::List<std::optional<at::Tensor>> indices;
    indices.push_back(rows);
    out.index_put_(indices, src, /*accumulate=*/true);
  }
}

void put_rows(at::Tensor out, const at::Tensor& rows, const at::Tensor& src) {
  if (rows.numel() == 0 || out.numel() == 0) return;
  if (out.is_cpu()) {
    out.scatter_(0, column(rows).expand_as(src), src);
    return;
  }
  at::Tensor last = at::full({out.size(0)}, -1, rows.options());
  last.scatter_reduce_(0, rows, at::arange(rows.size(0), rows.options()),
                       "amax");
  at::Tensor written = src.index_select(0, last.clamp_min(0));
  out.copy_(at::where(column(last) >= 0, written, out));
}

void add_along(at::Tensor out, int64_t dim, const at::Tensor& index,
               const at::Tensor& src) {
  if (index.numel() == 0) return;
  if (out.is_cpu()) {
    out.scatter_add_(dim, index, src);
  } else {
    add_rows(column(out), flat_places(out, dim, index), column(src));
  }
}

void put_along(at::Tensor out, int64_t dim, const at::Tensor& index,
               const at::Tensor& src) {
  if (index.numel() == 0) return;
  if (out.is_cpu()) {
    out.scatter_(dim, index, src);
  } else {
    put_rows(column(out), flat_places(out, dim, index), column(src));
  }
}

void start_from(at::Tensor out, const at::Tensor& x) {
  bool same = out.data_ptr() == x.data_ptr() && out.strides() == x.strides();
  if (!same) out.copy_(x);
}

}  // namespace braid::runtime
