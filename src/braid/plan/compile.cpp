#include "braid/plan/compile.h"

#include <algorithm>

#include "braid/plan/early_update.h"
#include "braid/plan/emitter.h"
#include "braid/plan/recompute.h"
#include "braid/plan/unroll.h"
#include "braid/plan/update_ahead.h"

namespace braid::plan {
namespace {

// Whether all parameters and updates stay on the device.
bool keeps_updates(const Plan& plan) {
  return std::ranges::all_of(plan.segments, [](const Decision& decision) {
    return decision.parameters == Parameters::kResident &&
           decision.update == Update::kDevice;
  });
}

}  // namespace

Program compile(const OpTable& ops, const passes::StepGraph& step,
                const Plan& plan, const WorkspaceRule& workspace,
                int64_t waiting_bytes) {
  if (plan.depth < 0 || plan.depth > 64) {
    fail_usage("[plan] depth {} is outside 0 to 64", plan.depth);
  }
  passes::StepGraph whole = add_recompute(ops, step, plan);
  if (plan.order == Order::kLayers && step.repeats_micro_part()) {
    whole = unroll(ops, whole, stage_groups(ops, step));
  }
  whole = update_ahead(ops, std::move(whole), plan);
  if (!keeps_updates(plan)) waiting_bytes = 0;
  whole = update_early(ops, std::move(whole), waiting_bytes);
  return Emitter(ops, std::move(whole), plan, workspace).run();
}

}  // namespace braid::plan
