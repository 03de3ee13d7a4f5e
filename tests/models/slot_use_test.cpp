// Passes say what the slots that they make are for; text tells it from names.
// Both must agree, or a graph would not be the same when it is read again.
#include "braid/graph/slot_use.h"

#include <gtest/gtest.h>

#include <map>

#include "braid/passes/array/member_mask.h"
#include "braid/passes/step/label_smoothing.h"
#include "braid/passes/step/loss_scale.h"
#include "models/zoo_sizes.h"
#include "passes/model_steps.h"

namespace braid {
namespace {

// A step with every slot that passes can add.
Graph full_step(const OpTable& ops, const std::string& model,
                const std::string& scope) {
  passes::Optimizer optimizer = passes::make_optimizer("adamw");
  passes::set_option(optimizer, "ema_decay", 0.9);
  passes::set_loss_scale_option(optimizer, "growth_interval", 3);
  optimizer.scope = scope;
  optimizer.scheduled = optimizer.plateau = true;
  Graph forward = models::build_model(ops, model, DType::kFloat32);
  forward = passes::free_label_smoothing(forward);
  forward = passes::scale_loss(std::move(forward), optimizer);
  forward = passes::mask_members(ops, forward);
  forward = passes::array(ops, forward, {.members = 2});
  return passes::add_optimizer(
             ops,
             passes::accumulate(ops, passes::differentiate(ops, forward), 2),
             optimizer)
      .graph;
}

TEST(SlotUses, AreWhatTheNamesTell) {
  OpTable ops = standard_ops();
  std::map<SlotUse, int> seen;
  std::vector<std::string> models = small_models();
  models.insert(models.end(), zoo_models().begin(), zoo_models().end());
  for (const std::string& model : models) {
    for (const char* scope : {"", "generator"}) {
      Graph step = full_step(ops, model, scope);
      for (const Slot& slot : step.slots()) {
        EXPECT_EQ(slot.use, use_of_name(slot.own_name(), slot.role))
            << slot.name << " of " << model;
        ++seen[slot.use];
      }
    }
  }
  EXPECT_EQ(seen.size(), 12u);  // all uses
}

}  // namespace
}  // namespace braid
