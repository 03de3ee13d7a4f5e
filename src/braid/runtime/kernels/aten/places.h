// Writes to places given by index, in the same order every time.
#pragma once

#include <ATen/ATen.h>

namespace braid::runtime {

// out[P, R] with rows src[N, R] added at rows[N], or put there; of rows put to
// one place the last stays.
void add_rows(at::Tensor out, const at::Tensor& rows, const at::Tensor& src);
void put_rows(at::Tensor out, const at::Tensor& rows, const at::Tensor& src);

// The same for entries of a row-major `out` along `dim`; src and index have
// one shape.
void add_along(at::Tensor out, int64_t dim, const at::Tensor& index,
               const at::Tensor& src);
void put_along(at::Tensor out, int64_t dim, const at::Tensor& index,
               const at::Tensor& src);

// out = x, unless they are the same memory.
void start_from(at::Tensor out, const at::Tensor& x);

}  // namespace braid::runtime
