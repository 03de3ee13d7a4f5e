#include "braid/runtime/kernels/product.h"

#include <algorithm>

#include "braid/ops/core/channels_last.h"

namespace braid::runtime {

bool make_matrix(const Tensor& t, size_t row_dim, Matrix& m) {
  m.data = t.data;
  m.rows = t.shape[row_dim];
  m.columns = t.shape[row_dim + 1];
  int64_t rows_step = t.strides[row_dim], columns_step = t.strides[row_dim + 1];
  auto fits = [](int64_t step, int64_t size) {
    return step >= size && step < (int64_t{1} << 31);
  };
  if ((columns_step == 1 || m.columns == 1) &&
      (m.rows == 1 || fits(rows_step, m.columns))) {
    m.order = 'N';
    m.leading = static_cast<int>(m.rows == 1 ? std::max<int64_t>(m.columns, 1)
                                             : rows_step);
    return true;
  }
  if ((rows_step == 1 || m.rows == 1) &&
      (m.columns == 1 || fits(columns_step, m.rows))) {
    m.order = 'T';
    m.leading = static_cast<int>(m.columns == 1 ? std::max<int64_t>(m.rows, 1)
                                                : columns_step);
    return true;
  }
  return false;
}

void Product::add_dim(BatchDim dim) {
  if (dim.size == 1) return;
  batch *= dim.size;
  if (!dims.empty() && dims.back().step_a == dim.size * dim.step_a &&
      dims.back().step_b == dim.size * dim.step_b) {
    dim.size *= dims.back().size;
    dims.pop_back();
  }
  dims.push_back(dim);
}

BatchDim Product::entry(int64_t i) const {
  BatchDim at;
  for (size_t d = dims.size(); d-- > 0;) {
    int64_t index = d == 0 ? i : i % dims[d].size;
    at.step_a += index * dims[d].step_a;
    at.step_b += index * dims[d].step_b;
    if (d > 0) i /= dims[d].size;
  }
  return at;
}

namespace {

bool is_empty(const Product& p) {
  return p.a.rows == 0 || p.a.columns == 0 || p.b.columns == 0 || p.batch == 0;
}

// [..., C] as [rows, C], or as [B, rows, C], when memory allows.
bool flatten_rows(const Tensor& t, int64_t members, Tensor& flat) {
  flat = t;
  size_t lead = members > 0 ? 1 : 0;
  if (t.shape.size() < lead + 2) return t.shape.size() == lead + 2;
  size_t last = t.shape.size() - 1;
  int64_t rows = 1;
  for (size_t d = last; d-- > lead;) {
    bool gapless = d + 1 == last || t.shape[d] == 1 ||
                   t.strides[d] == t.strides[d + 1] * t.shape[d + 1];
    if (!gapless) return false;
    rows *= t.shape[d];
  }
  flat.shape.assign(t.shape.begin(), t.shape.begin() + static_cast<int>(lead));
  flat.strides.assign(t.strides.begin(),
                      t.strides.begin() + static_cast<int>(lead));
  flat.shape.insert(flat.shape.end(), {rows, t.shape[last]});
  flat.strides.insert(flat.strides.end(),
                      {t.strides[last - 1], t.strides[last]});
  return true;
}

// Operands of one rank; a batch dimension of 1 meets any other.
bool add_batch(const Tensor& a, const Tensor& b, Product& p) {
  for (size_t d = 0; d + 2 < a.shape.size(); ++d) {
    int64_t size = std::max(a.shape[d], b.shape[d]);
    auto step = [&](const Tensor& t) {
      return t.shape[d] == 1 ? 0 : t.strides[d];
    };
    if (size == 0) return false;
    p.add_dim({size, step(a), step(b)});
  }
  return true;
}

// Images [N, C, H, W] whose channels lie last as [N * H * W, C], with members
// [B, ..] each.
std::optional<Tensor> places_of(const Tensor& t, int64_t members) {
  size_t rank = members > 0 ? 5 : 4;
  if (t.shape.size() != rank || t.numel() == 0 ||
      t.strides != channels_last_strides(t.shape)) {
    return std::nullopt;
  }
  int64_t channels = t.shape[rank - 3];
  Tensor flat = t;
  flat.shape = {t.numel() / channels, channels};
  flat.strides = {channels, 1};
  if (members > 0) {
    flat.shape[0] /= members;
    flat.shape.insert(flat.shape.begin(), members);
    flat.strides.insert(flat.strides.begin(), t.strides[0]);
  }
  return flat;
}

// Weights [O, C, 1, 1] as [O, C].
std::optional<Tensor> points_of(const Tensor& t, int64_t members) {
  size_t rank = members > 0 ? 5 : 4;
  if (t.shape.size() != rank || t.shape[rank - 1] != 1 ||
      t.shape[rank - 2] != 1 || t.numel() == 0) {
    return std::nullopt;
  }
  Tensor flat = t;
  flat.shape.resize(rank - 2);
  flat.strides = contiguous_strides(flat.shape);
  // One element per place: rows and channels that lie last are the same.
  return t.contiguous() || t.strides == channels_last_strides(t.shape)
             ? std::optional(flat)
             : std::nullopt;
}

Tensor turned(Tensor t) {
  size_t rank = t.shape.size();
  std::swap(t.shape[rank - 1], t.shape[rank - 2]);
  std::swap(t.strides[rank - 1], t.strides[rank - 2]);
  return t;
}

bool all_are(const Ints& list, int64_t number) {
  return std::ranges::all_of(list, [&](int64_t n) { return n == number; });
}

}  // namespace

std::optional<Product> point_product(const Call& c, ConvPart part) {
  const Attrs& a = c.attrs();
  if (a.integer("groups") != 1 || !all_are(a.ints("stride"), 1) ||
      !all_are(a.ints("padding"), 0)) {
    return std::nullopt;
  }
  // (x, w) -> y; (dy, w) -> dx; (dy, x) -> dw.
  bool makes_weight = part == ConvPart::kWeight;
  auto rows = places_of(c.in(0), c.members());
  auto other = makes_weight ? places_of(c.in(1), c.members())
                            : points_of(c.in(1), c.members());
  auto made = makes_weight ? points_of(c.out(0), c.members())
                           : places_of(c.out(0), c.members());
  if (!rows || !other || !made) return std::nullopt;
  Call product{.node = c.node, .inputs = {*rows, *other}, .outputs = {*made}};
  if (part == ConvPart::kOutput) product.inputs[1] = turned(*other);
  if (makes_weight) product.inputs[0] = turned(*rows);
  auto found = matmul_product(product);
  bool has_bias = part == ConvPart::kOutput && c.has(2);
  if (!found || !has_bias) return found;
  if (!c.in(2).contiguous()) return std::nullopt;
  found->bias = c.in(2).data;
  return found;
}

std::optional<Product> linear_product(const Call& c) {
  int64_t members = c.members();
  size_t lead = members > 0 ? 1 : 0;
  Tensor x;
  Product p;
  if (!flatten_rows(c.in(0), members, x) || !make_matrix(x, lead, p.a)) {
    return std::nullopt;
  }
  Tensor w = c.in(1);  // [O, I] read as [I, O]
  std::swap(w.shape[lead], w.shape[lead + 1]);
  std::swap(w.strides[lead], w.strides[lead + 1]);
  if (!make_matrix(w, lead, p.b) || is_empty(p)) return std::nullopt;
  if (c.has(2) && !c.in(2).contiguous()) return std::nullopt;
  if (!c.out(0).contiguous()) return std::nullopt;
  p.y = c.out(0).data;
  p.bias = c.has(2) ? c.in(2).data : nullptr;
  p.has_relu = c.attrs().has("activation");
  if (members > 0) p.add_dim({members, x.strides[0], w.strides[0]});
  return p;
}

std::optional<Product> matmul_product(const Call& c) {
  size_t rank = c.in(0).shape.size();
  Product p;
  if (c.in(1).shape.size() != rank || !c.out(0).contiguous() ||
      !make_matrix(c.in(0), rank - 2, p.a) ||
      !make_matrix(c.in(1), rank - 2, p.b) || !add_batch(c.in(0), c.in(1), p) ||
      is_empty(p)) {
    return std::nullopt;
  }
  p.y = c.out(0).data;
  return p;
}

}  // namespace braid::runtime
