#include "braid/runtime/kernels/aten/bind.h"

#include <c10/core/impl/LocalDispatchKeySet.h>

#include <algorithm>
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
std::vector<Tensor> free_outputs(const Call& call,
                                 const std::vector<size_t>& wanted) {
  std::vector<Tensor> donated;
  for (size_t i : wanted) {
    bool free = call.out(i).numel() > 0;
    for (const Tensor& in : call.inputs) {
      free = free && !overlaps(call.out(i), in);
    }
    if (free) donated.push_back(call.out(i));
  }
  return donated;
}

// Those that no plan would let share memory with an input: what scratch a call
// takes must not depend on where its operands lie.
std::vector<size_t> always_free(const Call& call,
                                const std::vector<size_t>& wanted) {
  std::vector<size_t> free;
  for (size_t i : wanted) {
    bool shared = std::ranges::any_of(
        call.node->op->in_place,
        [&](const InPlace& pair) { return pair.output == i; });
    if (!shared) free.push_back(i);
  }
  return free;
}

bool is_same_place(const at::Tensor& a, const at::Tensor& b) {
  return a.data_ptr() == b.data_ptr() && a.sizes() == b.sizes() &&
         a.strides() == b.strides();
}

bool shares_storage(const at::Tensor& a, const at::Tensor& b) {
  auto* begin_a = static_cast<const char*>(a.storage().data());
  auto* begin_b = static_cast<const char*>(b.storage().data());
  return begin_a < begin_b + b.storage().nbytes() &&
         begin_b < begin_a + a.storage().nbytes();
}

// Whatever modes of libtorch this thread is in, kernels run below autograd and
// with the keys of a thread in none.
class BelowAutograd {
 private:
  c10::impl::ForceDispatchKeyGuard keys_{
      c10::default_included_set,
      c10::default_excluded_set |
          c10::autograd_dispatch_keyset_with_ADInplaceOrView};
};

}  // namespace

at::ScalarType scalar_type(DType dtype) {
  switch (dtype) {
    case DType::kBool: return at::kBool;
    case DType::kUInt8: return at::kByte;
    case DType::kInt8: return at::kChar;
    case DType::kInt16: return at::kShort;
    case DType::kInt32: return at::kInt;
    case DType::kInt64: return at::kLong;
    case DType::kFloat16: return at::kHalf;
    case DType::kBFloat16: return at::kBFloat16;
    case DType::kFloat32: return at::kFloat;
    case DType::kFloat64: return at::kDouble;
    case DType::kComplex64: return at::kComplexFloat;
    case DType::kComplex128: return at::kComplexDouble;
  }
  return at::kFloat;
}

std::optional<DType> dtype_of(at::ScalarType type) {
  for (int i = 0; i <= static_cast<int>(DType::kComplex128); ++i) {
    auto dtype = static_cast<DType>(i);
    if (scalar_type(dtype) == type) return dtype;
  }
  return std::nullopt;
}

at::Tensor bind(const Tensor& tensor, at::Device device) {
  if (!tensor) return {};
  auto options =
      at::TensorOptions().dtype(scalar_type(tensor.dtype)).device(device);
  // An address without bytes need not be one of the device.
  if (tensor.numel() == 0) {
    return at::empty_strided(tensor.shape, tensor.strides, options);
  }
  return at::from_blob(tensor.data, tensor.shape, tensor.strides, options);
}

Kernel aten_kernel(at::Device device, Body body) {
  return donating_kernel(device, {}, std::move(body));
}

Kernel donating_kernel(at::Device device, std::vector<size_t> donated,
                       Body body) {
  return [device, donated, body](const Call& call) -> Thunk {
    auto bound = std::make_shared<Bound>(Bound{*call.node, {}, {}});
    for (const Tensor& t : call.inputs) bound->in.push_back(bind(t, device));
    for (const Tensor& t : call.outputs) bound->out.push_back(bind(t, device));
    if (!device.is_cpu()) {
      return [bound, body,
              places = free_outputs(call, always_free(call, donated))] {
        CallSettings::before_libtorch(true);
        BelowAutograd below_autograd;
        DonatedOutputs scope(places);
        body(*bound);
      };
    }
    return [bound, body, workspace = call.workspace,
            places = free_outputs(call, donated), use = ScratchUse()] {
      CallSettings::before_libtorch(false);
      BelowAutograd below_autograd;
      ScratchScope scope(*workspace, places);
      body(*bound);
    };
  };
}

void write_outputs(const std::vector<at::Tensor>& outputs,
                   std::vector<at::Tensor> results) {
  // A result may have been made in another output's memory, or lie in its own
  // with other strides: such a one steps aside before anything is written.
  for (size_t i = 0; i < results.size(); ++i) {
    if (is_same_place(results[i], outputs[i])) continue;
    for (const at::Tensor& out : outputs) {
      if (!shares_storage(results[i], out)) continue;
      results[i] = at::empty_strided(results[i].sizes(), results[i].strides(),
                                     results[i].options())
                       .copy_(results[i]);
      break;
    }
  }
  for (size_t i = 0; i < results.size(); ++i) {
    if (!is_same_place(results[i], outputs[i])) outputs[i].copy_(results[i]);
  }
}

at::Tensor rows_of(const at::Tensor& x, int64_t members) {
  if (members == 0) return x.reshape({-1, x.size(-1)});
  return x.reshape({members, -1, x.size(-1)});
}

void add_aten_kernels(KernelTable& table, at::Device device) {
  add_aten_pointwise(table, device);
  add_aten_shape(table, device);
  add_aten_matmul(table, device);
  add_aten_grouped(table, device);
  add_aten_conv(table, device);
  add_aten_pool(table, device);
  add_aten_norm(table, device);
  add_aten_attention(table, device);
  add_aten_loss(table, device);
  add_aten_pointwise_loss(table, device);
  add_aten_activation(table, device);
  add_aten_math(table, device);
  add_aten_compare(table, device);
  add_aten_reduce(table, device);
  add_aten_softmax(table, device);
  add_aten_sort(table, device);
  add_aten_index(table, device);
  add_aten_scatter(table, device);
  add_aten_pad(table, device);
  add_aten_arrange(table, device);
  add_aten_factory(table, device);
  add_aten_upsample(table, device);
  add_aten_rnn(table, device);
  add_aten_foreign(table, device);
  add_aten_optimizer(table, device);
}

}  // namespace braid::runtime
