// Reductions and running results. libtorch reads an empty list of dims as all
// of them; here it means that nothing is reduced, so a dim of 1 is added.
#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {
namespace {

struct Operand {
  at::Tensor x;
  std::vector<int64_t> dims;
  bool keep;
};

Operand operand(const Bound& b) {
  const Ints& dims = b.attrs().ints("dims");
  if (dims.empty()) return {b.in[0].unsqueeze(-1), {-1}, false};
  return {b.in[0], dims, b.attrs().flag("keep_dims")};
}

// A reduced tensor with dims of 1 where x was reduced.
at::Tensor kept(const Bound& b, size_t i, const at::Tensor& x) {
  std::vector<int64_t> shape = x.sizes().vec();
  for (int64_t d : b.attrs().ints("dims")) shape[static_cast<size_t>(d)] = 1;
  return b.in[i].reshape(shape);
}

at::Tensor kept_sum(const Bound& b, const at::Tensor& x) {
  const Ints& dims = b.attrs().ints("dims");
  return dims.empty() ? x : x.sum(dims, true);
}

void spread_of(Bound& b, bool root) {
  Operand o = operand(b);
  at::Scalar correction = b.attrs().number("correction");
  if (root) {
    at::std_out(b.out[0], o.x, o.dims, correction, o.keep);
  } else {
    at::var_out(b.out[0], o.x, o.dims, correction, o.keep);
  }
}

void var_backward(Bound& b) {
  const at::Tensor& x = b.in[1];
  at::Tensor dy = kept(b, 0, x);
  if (b.has(2)) {
    at::Tensor y = kept(b, 2, x);
    dy = (dy / (y * 2)).masked_fill_(y == 0, 0);
  }
  const Ints& dims = b.attrs().ints("dims");
  double count = 1;
  for (int64_t d : dims) count *= static_cast<double>(x.size(d));
  at::Tensor mean = dims.empty() ? x : x.mean(dims, true);
  double rest = std::max(count - b.attrs().number("correction"), 0.0);
  at::mul_out(b.out[0], x - mean, dy * (2 / rest));
}

// Ties share the gradient; a NaN that came out shares with all NaNs.
at::Tensor shared_by_ties(const Bound& b, const at::Tensor& x,
                          const at::Tensor& y, const at::Tensor& dy) {
  at::Tensor ties = (x == y).logical_or_(x.isnan().logical_and_(y.isnan()));
  return ties * (dy / kept_sum(b, ties.to(dy.scalar_type())));
}

void amax_backward(Bound& b) {
  const at::Tensor& x = b.in[1];
  at::Tensor ties = (x == kept(b, 2, x)).to(x.scalar_type());
  at::div_out(b.out[0], ties * kept(b, 0, x), kept_sum(b, ties));
}

// The formulas of libtorch's autograd, 0 where the norm is.
at::Tensor norm_gradient(const Bound& b, double ord) {
  const at::Tensor& x = b.in[1];
  at::Tensor dy = kept(b, 0, x), y = kept(b, 2, x);
  if (ord == 0) return at::zeros_like(x);
  if (ord == 1) return x.sgn() * dy;
  if (ord == 2) return dy * (x / y).masked_fill_(y == 0, 0);
  if (std::isinf(ord)) return x.sgn() * shared_by_ties(b, x.abs(), y, dy);
  if (ord < 1) {
    at::Tensor power = x.sgn() * x.abs().pow_(ord - 1).masked_fill_(x == 0, 0);
    return power * dy * y.pow(1 - ord);
  }
  at::Tensor scale = (dy / y.pow(ord - 1)).masked_fill_(y == 0, 0);
  if (ord < 2) return x.sgn() * x.abs().pow_(ord - 1) * scale;
  return x * x.abs().pow_(ord - 2) * scale;
}

using Scan = at::Tensor (*)(const at::Tensor&, int64_t,
                            std::optional<at::ScalarType>);

// On a GPU libtorch scans one row in an order that varies from run to run, but
// several rows in a fixed one: then a row is scanned twice.
at::Tensor scanned(Scan scan, const at::Tensor& x, int64_t dim,
                   at::ScalarType dtype) {
  if (x.is_cpu() || x.numel() != x.size(dim)) return scan(x, dim, dtype);
  at::Tensor rows = x.reshape({1, -1}).expand({2, x.numel()});
  return scan(rows, 1, dtype).select(0, 0).view(x.sizes());
}

// Product of all entries before each.
at::Tensor products_before(const at::Tensor& x, int64_t dim) {
  at::Tensor y = at::empty(x.sizes(), x.options());
  y.narrow(dim, 0, 1).fill_(1);
  y.narrow(dim, 1, x.size(dim) - 1).copy_(x.narrow(dim, 0, x.size(dim) - 1));
  return scanned(at::cumprod, y, dim, y.scalar_type());
}

// Divides by nothing, so that zeros are no special case.
void prod_backward(Bound& b) {
  int64_t dim = b.attrs().integer("dim");
  const at::Tensor& x = b.in[1];
  if (x.numel() == 0) return;
  at::Tensor dy =
      b.attrs().flag("keep_dims") ? b.in[0] : b.in[0].unsqueeze(dim);
  at::Tensor after = products_before(x.flip(dim), dim).flip(dim);
  at::mul_out(b.out[0], products_before(x, dim).mul_(after), dy);
}

// From the end: sum_k = dy_k + x_{k+1} sum_{k+1}, times the product before k.
void cumprod_backward(Bound& b) {
  int64_t dim = b.attrs().integer("dim");
  const at::Tensor &dy = b.in[0], &x = b.in[1];
  if (x.numel() == 0) return;
  at::Tensor before = products_before(x, dim);
  at::Tensor sum = at::zeros_like(dy.select(dim, 0));
  for (int64_t k = x.size(dim) - 1; k >= 0; --k) {
    if (k + 1 < x.size(dim)) sum.mul_(x.select(dim, k + 1));
    sum.add_(dy.select(dim, k));
    at::Tensor dx = b.out[0].select(dim, k);
    at::mul_out(dx, before.select(dim, k), sum);
  }
}

using Table = std::function<void(const char*, Body)>;

void add_sums(const Table& add) {
  add("sum", [](Bound& b) {
    Operand o = operand(b);
    at::sum_out(b.out[0], o.x, o.dims, o.keep, b.out[0].scalar_type());
  });
  add("mean", [](Bound& b) {
    Operand o = operand(b);
    at::mean_out(b.out[0], o.x, o.dims, o.keep);
  });
  add("logsumexp", [](Bound& b) {
    Operand o = operand(b);
    at::logsumexp_out(b.out[0], o.x, o.dims, o.keep);
  });
  add("linalg_vector_norm", [](Bound& b) {
    Operand o = operand(b);
    at::linalg_vector_norm_out(b.out[0], o.x, b.attrs().number("ord"), o.dims,
                               o.keep);
  });
  add("linalg_vector_norm_backward", [](Bound& b) {
    b.out[0].copy_(norm_gradient(b, b.attrs().number("ord")));
  });
  add("var", [](Bound& b) { spread_of(b, false); });
  add("std", [](Bound& b) { spread_of(b, true); });
  add("var_backward", var_backward);
}

void add_comparisons(const Table& add) {
  add("amax", [](Bound& b) {
    Operand o = operand(b);
    at::amax_out(b.out[0], o.x, o.dims, o.keep);
  });
  add("amin", [](Bound& b) {
    Operand o = operand(b);
    at::amin_out(b.out[0], o.x, o.dims, o.keep);
  });
  add("amax_backward", amax_backward);
  add("any", [](Bound& b) {
    Operand o = operand(b);
    at::any_out(b.out[0], o.x, at::OptionalIntArrayRef(o.dims), o.keep);
  });
  add("all", [](Bound& b) {
    Operand o = operand(b);
    at::all_out(b.out[0], o.x, at::OptionalIntArrayRef(o.dims), o.keep);
  });
  add("count_nonzero", [](Bound& b) {
    Operand o = operand(b);
    at::sum_out(b.out[0], o.x.ne(0), o.dims, o.keep, at::kLong);
  });
  add("argmax", [](Bound& b) {
    at::argmax_out(b.out[0], b.in[0], b.attrs().integer("dim"),
                   b.attrs().flag("keep_dims"));
  });
  add("argmin", [](Bound& b) {
    at::argmin_out(b.out[0], b.in[0], b.attrs().integer("dim"),
                   b.attrs().flag("keep_dims"));
  });
}

void add_scans(const Table& add) {
  add("prod", [](Bound& b) {
    at::prod_out(b.out[0], b.in[0], b.attrs().integer("dim"),
                 b.attrs().flag("keep_dims"), b.out[0].scalar_type());
  });
  add("cumsum", [](Bound& b) {
    b.out[0].copy_(scanned(at::cumsum, b.in[0], b.attrs().integer("dim"),
                           b.out[0].scalar_type()));
  });
  add("cumprod", [](Bound& b) {
    b.out[0].copy_(scanned(at::cumprod, b.in[0], b.attrs().integer("dim"),
                           b.out[0].scalar_type()));
  });
  add("prod_backward", prod_backward);
  add("cumprod_backward", cumprod_backward);
}

}  // namespace

void add_aten_reduce(KernelTable& table, at::Device device) {
  auto add = [&](const char* op, Body body) {
    table.add(op, aten_kernel(device, std::move(body)));
  };
  add_sums(add);
  add_comparisons(add);
  add_scans(add);
}

}  // namespace braid::runtime
