// The form of matrix products: how BLAS reads the operands of `linear` and
// `matmul`, whichever device it works on.
// M, K, N sizes of a product; I inputs, O outputs of a layer; B members.
#pragma once

#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {

// A matrix as BLAS sees it. Row-major data is a transposed column-major one.
struct Matrix {
  const std::byte* data = nullptr;
  int64_t rows = 0, columns = 0;
  char order = 'N';  // 'N': rows lie contiguous; 'T': columns do
  int leading = 1;   // elements from one row (column) to the next
};

// Dimensions `row_dim` and the next of a tensor as a matrix; false when BLAS
// cannot read them.
bool make_matrix(const Tensor& t, size_t row_dim, Matrix& m);

// Entries of a dimension of the batch lie so many elements apart.
struct BatchDim {
  int64_t size = 1, step_a = 0, step_b = 0;
};

// y[M, N] = a[M, K] * b[K, N] for each entry of a batch; y is row-major, entry
// after entry.
struct Product {
  Matrix a, b;
  std::byte* y = nullptr;
  const std::byte* bias = nullptr;  // [N] per entry, or none
  bool has_relu = false;            // of all that
  int64_t batch = 1;
  std::vector<BatchDim> dims =
      {};  // of the batch, outermost first; may be none

  int64_t step_y() const { return a.rows * b.columns; }
  // Adds a dimension inside those before, as one with the last where memory
  // allows.
  void add_dim(BatchDim dim);
  // Where entry i begins in a and b.
  BatchDim entry(int64_t i) const;
};

// The product of a call of `linear`: x[.., I] * w[O, I]^T + b[O], with members
// [B, ..] each. Nothing when BLAS cannot read it or something is empty.
std::optional<Product> linear_product(const Call& call);

// The same of a call of `matmul`, whose operands must be of one rank.
std::optional<Product> matmul_product(const Call& call);

// Which of the three products of a convolution.
enum class ConvPart { kOutput, kInput, kWeight };

// The product that a convolution of one element per window is where channels
// lie last: rows are all places of a member's images. Nothing when it is
// another or lies otherwise.
std::optional<Product> point_product(const Call& call, ConvPart part);

}  // namespace braid::runtime
