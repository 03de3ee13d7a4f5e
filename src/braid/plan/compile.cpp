#include "braid/plan/compile.h"

#include "braid/plan/early_update.h"
#include "braid/plan/emitter.h"
#include "braid/plan/recompute.h"

namespace braid::plan {

Program compile(const OpTable& ops, const passes::StepGraph& step,
                const Plan& plan, const WorkspaceRule& workspace) {
  if (plan.depth < 0 || plan.depth > 64) {
    fail_usage("[plan] depth {} is outside 0 to 64", plan.depth);
  }
  passes::StepGraph whole = update_early(ops, add_recompute(ops, step, plan));
  return Emitter(ops, std::move(whole), plan, workspace).run();
}

}  // namespace braid::plan
