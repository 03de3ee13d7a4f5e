// Attributes that are plain numbers, as libtorch takes them.
#pragma once

#include <ATen/ScalarOps.h>

#include "braid/runtime/kernels/aten/bind.h"

namespace braid::runtime {

inline at::Scalar number(const Bound& b, std::string_view name) {
  const Attr* attr = b.attrs().find(name);
  if (const bool* flag = std::get_if<bool>(attr)) return *flag;
  if (const int64_t* integer = std::get_if<int64_t>(attr)) return *integer;
  return b.attrs().number(name);
}

inline std::optional<at::Scalar> optional_number(const Bound& b,
                                                 std::string_view name) {
  return b.attrs().has(name) ? std::optional(number(b, name)) : std::nullopt;
}

// A number that widens no tensor and needs no memory of the device.
inline at::Tensor wrapped(const Bound& b, std::string_view name) {
  return at::native::wrapped_scalar_tensor(number(b, name));
}

// The number in the type and on the device of output 0.
inline at::Tensor device_number(const Bound& b, std::string_view name) {
  return at::scalar_tensor(number(b, name), b.out[0].options());
}

// A name, and the libtorch function of one or two operands that it is.
using UnaryRow =
    std::pair<const char*, at::Tensor& (*)(at::Tensor&, const at::Tensor&)>;
using BinaryRow =
    std::pair<const char*, at::Tensor& (*)(at::Tensor&, const at::Tensor&,
                                           const at::Tensor&)>;

inline void add_row(KernelTable& table, at::Device device, UnaryRow row) {
  table.add(row.first, aten_kernel(device, [f = row.second](Bound& b) {
              f(b.out[0], b.in[0]);
            }));
}

inline void add_row(KernelTable& table, at::Device device, BinaryRow row) {
  table.add(row.first, aten_kernel(device, [f = row.second](Bound& b) {
              f(b.out[0], b.in[0], b.in[1]);
            }));
}

// op_scalar: the second operand is the attribute `value`.
inline void add_scalar_row(KernelTable& table, at::Device device,
                           BinaryRow row) {
  table.add(row.first + std::string("_scalar"),
            aten_kernel(device, [f = row.second](Bound& b) {
              f(b.out[0], b.in[0], wrapped(b, "value"));
            }));
}

}  // namespace braid::runtime
