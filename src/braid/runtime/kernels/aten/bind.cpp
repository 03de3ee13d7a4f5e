#include "braid/runtime/kernels/aten/bind.h"

#include <ATen/Parallel.h>
#include <ATen/core/LegacyTypeDispatch.h>

#include <memory>

#include "braid/runtime/kernels/aten/scratch.h"

namespace braid::runtime {
namespace {

bool overlaps(const Tensor& a, const Tensor& b) {
  if (!a || !b) return false;
  auto end = [](const Tensor& t) {
    return t.data + span_elements(t.shape, t.strides) * item_bytes(t.dtype);
  };
  return a.data < end(b) && b.data < end(a);
}

// Outputs that no input shares memory with: results may be made right there.
std::vector<Tensor> landings_of(const Call& call) {
  std::vector<Tensor> landings;
  for (const Tensor& out : call.outputs) {
    bool free = out && landings.size() < 32;
    for (const Tensor& in : call.inputs) free = free && !overlaps(out, in);
    if (free) landings.push_back(out);
  }
  return landings;
}

}  // namespace

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::kBool: return at::kBool;
    case DType::kUInt8: return at::kByte;
    case DType::kInt32: return at::kInt;
    case DType::kInt64: return at::kLong;
    case DType::kBFloat16: return at::kBFloat16;
    case DType::kFloat32: return at::kFloat;
    case DType::kFloat64: return at::kDouble;
  }
  return at::kFloat;
}

at::Tensor bind(const Tensor& tensor, at::Device device) {
  if (!tensor) return {};
  return at::from_blob(
      tensor.data, tensor.shape, tensor.strides,
      at::TensorOptions().dtype(scalar_type(tensor.dtype)).device(device));
}

Kernel aten_kernel(at::Device device, Body body) {
  return [device, body](const Call& call) -> Run {
    auto bound = std::make_shared<Bound>(Bound{*call.node, {}, {}});
    for (const Tensor& t : call.inputs) bound->in.push_back(bind(t, device));
    for (const Tensor& t : call.outputs) bound->out.push_back(bind(t, device));
    if (!device.is_cpu()) {
      return [bound, body] {
        at::AutoDispatchBelowADInplaceOrView below_autograd;
        body(*bound);
      };
    }
    return [bound, body, workspace = call.workspace,
            landings = landings_of(call)] {
      at::AutoDispatchBelowADInplaceOrView below_autograd;
      ScratchScope scope(*workspace, landings);
      body(*bound);
    };
  };
}

void land(const at::Tensor& out, const at::Tensor& result) {
  if (result.data_ptr() == out.data_ptr() &&
      result.strides() == out.strides()) {
    return;
  }
  out.copy_(result);
}

at::Tensor rows_of(const at::Tensor& x, int64_t members) {
  if (members == 0) return x.reshape({-1, x.size(-1)});
  return x.reshape({members, -1, x.size(-1)});
}

void add_aten_kernels(KernelTable& table, at::Device device) {
  add_aten_pointwise(table, device);
  add_aten_shape(table, device);
  add_aten_matmul(table, device);
  add_aten_conv(table, device);
  add_aten_norm(table, device);
  add_aten_attention(table, device);
  add_aten_loss(table, device);
  add_aten_optimizer(table, device);
}

void set_call_threads(int threads) { at::set_num_threads(threads); }

}  // namespace braid::runtime
