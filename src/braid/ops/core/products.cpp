// Products of all ranks, brought to `matmul`, which takes two dimensions or
// more.
#include <algorithm>
#include <numeric>

#include "braid/base/error.h"
#include "braid/ops/build/functions.h"

namespace braid {
namespace {

void expect_rank(Var x, int64_t rank, const char* where) {
  if (x.rank() == rank) return;
  fail_usage("[{}] expected rank {}, got {}", where, rank,
             shape_text(x.shape()));
}

void expect_ranks(Var a, int64_t a_rank, Var b, int64_t b_rank,
                  const char* where) {
  expect_rank(a, a_rank, where);
  expect_rank(b, b_rank, where);
}

// beta * c + alpha * product; without c when beta is 0, so that its NaNs
// do not count.
Var blend(Var c, Var product, double beta, double alpha) {
  if (alpha != 1) product = mul_scalar(product, alpha);
  if (beta == 0) return product;
  if (broadcast_shapes(c.shape(), product.shape(), "addmm") !=
      product.shape()) {
    fail_usage("[addmm] {} does not expand to {}", shape_text(c.shape()),
               shape_text(product.shape()));
  }
  return add(beta == 1 ? c : mul_scalar(c, beta), product);
}

int64_t product_of(const Shape& shape, const Ints& dims) {
  int64_t count = 1;
  for (int64_t d : dims) count *= shape[static_cast<size_t>(d)];
  return count;
}

// Dimensions of x that are not listed, in order.
Ints other_dims(Var x, const Ints& dims) {
  Ints others;
  for (int64_t d = 0; d < x.rank(); ++d) {
    if (std::find(dims.begin(), dims.end(), d) == dims.end()) {
      others.push_back(d);
    }
  }
  return others;
}

Ints joined(Ints a, const Ints& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

// Contracted dimensions as PyTorch reads them: counted from the end when
// negative, and a size of 1 meets any size by summing the other.
Ints contracted_dims(Var x, Ints dims) {
  for (int64_t& d : dims) d = normalize_dim(d, x.rank(), "tensordot");
  return dims;
}

Var shrink_to(Var x, Var other, const Ints& dims, const Ints& other_dims) {
  Ints summed;
  for (size_t i = 0; i < dims.size(); ++i) {
    int64_t size = x.dim(dims[i]), meets = other.dim(other_dims[i]);
    if (size == meets || size == 1) continue;
    if (meets != 1) {
      fail_usage("[tensordot] sizes {} and {} do not fit", size, meets);
    }
    summed.push_back(dims[i]);
  }
  return summed.empty() ? x : sum(x, summed, true);
}

}  // namespace

Var matmul(Var a, Var b) {
  if (a.rank() == 0 || b.rank() == 0) {
    fail_usage("[matmul] operands need a dimension, got {} and {}",
               shape_text(a.shape()), shape_text(b.shape()));
  }
  bool row = a.rank() == 1, column = b.rank() == 1;
  Var y = apply("matmul",
                {row ? unsqueeze(a, 0) : a, column ? unsqueeze(b, 1) : b});
  Shape shape = y.shape();
  if (column) shape.pop_back();
  if (row) shape.erase(shape.end() - (column ? 1 : 2));
  return reshape(y, shape);
}

Var mm(Var a, Var b) {
  expect_ranks(a, 2, b, 2, "mm");
  return matmul(a, b);
}

Var bmm(Var a, Var b) {
  expect_ranks(a, 3, b, 3, "bmm");
  if (a.dim(0) != b.dim(0)) {
    fail_usage("[bmm] batches of {} and {} do not fit", a.dim(0), b.dim(0));
  }
  return matmul(a, b);
}

Var mv(Var a, Var x) {
  expect_ranks(a, 2, x, 1, "mv");
  return matmul(a, x);
}

Var dot(Var a, Var b) {
  expect_ranks(a, 1, b, 1, "dot");
  return matmul(a, b);
}

Var outer(Var a, Var b) {
  expect_ranks(a, 1, b, 1, "outer");
  return mul(unsqueeze(a, 1), unsqueeze(b, 0));
}

Var addmm(Var c, Var a, Var b, double beta, double alpha) {
  return blend(c, mm(a, b), beta, alpha);
}

Var baddbmm(Var c, Var a, Var b, double beta, double alpha) {
  return blend(c, bmm(a, b), beta, alpha);
}

Var addmv(Var c, Var a, Var x, double beta, double alpha) {
  return blend(c, mv(a, x), beta, alpha);
}

Var tensordot(Var a, Var b, Ints dims_a, Ints dims_b) {
  if (dims_a.size() != dims_b.size()) {
    fail_usage("[tensordot] {} dimensions meet {}", dims_a.size(),
               dims_b.size());
  }
  dims_a = contracted_dims(a, std::move(dims_a));
  dims_b = contracted_dims(b, std::move(dims_b));
  Var left = shrink_to(a, b, dims_a, dims_b);
  Var right = shrink_to(b, a, dims_b, dims_a);
  Ints free_a = other_dims(a, dims_a), free_b = other_dims(b, dims_b);
  int64_t rows = product_of(a.shape(), free_a);
  int64_t columns = product_of(b.shape(), free_b);
  int64_t inner = product_of(left.shape(), dims_a);
  Shape shape;
  for (int64_t d : free_a) shape.push_back(a.dim(d));
  for (int64_t d : free_b) shape.push_back(b.dim(d));
  left = reshape(permute(left, joined(free_a, dims_a)), {rows, inner});
  right = reshape(permute(right, joined(dims_b, free_b)), {inner, columns});
  return reshape(matmul(left, right), shape);
}

Var tensordot(Var a, Var b, int64_t count) {
  if (count < 0 || count > std::min(a.rank(), b.rank())) {
    fail_usage("[tensordot] cannot contract {} dimensions", count);
  }
  Ints last(static_cast<size_t>(count)), first(static_cast<size_t>(count));
  std::iota(first.begin(), first.end(), 0);
  std::iota(last.begin(), last.end(), a.rank() - count);
  return tensordot(a, b, last, first);
}

Var bilinear(Var a, Var b, Var w, Var bias) {
  expect_rank(w, 3, "bilinear");
  int64_t outputs = w.dim(0), left = w.dim(1), right = w.dim(2);
  if (a.rank() < 1 || b.rank() < 1 || a.dim(-1) != left || b.dim(-1) != right) {
    fail_usage("[bilinear] {} and {} do not fit {}", shape_text(a.shape()),
               shape_text(b.shape()), shape_text(w.shape()));
  }
  Shape rows(a.shape().begin(), a.shape().end() - 1), inner = rows;
  inner.insert(inner.end(), {outputs, right});
  Var table = reshape(permute(w, {1, 0, 2}), {left, outputs * right});
  Var y = reshape(matmul(a, table), inner);
  y = sum(mul(y, unsqueeze(b, -2)), {-1});
  return bias ? add(y, bias) : y;
}

}  // namespace braid
