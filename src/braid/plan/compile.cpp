#include "braid/plan/compile.h"

#include "braid/plan/early_update.h"
#include "braid/plan/emitter.h"
#include "braid/plan/recompute.h"
#include "braid/plan/unroll.h"
#include "braid/plan/update_ahead.h"

namespace braid::plan {

Program compile(const OpTable& ops, const passes::StepGraph& step,
                const Plan& plan, const WorkspaceRule& workspace) {
  if (plan.depth < 0 || plan.depth > 64) {
    fail_usage("[plan] depth {} is outside 0 to 64", plan.depth);
  }
  passes::StepGraph whole = add_recompute(ops, step, plan);
  if (plan.order == Order::kLayers && step.repeats_micro_part()) {
    whole = unroll(ops, whole, stage_groups(ops, step));
  }
  whole = update_ahead(ops, std::move(whole), plan);
  whole = update_early(ops, std::move(whole));
  return Emitter(ops, std::move(whole), plan, workspace).run();
}

}  // namespace braid::plan
