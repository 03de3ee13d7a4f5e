// Products of rows in groups, a product of libtorch's per group: what has
// other types or strides than own kernels take, and other devices.
#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/groups.h"

namespace braid::runtime {
namespace {

// Offsets in host memory, for as long as this lives.
struct HostOffsets {
  explicit HostOffsets(const at::Tensor& offsets)
      : memory(offsets.cpu()),
        view{static_cast<std::byte*>(memory.data_ptr()),
             *dtype_of(memory.scalar_type()), memory.sizes().vec(),
             memory.strides().vec()} {}
  at::Tensor memory;
  Tensor view;
};

// With an axis of members, if there is none.
at::Tensor by_member(const Bound& b, const at::Tensor& x) {
  return b.members() > 0 ? x : x.unsqueeze(0);
}

struct Operands {
  at::Tensor a, b, y;
  Operands of_member(int64_t m) const { return {a[m], b[m], y[m]}; }
};

void multiply_rows(const Operands& o, int64_t group, GroupRange range) {
  at::Tensor y = o.y.narrow(0, range.begin, range.size());
  at::mm_out(y, o.a.narrow(0, range.begin, range.size()), o.b[group]);
}

void contract_rows(const Operands& o, int64_t group, GroupRange range) {
  at::Tensor y = o.y[group];
  at::mm_out(y, o.a.narrow(1, range.begin, range.size()),
             o.b.narrow(0, range.begin, range.size()));
}

using GroupProduct = void (*)(const Operands&, int64_t group, GroupRange range);

struct Kind {
  const char* op;
  GroupProduct product;
  int64_t rows_dim;  // of a, from the end
};

int64_t num_rows(const Operands& o, const Kind& kind) {
  return o.a.size(kind.rows_dim);
}

// What belongs to no group is 0, and so is the sum over no rows.
void run(Bound& b, const Kind& kind) {
  Operands all{by_member(b, b.in[0]), by_member(b, b.in[1]),
               by_member(b, b.out[0])};
  HostOffsets offsets(b.in[2]);
  check_offsets(offsets.view, num_rows(all, kind));
  b.out[0].zero_();
  for (int64_t m = 0; m < all.a.size(0); ++m) {
    Operands one = all.of_member(m);
    for (int64_t e = 0; e < offsets.view.shape.back(); ++e) {
      GroupRange range = group_range(offsets.view, m, e);
      if (range.size() > 0) kind.product(one, e, range);
    }
  }
}

// A trial has zeros for offsets, and asks for the scratch of the most: all
// rows in one group.
void try_most(Bound& b, const Kind& kind) {
  HostOffsets offsets(b.in[2]);
  Operands all{by_member(b, b.in[0]), by_member(b, b.in[1]),
               by_member(b, b.out[0])};
  int64_t rows = num_rows(all, kind);
  if (all.a.size(0) == 0 || rows == 0 || b.in[2].size(-1) == 0) return;
  kind.product(all.of_member(0), 0, {0, rows});
}

}  // namespace

void add_aten_grouped(KernelTable& table, at::Device device) {
  for (const Kind& kind : {Kind{"grouped_mm", multiply_rows, -2},
                           Kind{"grouped_mm_contract", contract_rows, -1}}) {
    Kernel real = aten_kernel(device, [=](Bound& b) { run(b, kind); });
    Kernel trial = aten_kernel(device, [=](Bound& b) { try_most(b, kind); });
    table.add(kind.op, [=](const Call& c) {
      return c.workspace && c.workspace->is_trial ? trial(c) : real(c);
    });
  }
}

}  // namespace braid::runtime
