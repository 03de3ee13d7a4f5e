// The built-in models at small sizes, and their whole steps, for tests.
#pragma once

#include <string>
#include <vector>

#include "braid/models/models.h"
#include "braid/passes/array/array.h"
#include "braid/passes/rewrite/layout.h"
#include "braid/passes/rewrite/segments.h"
#include "braid/passes/step/accumulate.h"
#include "braid/passes/step/optimizer.h"

namespace braid {

// Small, of odd sizes, with dropout where the model has it.
inline const std::vector<std::string>& small_models() {
  static const std::vector<std::string> models = {
      "mlp(batch=4,features=5,hidden=7,layers=3,classes=3,dropout=0.3)",
      "lenet(batch=2,side=12,classes=3,dropout=0.4)",
      "resblock(batch=3,channels=4,side=6,blocks=2,classes=3)",
      "transformer(batch=2,length=5,vocab=7,width=8,heads=2,layers=2,"
      "dropout=0.2)"};
  return models;
}

// "mlp" of "mlp(batch=4)".
inline std::string model_name(const std::string& model) {
  return model.substr(0, model.find('('));
}

struct StepOptions {
  int64_t members = 0;
  std::vector<std::string> shared_inputs = {};
  int64_t micro_batches = 1;
  passes::Optimizer optimizer = passes::make_optimizer("adamw");
  DType dtype = DType::kFloat32;
};

// The forward graph with its segments marked and, with members, as an array.
inline Graph small_forward(const OpTable& ops, const std::string& model,
                           const StepOptions& options) {
  Graph forward = models::build_model(ops, model, options.dtype);
  passes::mark_segments(forward);
  if (options.members == 0) return forward;
  return passes::array(
      ops, forward,
      {.members = options.members, .shared_inputs = options.shared_inputs});
}

inline passes::StepGraph small_step(const OpTable& ops,
                                    const std::string& model,
                                    const StepOptions& options = {}) {
  passes::StepGraph step = passes::accumulate(
      ops, passes::differentiate(ops, small_forward(ops, model, options)),
      options.micro_batches);
  step = passes::add_optimizer(ops, std::move(step), options.optimizer);
  return passes::layout(ops, step);
}

// Number of segments that a plan for this model decides about.
inline size_t num_segments(const OpTable& ops, const std::string& model) {
  Graph forward = models::build_model(ops, model, DType::kFloat32);
  return passes::mark_segments(forward).size();
}

}  // namespace braid
