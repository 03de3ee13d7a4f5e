// Values looked up by places, and their gradients put back.
#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/aten/places.h"

namespace braid::runtime {
namespace {

// Numbers of members as an index of the rank of the others.
at::Tensor member_index(const Bound& b, const at::Tensor& other) {
  std::vector<int64_t> shape(static_cast<size_t>(other.dim()), 1);
  shape[0] = b.members();
  return at::arange(b.members(), other.options()).view(shape);
}

// Indices from input `first` on, with one for members in front.
std::vector<at::Tensor> indices_of(const Bound& b, size_t first) {
  std::vector<at::Tensor> indices(b.in.begin() + static_cast<int64_t>(first),
                                  b.in.end());
  if (b.members() > 0) {
    indices.insert(indices.begin(), member_index(b, indices[0]));
  }
  return indices;
}

void check_range(const at::Tensor& index, int64_t size) {
  if (!index.is_cpu() || index.numel() == 0) return;
  TORCH_CHECK_INDEX(index.min().item<int64_t>() >= -size &&
                        index.max().item<int64_t>() < size,
                    "an index is outside ", size, " entries");
}

// x[D..., R] seen as rows [P, R], and the rows that indices name.
struct Rows {
  at::Tensor x;
  at::Tensor rows;   // [N]
  at::Tensor shape;  // broadcast index, for its sizes
};

Rows rows_at(const at::Tensor& x, const std::vector<at::Tensor>& indices) {
  at::Tensor rows = at::zeros({}, indices[0].options());
  int64_t count = 1;
  for (size_t i = 0; i < indices.size(); ++i) {
    int64_t size = x.size(static_cast<int64_t>(i));
    check_range(indices[i], size);
    rows =
        rows * size + at::where(indices[i] < 0, indices[i] + size, indices[i]);
    count *= size;
  }
  int64_t width = count == 0 ? 0 : x.numel() / count;
  return {x.view({count, width}), rows.reshape({-1}), rows};
}

void index(Bound& b) {
  c10::List<std::optional<at::Tensor>> list;
  for (const at::Tensor& i : indices_of(b, 1)) list.push_back(i);
  at::index_out(b.out[0], b.in[0], list);
}

void index_backward(Bound& b) {
  b.out[0].zero_();
  if (b.in[0].numel() == 0) return;
  Rows r = rows_at(b.out[0], indices_of(b, 1));
  add_rows(r.x, r.rows, b.in[0].reshape({r.rows.size(0), -1}));
}

void index_put(Bound& b) {
  start_from(b.out[0], b.in[0]);
  std::vector<at::Tensor> indices = indices_of(b, 2);
  if (b.out[0].numel() == 0) return;
  Rows r = rows_at(b.out[0], indices);
  std::vector<int64_t> shape = r.shape.sizes().vec();
  auto taken = static_cast<int64_t>(indices.size());
  for (int64_t d = taken; d < b.out[0].dim(); ++d) {
    shape.push_back(b.out[0].size(d));
  }
  if (r.rows.numel() == 0) return;
  at::Tensor values =
      b.in[1].expand(shape).reshape({r.rows.size(0), r.x.size(1)});
  if (b.attrs().flag("accumulate")) {
    add_rows(r.x, r.rows, values);
  } else {
    put_rows(r.x, r.rows, values);
  }
}

// dy[.., N, ..] as rows [N, ...] added to rows of dx.
void index_select_backward(Bound& b) {
  int64_t dim = b.attrs().integer("dim");
  at::Tensor dx = b.out[0];
  dx.zero_();
  if (b.in[0].numel() == 0) return;
  if (dx.is_cpu()) {
    dx.index_add_(dim, b.in[1], b.in[0]);
    return;
  }
  std::vector<int64_t> shape(static_cast<size_t>(dx.dim()), 1);
  shape[static_cast<size_t>(dim)] = b.in[1].size(0);
  add_along(dx, dim, b.in[1].view(shape).expand_as(b.in[0]), b.in[0]);
}

}  // namespace

void add_aten_index(KernelTable& table, at::Device device) {
  auto add = [&](const char* op, Body body) {
    table.add(op, aten_kernel(device, std::move(body)));
  };
  add("gather", [](Bound& b) {
    at::gather_out(b.out[0], b.in[0], b.attrs().integer("dim"), b.in[1]);
  });
  add("gather_backward", [](Bound& b) {
    b.out[0].zero_();
    add_along(b.out[0], b.attrs().integer("dim"), b.in[1], b.in[0]);
  });
  add("index_select", [](Bound& b) {
    at::index_select_out(b.out[0], b.in[0], b.attrs().integer("dim"), b.in[1]);
  });
  add("index_select_backward", index_select_backward);
  add("index", index);
  add("index_backward", index_backward);
  add("index_put", index_put);
}

}  // namespace braid::runtime
