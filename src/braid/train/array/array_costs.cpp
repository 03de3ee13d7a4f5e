#include "braid/train/array/array_costs.h"

#include <algorithm>
#include <map>
#include <memory>

#include "braid/plan/simulator.h"
#include "braid/runtime/executables.h"
#include "braid/train/array/array_specs.h"
#include "braid/train/job/job_plan.h"

namespace braid::train {
namespace {

class Estimator {
 public:
  Estimator(const Job& job, runtime::Backend& backend)
      : job_(job),
        ops_(job.machine().ops()),
        target_(runtime::target_of(ops_, backend, job.threads())),
        limit_(std::min(target_.limit_bytes, target_.device.bytes)) {
    target_.limit_bytes = kNoLimit;  // sizes that do not fit have bytes too
  }

  int64_t limit_bytes() const { return limit_; }
  double step_s(const ArraySize& size) { return at(size).step_s; }

  int64_t bytes(const ArraySize& size) {
    Estimate& estimate = at(size);
    if (!estimate.is_exact && estimate.bytes <= limit_) {
      estimate.bytes = compile(specs_of(size), target_).peak_bytes;
      estimate.is_exact = true;
    }
    return estimate.bytes;
  }

 private:
  struct Estimate {
    double step_s = 0;
    int64_t bytes = 0;
    bool is_exact = false;  // else without scratch
  };

  Estimate& at(const ArraySize& size) {
    auto found = known_.find(size);
    if (found != known_.end()) return found->second;
    compile::Target without_scratch = target_;
    without_scratch.workspace = {};
    ArraySpecs specs = specs_of(size);
    compile::ProgramSet set = compile(specs, without_scratch);
    Estimate made{seconds(specs, set), set.peak_bytes};
    return known_.emplace(size, made).first->second;
  }

  ArraySpecs specs_of(const ArraySize& size) const {
    return array_specs({&job_}, {.capacity = size.members,
                                 .shares_batches = size.shared_data});
  }

  // The plan that the job gives; else everything is kept on the device.
  compile::ProgramSet compile(const ArraySpecs& specs,
                              const compile::Target& target) const {
    compile::PlanRequest request = plan_request(job_.config().plan);
    request.fit_to_limit = false;
    return compile::compile_programs(ops_, specs.all, target, request);
  }

  // Of one full step: all phases, as often as they run.
  double seconds(const ArraySpecs& specs,
                 const compile::ProgramSet& set) const {
    plan::Durations durations = plan::durations_at(ops_, target_.device.rates);
    double sum = 0;
    for (size_t i = 0; i < job_.model().phases().size(); ++i) {
      size_t at = specs.steps.at({i, job_.batch_rows()});
      sum += plan::simulate(set.programs[at], durations).time_s /
             static_cast<double>(job_.model().phases()[i].every);
    }
    return sum;
  }

  const Job& job_;
  const OpTable& ops_;
  compile::Target target_;
  int64_t limit_;
  std::map<ArraySize, Estimate> known_;
};

}  // namespace

ArrayCosts array_costs(const Job& job, runtime::Backend& backend) {
  auto estimator = std::make_shared<Estimator>(job, backend);
  return {
      .step_s = [=](const ArraySize& size) { return estimator->step_s(size); },
      .bytes = [=](const ArraySize& size) { return estimator->bytes(size); },
      .limit_bytes = estimator->limit_bytes()};
}

}  // namespace braid::train
