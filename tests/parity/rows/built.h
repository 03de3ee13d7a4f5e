// Rows that compare a function of Vars with the same function of tensors.
#pragma once

#include <utility>

#include "../run_row.h"
#include "braid/base/error.h"
#include "braid/ops/build/functions.h"
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::parity {

using Vars = std::vector<Var>;

// Throws unless y has the type and shape of what libtorch yields.
inline void expect_type(Var y, const Row& row, const Vars& inputs) {
  DType dtype = DType::kFloat64;
  for (const Var& x : inputs) {
    if (x && is_floating(x.dtype())) dtype = x.dtype();
  }
  at::Tensor expected = row.reference(random_inputs(row, dtype, 0));
  if (expected.scalar_type() == runtime::scalar_type(y.dtype()) &&
      expected.sizes() == at::IntArrayRef(y.shape())) {
    return;
  }
  fail_usage("[parity] expected {} {}, got {} {}",
             at::toString(expected.scalar_type()),
             shape_text(expected.sizes().vec()), dtype_name(y.dtype()),
             shape_text(y.shape()));
}

inline Row built(std::string op, std::vector<Arg> args, Build build,
                 Reference reference, std::string note) {
  Row row{.op = std::move(op),
          .args = std::move(args),
          .attrs = {},
          .reference = std::move(reference),
          .note = std::move(note)};
  row.build = [build = std::move(build), row](const Vars& inputs) {
    Var y = build(inputs);
    expect_type(y, row, inputs);
    return y;
  };
  return row;
}

// One argument; when it has two dimensions, also with other strides.
inline void add_built(std::vector<Row>& rows, const std::string& op, Arg x,
                      std::function<Var(Var)> f,
                      std::function<at::Tensor(const at::Tensor&)> g,
                      const std::string& note = "") {
  std::string text = shape_text(x.shape) + note;
  rows.push_back(built(
      op, {x}, [f](const Vars& v) { return f(v[0]); },
      [g](const Tensors& t) { return g(t[0]); }, text));
  if (x.shape.size() < 2) return;
  std::swap(x.shape[0], x.shape[1]);
  rows.push_back(built(
      op, {x}, [f](const Vars& v) { return f(transpose(v[0], 0, 1)); },
      [g](const Tensors& t) { return g(t[0].transpose(0, 1)); },
      text + " strided"));
}

}  // namespace braid::parity
