// Comparisons, logic, bits, and choices between values.
#include "braid/runtime/kernels/aten/numbers.h"

namespace braid::runtime {
namespace {

void add_comparisons(KernelTable& table, at::Device device) {
  const BinaryRow rows[] = {
      {"eq", at::eq_out},
      {"ne", at::ne_out},
      {"lt", at::lt_out},
      {"le", at::le_out},
      {"gt", at::gt_out},
      {"ge", at::ge_out},
      {"bitwise_and", at::bitwise_and_out},
      {"bitwise_or", at::bitwise_or_out},
      {"bitwise_xor", at::bitwise_xor_out},
      {"bitwise_left_shift", at::bitwise_left_shift_out},
      {"bitwise_right_shift", at::bitwise_right_shift_out},
  };
  for (const BinaryRow& row : rows) {
    add_row(table, device, row);
    add_scalar_row(table, device, row);
  }
  for (const BinaryRow& row : {BinaryRow{"logical_and", at::logical_and_out},
                               BinaryRow{"logical_or", at::logical_or_out},
                               BinaryRow{"logical_xor", at::logical_xor_out}}) {
    add_row(table, device, row);
  }
  add_row(table, device, UnaryRow{"logical_not", at::logical_not_out});
  add_row(table, device, UnaryRow{"bitwise_not", at::bitwise_not_out});
}

void where(Bound& b) {
  at::Tensor x = b.has(1) ? b.in[1] : device_number(b, "self");
  at::Tensor y = b.has(2) ? b.in[2] : device_number(b, "other");
  at::where_out(b.out[0], b.in[0], x, y);
}

// x stays what it is, so the value takes its type.
void masked_fill(Bound& b) {
  at::Tensor value =
      b.has(2) ? b.in[2].to(b.out[0].scalar_type()) : device_number(b, "value");
  at::where_out(b.out[0], b.in[1], value, b.in[0]);
}

}  // namespace

void add_aten_compare(KernelTable& table, at::Device device) {
  add_comparisons(table, device);
  auto add = [&](const char* op, Body body) {
    table.add(op, donating_kernel(device, {0}, std::move(body)));
  };
  add("isnan",
      [](Bound& b) { write_outputs({b.out[0]}, {at::isnan(b.in[0])}); });
  add("isinf",
      [](Bound& b) { write_outputs({b.out[0]}, {at::isinf(b.in[0])}); });
  add("isfinite",
      [](Bound& b) { write_outputs({b.out[0]}, {at::isfinite(b.in[0])}); });
  table.add("where", aten_kernel(device, where));
  table.add("masked_fill", aten_kernel(device, masked_fill));
  table.add("masked_fill_scalar", aten_kernel(device, masked_fill));
}

}  // namespace braid::runtime
