#include "braid/passes/optimizer.h"

#include "braid/base/text.h"
#include "braid/ops/functions.h"
#include "braid/passes/names.h"

namespace braid::passes {
namespace {

// Adds the slots and nodes of one update part.
class UpdateBuilder {
 public:
  UpdateBuilder(StepGraph& step, const Optimizer& optimizer)
      : step_(step), graph_(step.graph), optimizer_(optimizer) {
    for (auto [parameter, gradient] : step.gradients) {
      members_ = graph_.slot(parameter).members;
    }
  }

  void build() {
    graph_.set_phase(Phase::kUpdate);
    leave_segments();
    for (const auto& [name, value] : optimizer_.hyper) {
      hyper_[name] = read(graph_, member_slot(hyper_slot(name), value));
    }
    Var updates = counter(kUpdateSlot);
    guard();
    for (auto [parameter, gradient] : step_.gradients) {
      graph_.continue_at(graph_.node(graph_.value(gradient).producer));
      graph_.set_phase(Phase::kUpdate);
      update(parameter, {&graph_, gradient}, updates);
    }
    leave_segments();
    advance(kUpdateSlot, updates, keep_);
    advance(kStepSlot, counter(kStepSlot), {});
  }

 private:
  SlotId member_slot(std::string name, double value) {
    return graph_.add_slot({.name = std::move(name),
                            .dtype = DType::kFloat64,
                            .shape = {},
                            .role = Role::kHyper,
                            .init = Init::constant(value),
                            .members = members_});
  }

  // What follows belongs to no layer.
  void leave_segments() {
    graph_.set_path("");
    graph_.set_segment(kNone);
  }

  // The counter, made when the model did not need it before.
  Var counter(const char* name) {
    SlotId id = graph_.find_slot(name);
    if (id == kNone) {
      id = graph_.add_slot({.name = name,
                            .dtype = DType::kInt64,
                            .shape = {},
                            .role = Role::kCounter,
                            .members = members_});
    }
    return read(graph_, id);
  }

  SlotId state(const char* kind, SlotId parameter) {
    Slot slot = graph_.slot(parameter);
    slot.name = state_slot(kind, slot.name);
    slot.aliases.clear();
    slot.role = Role::kOptimizer;
    slot.init = Init::constant(0);
    return graph_.add_slot(std::move(slot));
  }

  // Clipping and skipping look at all gradients of a member before any
  // parameter changes.
  void guard() {
    if (!optimizer_.clip && !optimizer_.skip_nonfinite) return;
    Attrs attrs;
    if (members_ > 0) attrs.set("members", members_);
    Var total;
    for (auto [parameter, gradient] : step_.gradients) {
      Var squares = apply("sum_squares", {{&graph_, gradient}}, attrs);
      total = total ? add(total, squares) : squares;
    }
    if (!total) return;
    if (optimizer_.clip) {
      scale_ = apply("clip_scale", {total, hyper_.at("clip_norm")});
    }
    if (optimizer_.skip_nonfinite) keep_ = apply("is_finite", {total});
  }

  void update(SlotId parameter, Var gradient, Var updates) {
    if (optimizer_.kind == "sgd") return sgd(parameter, gradient, updates);
    adamw(parameter, gradient, updates);
  }

  Attrs member_attrs() const {
    Attrs attrs;
    if (members_ > 0) attrs.set("members", members_);
    return attrs;
  }

  void sgd(SlotId parameter, Var gradient, Var updates) {
    Attrs attrs = member_attrs();
    attrs.set("nesterov", optimizer_.nesterov);
    SlotId buffer = kNone;
    if (optimizer_.momentum) buffer = state("momentum_buffer", parameter);
    auto next = apply_all(
        "sgd_update",
        {read(graph_, parameter), gradient,
         buffer == kNone ? Var{} : read(graph_, buffer), updates,
         hyper_.at("lr"), hyper_.at("momentum"), hyper_.at("dampening"),
         hyper_.at("weight_decay"), scale_, keep_},
        attrs);
    assign(parameter, next[0]);
    if (buffer != kNone) assign(buffer, next[1]);
  }

  void adamw(SlotId parameter, Var gradient, Var updates) {
    SlotId first = state("exp_avg", parameter);
    SlotId second = state("exp_avg_sq", parameter);
    auto next =
        apply_all("adamw_update",
                  {read(graph_, parameter), gradient, read(graph_, first),
                   read(graph_, second), updates, hyper_.at("lr"),
                   hyper_.at("beta1"), hyper_.at("beta2"), hyper_.at("eps"),
                   hyper_.at("weight_decay"), scale_, keep_},
                  member_attrs());
    assign(parameter, next[0]);
    assign(first, next[1]);
    assign(second, next[2]);
  }

  void advance(const char* name, Var count, Var keep) {
    assign(graph_.find_slot(name), apply("advance", {count, keep}));
  }

  StepGraph& step_;
  Graph& graph_;
  const Optimizer& optimizer_;
  int64_t members_ = 0;
  std::map<std::string, Var> hyper_;
  Var scale_, keep_;
};

}  // namespace

Optimizer make_optimizer(const std::string& kind) {
  if (kind == "sgd") {
    return {.kind = kind,
            .hyper = {{"lr", 1e-3},
                      {"momentum", 0},
                      {"dampening", 0},
                      {"weight_decay", 0}}};
  }
  if (kind == "adamw") {
    return {.kind = kind,
            .hyper = {{"lr", 1e-3},
                      {"beta1", 0.9},
                      {"beta2", 0.999},
                      {"eps", 1e-8},
                      {"weight_decay", 0.01}}};
  }
  fail_usage("[optimizer] unknown kind '{}'\nHINT: did you mean '{}'?", kind,
             nearest_name(kind, {"sgd", "adamw"}));
}

void set_option(Optimizer& optimizer, const std::string& name, double value) {
  if (name == "clip_norm") {
    optimizer.clip = true;
    optimizer.hyper[name] = value;
  } else if (name == "skip_nonfinite") {
    optimizer.skip_nonfinite = value != 0;
  } else if (name == "nesterov" && optimizer.kind == "sgd") {
    optimizer.nesterov = value != 0;
  } else if (optimizer.hyper.contains(name)) {
    optimizer.hyper[name] = value;
    if (name == "momentum" && value != 0) optimizer.momentum = true;
  } else {
    std::vector<std::string> known{"clip_norm", "skip_nonfinite"};
    if (optimizer.kind == "sgd") known.push_back("nesterov");
    for (const auto& [key, unused] : optimizer.hyper) known.push_back(key);
    fail_usage("[optimizer] {} has no value '{}'\nHINT: did you mean '{}'?",
               optimizer.kind, name, nearest_name(name, known));
  }
}

StepGraph add_optimizer(const OpTable&, StepGraph step,
                        const Optimizer& optimizer) {
  if (step.gradients.empty()) {
    fail_usage("[optimizer] the loss depends on no trainable parameter");
  }
  UpdateBuilder(step, optimizer).build();
  return step;
}

}  // namespace braid::passes
