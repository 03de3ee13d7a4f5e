// How libtorch kernels are written: a body over operands bound as at::Tensor.
#pragma once

#include <ATen/ATen.h>

#include <functional>
#include <utility>
#include <vector>

#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {

// Operands of one call; inputs that are missing are undefined tensors.
struct Bound {
  const Node& node;
  std::vector<at::Tensor> in;
  std::vector<at::Tensor> out;

  const Attrs& attrs() const { return node.attrs; }
  int64_t members() const { return attrs().integer_or("members", 0); }
  bool has(size_t i) const { return i < in.size() && in[i].defined(); }
  std::optional<at::Tensor> optional(size_t i) const {
    return has(i) ? std::optional(in[i]) : std::nullopt;
  }
};

at::Tensor bind(const Tensor& tensor, at::Device device);
at::ScalarType scalar_type(DType dtype);
// Nothing for types that Braid does not have.
std::optional<DType> dtype_of(at::ScalarType type);

using Body = std::function<void(Bound&)>;

// A kernel that runs `body` on operands bound once, below autograd. Its
// allocations come from the planned workspace.
Kernel aten_kernel(at::Device device, Body body);

// The same for bodies that call functions which return new tensors: an
// allocation of the size of one of the outputs `donated` is made right in
// that output. The body writes outputs through `write_outputs` alone and last.
Kernel donating_kernel(at::Device device, std::vector<size_t> donated,
                       Body body);

// Results become the contents of outputs; nothing moves where a result was
// made in its output.
void write_outputs(const std::vector<at::Tensor>& outputs,
                   std::vector<at::Tensor> results);

// x as [rows, columns] or, with members, [B, rows, columns].
at::Tensor rows_of(const at::Tensor& x, int64_t members);

// Families; each adds its rows for tensors on `device`.
void add_aten_pointwise(KernelTable& table, at::Device device);
void add_aten_shape(KernelTable& table, at::Device device);
void add_aten_matmul(KernelTable& table, at::Device device);
void add_aten_grouped(KernelTable& table, at::Device device);
void add_aten_conv(KernelTable& table, at::Device device);
void add_aten_pool(KernelTable& table, at::Device device);
void add_aten_norm(KernelTable& table, at::Device device);
void add_aten_attention(KernelTable& table, at::Device device);
void add_aten_loss(KernelTable& table, at::Device device);
void add_aten_pointwise_loss(KernelTable& table, at::Device device);
void add_aten_activation(KernelTable& table, at::Device device);
void add_aten_math(KernelTable& table, at::Device device);
void add_aten_compare(KernelTable& table, at::Device device);
void add_aten_reduce(KernelTable& table, at::Device device);
void add_aten_softmax(KernelTable& table, at::Device device);
void add_aten_sort(KernelTable& table, at::Device device);
void add_aten_index(KernelTable& table, at::Device device);
void add_aten_scatter(KernelTable& table, at::Device device);
void add_aten_pad(KernelTable& table, at::Device device);
void add_aten_arrange(KernelTable& table, at::Device device);
void add_aten_factory(KernelTable& table, at::Device device);
void add_aten_upsample(KernelTable& table, at::Device device);
void add_aten_rnn(KernelTable& table, at::Device device);
void add_aten_foreign(KernelTable& table, at::Device device);
void add_aten_optimizer(KernelTable& table, at::Device device);

// All of the above.
void add_aten_kernels(KernelTable& table, at::Device device);

}  // namespace braid::runtime
