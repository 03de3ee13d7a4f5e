// torch_op: any ATen operator through the dispatcher. Its gradient runs the
// operator again under libtorch's autograd; nothing of that outlives the call.
#include <ATen/core/grad_mode.h>
#include <c10/core/impl/LocalDispatchKeySet.h>
#include <torch/csrc/autograd/autograd.h>

#include "braid/base/error.h"
#include "braid/runtime/kernels/aten/bind.h"
#include "braid/runtime/kernels/aten/foreign_call.h"

namespace braid::runtime {
namespace {

std::shared_ptr<const ForeignCall> call_of(const Call& c) {
  return std::make_shared<ForeignCall>(
      c.attrs().text("target"), parse_foreign_args(c.attrs().text("args")));
}

// What the plan says must be what comes.
void check_results(const Bound& b, const std::vector<at::Tensor>& results) {
  bool fits = results.size() == b.out.size();
  for (size_t i = 0; fits && i < results.size(); ++i) {
    fits = results[i].defined() && results[i].sizes() == b.out[i].sizes() &&
           results[i].scalar_type() == b.out[i].scalar_type();
  }
  if (fits) return;
  fail_usage("[torch_op] the results of {} are not of the types of its node",
             b.attrs().text("target"));
}

// Complex results may be conjugates that are not computed yet.
std::vector<at::Tensor> resolved(std::vector<at::Tensor> tensors) {
  for (at::Tensor& t : tensors) {
    if (t.defined()) t = t.resolve_conj().resolve_neg();
  }
  return tensors;
}

// Kernels run below autograd; inside of this they do not.
class AutogradOn {
 public:
  AutogradOn()
      : keys_(c10::impl::tls_local_dispatch_key_set().included_,
              c10::impl::tls_local_dispatch_key_set().excluded_ -
                  c10::autograd_dispatch_keyset_with_ADInplaceOrView),
        mode_(true) {}

 private:
  c10::impl::ForceDispatchKeyGuard keys_;
  at::AutoGradMode mode_;
};

std::vector<at::Tensor> gradients(const Bound& b, const ForeignCall& call) {
  AutogradOn autograd;
  auto count = static_cast<size_t>(b.attrs().integer("inputs"));
  std::vector<at::Tensor> leaves, wanted, results, grads;
  for (size_t i = 0; i < count; ++i) leaves.push_back(b.in[i].detach());
  for (int64_t i : b.attrs().ints("wants")) {
    wanted.push_back(leaves[static_cast<size_t>(i)].requires_grad_(true));
  }
  std::vector<at::Tensor> all = call.run(leaves, b.in[0].device());
  for (size_t i = 0; i < all.size(); ++i) {
    if (!b.has(count + i) || !all[i].requires_grad()) continue;
    results.push_back(all[i]);
    grads.push_back(b.in[count + i]);
  }
  std::vector<at::Tensor> given(wanted.size());
  if (!results.empty()) {
    given = torch::autograd::grad(results, wanted, grads, false, false, true);
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i].defined()) given[i] = at::zeros_like(wanted[i].detach());
    given[i] = given[i].detach();
  }
  return given;
}

// Many operators refuse zeros; the trial that measures scratch memory runs on
// numbers that suit most.
void prepare_trial(const Call& c, at::Device device) {
  if (!c.workspace->is_trial) return;
  for (const Tensor& t : c.inputs) {
    if (!t || !t.contiguous()) continue;
    bind(t, device).copy_(stand_in({t.dtype, t.shape}));
  }
}

Kernel forward_kernel(at::Device device) {
  return [device](const Call& c) {
    prepare_trial(c, device);
    auto body = [device, call = call_of(c)](Bound& b) {
      std::vector<at::Tensor> results;
      call->explain_errors(
          [&] { results = resolved(call->run(b.in, device)); });
      check_results(b, results);
      write_outputs(b.out, std::move(results));
    };
    return aten_kernel(device, body)(c);
  };
}

Kernel backward_kernel(at::Device device) {
  return [device](const Call& c) {
    prepare_trial(c, device);
    auto body = [call = call_of(c)](Bound& b) {
      std::vector<at::Tensor> results;
      call->explain_errors([&] { results = resolved(gradients(b, *call)); });
      check_results(b, results);
      write_outputs(b.out, std::move(results));
    };
    return aten_kernel(device, body)(c);
  };
}

}  // namespace

void add_aten_foreign(KernelTable& table, at::Device device) {
  table.add("torch_op", forward_kernel(device));
  table.add("torch_op_backward", backward_kernel(device));
}

}  // namespace braid::runtime
