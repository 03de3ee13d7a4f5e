// torch_op: any ATen operator through the dispatcher. Its gradient runs the
// operator again under libtorch's autograd; nothing of that outlives the call.
#include <ATen/Context.h>
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

using Tensors = std::vector<at::Tensor>;

// `in` are the inputs of the operator, then the gradients of its results.
Tensors gradients(const Attrs& attrs, const Tensors& in, at::Device device,
                  const ForeignCall& call) {
  AutogradOn autograd;
  auto count = static_cast<size_t>(attrs.integer("inputs"));
  Tensors leaves, wanted, results, grads;
  for (size_t i = 0; i < count; ++i) leaves.push_back(in[i].detach());
  for (int64_t i : attrs.ints("wants")) {
    wanted.push_back(leaves[static_cast<size_t>(i)].requires_grad_(true));
  }
  Tensors all = call.run(leaves, device);
  for (size_t i = 0; i < all.size(); ++i) {
    bool has_gradient = count + i < in.size() && in[count + i].defined();
    if (!has_gradient || !all[i].requires_grad()) continue;
    results.push_back(all[i]);
    grads.push_back(in[count + i]);
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

// libtorch's deterministic algorithms, while it exists.
class DeterministicOn {
 public:
  DeterministicOn() : fills_(context().deterministicFillUninitializedMemory()) {
    context().setDeterministicAlgorithms(true, false);
    context().setDeterministicFillUninitializedMemory(false);
  }
  ~DeterministicOn() {
    context().setDeterministicFillUninitializedMemory(fills_);
    context().setDeterministicAlgorithms(false, false);
  }
  DeterministicOn(const DeterministicOn&) = delete;
  DeterministicOn& operator=(const DeterministicOn&) = delete;

 private:
  static at::Context& context() { return at::globalContext(); }

  bool fills_;
};

// A call that gives the same bits each time. Some operators add in no fixed
// order on CUDA: they run by libtorch's deterministic algorithm there, or on
// the host where it has none. Which way is found by the first run.
class RepeatableCall {
 public:
  using Body = std::function<Tensors(const Tensors& in, at::Device device)>;

  explicit RepeatableCall(Body body) : body_(std::move(body)) {}

  Tensors run(const Tensors& in, at::Device device) {
    if (!device.is_cuda()) return body_(in, device);
    if (way_ == Way::kUnknown) {
      try {
        Tensors results = run_deterministically(in, device);
        way_ = Way::kDeterministic;
        return results;
      } catch (const c10::Error& error) {
        std::string_view text = error.what_without_backtrace();
        way_ = text.find("deterministic implementation") != text.npos
                   ? Way::kOnHost
                   : Way::kAsItIs;
      }
    }
    if (way_ == Way::kDeterministic) return run_deterministically(in, device);
    if (way_ == Way::kAsItIs) return body_(in, device);
    Tensors on_host;
    for (const at::Tensor& t : in) {
      on_host.push_back(t.defined() ? t.cpu() : t);
    }
    return body_(on_host, at::kCPU);
  }

 private:
  enum class Way { kUnknown, kDeterministic, kAsItIs, kOnHost };

  Tensors run_deterministically(const Tensors& in, at::Device device) {
    DeterministicOn guard;
    return body_(in, device);
  }

  Body body_;
  Way way_ = Way::kUnknown;
};

// Many operators refuse zeros; the trial that measures scratch memory runs on
// numbers that suit most.
void prepare_trial(const Call& c, at::Device device) {
  if (!c.workspace->is_trial) return;
  for (const Tensor& t : c.inputs) {
    if (!t || !t.contiguous()) continue;
    bind(t, device).copy_(stand_in({t.dtype, t.shape}));
  }
}

// What the operator computes, or its gradients.
using Compute = Tensors (*)(const Attrs& attrs, const Tensors& in,
                            at::Device device, const ForeignCall& call);

Tensors forward(const Attrs&, const Tensors& in, at::Device device,
                const ForeignCall& call) {
  return call.run(in, device);
}

Kernel foreign_kernel(at::Device device, Compute compute) {
  return [device, compute](const Call& c) {
    prepare_trial(c, device);
    auto call = call_of(c);
    auto repeatable = std::make_shared<RepeatableCall>(
        [compute, call, attrs = c.attrs()](const Tensors& in, at::Device d) {
          return compute(attrs, in, d, *call);
        });
    auto body = [device, call, repeatable](Bound& b) {
      Tensors made;
      call->explain_errors(
          [&] { made = resolved(repeatable->run(b.in, device)); });
      check_results(b, made);
      write_outputs(b.out, std::move(made));
    };
    return aten_kernel(device, body)(c);
  };
}

}  // namespace

void add_aten_foreign(KernelTable& table, at::Device device) {
  table.add("torch_op", foreign_kernel(device, forward));
  table.add("torch_op_backward", foreign_kernel(device, gradients));
}

}  // namespace braid::runtime
