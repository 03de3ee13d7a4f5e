#include "braid/passes/step/optimizer.h"

#include <algorithm>

#include "braid/base/text.h"
#include "braid/graph/init.h"
#include "braid/ops/build/functions.h"
#include "braid/ops/core/update_kinds.h"
#include "braid/passes/array/member_values.h"
#include "braid/passes/names.h"
#include "braid/passes/step/loss_scale.h"

namespace braid::passes {
namespace {

// Whether a state is kept: always, or when its flag is set.
bool needs_state(const UpdateKind& kind, const Optimizer& optimizer,
                 const std::string& state) {
  for (const auto& [flag, of_state] : kind.flags) {
    if (of_state == state) return optimizer.has(flag);
  }
  return true;
}

bool is_rate(const std::string& value) {
  return value == "lr" || value.starts_with("lr:");
}

Slot number_slot(std::string name, double value, Role role,
                 SlotUse use = SlotUse::kGeneral) {
  return {.name = std::move(name),
          .dtype = DType::kFloat64,
          .role = role,
          .use = use,
          .init = Init::constant(value)};
}

Slot hyper_number(const Optimizer& optimizer, const std::string& name,
                  double value) {
  return number_slot(scoped(hyper_slot(name), optimizer.scope), value,
                     Role::kHyper);
}

// A rate is set by the user in one slot and read from another, so that its
// base stays what it was.
Slot scheduled_rate(const Optimizer& optimizer, const std::string& name,
                    double value) {
  return number_slot(scoped(schedule_slot(name), optimizer.scope), value,
                     Role::kCounter, SlotUse::kScheduledRate);
}

bool is_scheduled(const Optimizer& optimizer, const std::string& name) {
  return optimizer.scheduled && is_rate(name);
}

// By the names of their slots: those of groups are "NAME:PATTERN".
std::vector<std::pair<std::string, double>> all_values(
    const Optimizer& optimizer) {
  std::vector<std::pair<std::string, double>> values(optimizer.hyper.begin(),
                                                     optimizer.hyper.end());
  for (const ParameterGroup& group : optimizer.groups) {
    for (const auto& [name, value] : group.values) {
      values.emplace_back(name + ":" + group.pattern, value);
    }
  }
  return values;
}

// A pattern that fits nothing is a mistake.
void check_fits(const Graph& graph, const std::string& pattern,
                std::string_view part) {
  std::vector<std::string> known;
  for (const Slot& slot : graph.slots()) {
    if (slot.role != Role::kParameter) continue;
    if (fits_pattern(slot.own_name(), pattern)) return;
    known.push_back(slot.own_name());
  }
  fail_usage("[{}] no parameter fits '{}'\nHINT: the nearest is '{}'", part,
             pattern, nearest_name(pattern, known));
}

// Adds the slots and nodes of one update part.
class UpdateBuilder {
 public:
  UpdateBuilder(StepGraph& step, const Optimizer& optimizer)
      : step_(step),
        graph_(step.graph),
        optimizer_(optimizer),
        kind_(find_kind(optimizer.kind)) {
    for (const Slot& slot : graph_.slots()) {
      members_ = std::max({members_, slot.members, slot.owner() + 1});
    }
  }

  void build() {
    graph_.set_phase(Phase::kUpdate);
    leave_segments();
    for (const ParameterGroup& group : optimizer_.groups) {
      check_fits(graph_, group.pattern, "optimizer");
    }
    for (const auto& [name, value] : all_values(optimizer_)) {
      add_value(name, value);
    }
    if (optimizer_.plateau) add_plateau();
    std::string update_slot = scoped(kUpdateSlot, optimizer_.scope);
    Var updates = counter(update_slot, SlotUse::kUpdateCount);
    SlotId mask = graph_.find_slot(kActiveSlot);
    if (mask != kNone) active_ = read(graph_, mask);
    if (optimizer_.scales_loss) unscale();
    guard();
    // Members that pause keep everything.
    if (active_) keep_ = keep_ ? mul(keep_, active_) : active_;
    for (auto [parameter, gradient] : step_.gradients) {
      graph_.continue_at(graph_.node(graph_.value(gradient).producer));
      graph_.set_phase(Phase::kUpdate);
      update(parameter, {&graph_, gradient}, updates);
    }
    leave_segments();
    for (const Product& p : products_) assign(p.slot, p.next);
    assign(graph_.find_slot(update_slot), apply("advance", {updates, keep_}));
    advance(kStepSlot);
    if (!optimizer_.scope.empty()) advance(scoped(kStepSlot, optimizer_.scope));
  }

 private:
  // What follows belongs to no layer.
  void leave_segments() {
    graph_.set_path("");
    graph_.set_segment(kNone);
  }

  void advance(const std::string& name) {
    Var steps = counter(name, SlotUse::kStep);
    assign(graph_.find_slot(name), apply("advance", {steps, active_}));
  }

  // The slot may be the model's already.
  SlotId add_number(Slot slot) {
    SlotId known = graph_.find_slot(slot.name);
    if (known != kNone) return known;
    slot.members = members_;
    return graph_.add_slot(std::move(slot));
  }

  // A value that updates read.
  void add_value(const std::string& name, double value) {
    SlotId slot = add_number(hyper_number(optimizer_, name, value));
    if (is_scheduled(optimizer_, name)) {
      slot = add_number(scheduled_rate(optimizer_, name, value));
    }
    hyper_[name] = read(graph_, slot);
  }

  void add_plateau() {
    graph_.add_slot({.name = scoped(kPlateauSlot, optimizer_.scope),
                     .dtype = DType::kFloat64,
                     .shape = {kPlateauNumbers},
                     .role = Role::kCounter,
                     .use = SlotUse::kPlateau,
                     .members = members_});
  }

  // The counter, made when the model did not need it before.
  Var counter(const std::string& name, SlotUse use) {
    SlotId id = graph_.find_slot(name);
    if (id == kNone) {
      id = graph_.add_slot({.name = name,
                            .dtype = DType::kInt64,
                            .role = Role::kCounter,
                            .members = members_});
    }
    graph_.slot(id).use = use;
    graph_.slot(id).owners.clear();  // all members count now
    return read(graph_, id);
  }

  SlotId state(const std::string& name, SlotId parameter,
               SlotUse use = SlotUse::kGeneral) {
    const Slot& of = graph_.slot(parameter);
    return graph_.add_slot(
        of.beside(state_slot(name, of.own_name()), Role::kOptimizer, use));
  }

  Attrs member_attrs(SlotId parameter) const {
    Attrs attrs;
    int64_t members = graph_.slot(parameter).members;
    if (members > 0) attrs.set("members", members);
    return attrs;
  }

  // A value of one number per member as a parameter's update reads it: the
  // parameter of one member reads that member's.
  Var for_parameter(Var all, SlotId parameter) {
    return member_values_.of(all, graph_.slot(parameter).owner());
  }

  // Under which name a value holds for a parameter.
  std::string value_name(const std::string& name,
                         const std::string& parameter) const {
    for (const ParameterGroup& group : optimizer_.groups) {
      if (!fits_pattern(parameter, group.pattern)) continue;
      if (!group.values.contains(name)) break;
      return name + ":" + group.pattern;
    }
    return name;
  }
  Var value(const std::string& name, const std::string& parameter) const {
    return hyper_.at(value_name(name, parameter));
  }

  // The product of NAdam's momenta so far; groups with momenta of their own
  // have one of their own.
  Var product(const std::string& parameter, Var updates) {
    std::string beta = value_name("beta1", parameter);
    std::string decay = value_name("momentum_decay", parameter);
    for (const Product& p : products_) {
      if (p.beta == beta && p.decay == decay) return p.before;
    }
    std::string name = scoped("optimizer/mu_product", optimizer_.scope);
    for (const std::string* part : {&beta, &decay}) {
      size_t colon = part->find(':');
      if (colon != part->npos) name += "/" + *part;
    }
    SlotId slot = add_number(number_slot(name, 1, Role::kOptimizer));
    Var before = read(graph_, slot);
    Var next = apply("nadam_product", {before, updates, hyper_.at(beta),
                                       hyper_.at(decay), keep_});
    products_.push_back({beta, decay, slot, before, next});
    return before;
  }

  // What follows sees gradients of the loss itself.
  void unscale() {
    Var scale = loss_scale(graph_, optimizer_.scope);
    for (auto& [parameter, gradient] : step_.gradients) {
      graph_.continue_at(graph_.node(graph_.value(gradient).producer));
      graph_.set_phase(Phase::kUpdate);
      gradient = apply("unscale",
                       {{&graph_, gradient}, for_parameter(scale, parameter)},
                       member_attrs(parameter))
                     .id;
    }
    leave_segments();
  }

  // Clipping and skipping look at all gradients of a member before any
  // parameter changes.
  void guard() {
    if (!optimizer_.clip && !optimizer_.skip_nonfinite) return;
    Var total = sum_squares();
    if (optimizer_.clip) {
      scale_ = apply("clip_scale", {total, hyper_.at("clip_norm")});
    }
    if (!optimizer_.skip_nonfinite) return;
    Var finite = apply("is_finite", {total});
    keep_ = apply("keeps", {finite, hyper_.at("skip_nonfinite")});
    if (optimizer_.scales_loss) {
      advance_loss_scale(graph_, optimizer_.scope, finite, hyper_, active_);
    }
  }

  // Squares of all gradients of a member: those of common parameters, and of
  // its own.
  Var sum_squares() {
    std::map<int64_t, Var> sums;  // by owner
    for (auto [parameter, gradient] : step_.gradients) {
      Var squares =
          apply("sum_squares", {{&graph_, gradient}}, member_attrs(parameter));
      Var& sum = sums[graph_.slot(parameter).owner()];
      sum = sum ? add(sum, squares) : squares;
    }
    return sum_of_members(sums, members_);
  }

  void update(SlotId parameter, Var gradient, Var updates) {
    std::string name = graph_.slot(parameter).own_name();
    auto mine = [&](Var all) { return for_parameter(all, parameter); };
    if (optimizer_.clip_each) {
      gradient =
          apply("clip_value", {gradient, mine(value("clip_value", name))},
                member_attrs(parameter));
    }
    std::vector<Var> inputs{read(graph_, parameter), gradient};
    std::vector<SlotId> written{parameter};
    for (const std::string& state_name : kind_.states) {
      if (!needs_state(kind_, optimizer_, state_name)) {
        inputs.push_back({});
        continue;
      }
      written.push_back(state(state_name, parameter));
      inputs.push_back(read(graph_, written.back()));
    }
    inputs.push_back(mine(updates));
    for (const auto& [of_kind, unused] : kind_.values) {
      inputs.push_back(mine(value(of_kind, name)));
    }
    if (kind_.has_extra) inputs.push_back(mine(product(name, updates)));
    inputs.insert(inputs.end(), {mine(scale_), mine(keep_)});
    auto next = apply_all(kind_.op(), inputs, flag_attrs(parameter));
    for (size_t i = 0; i < written.size(); ++i) assign(written[i], next[i]);
    if (optimizer_.average) average(parameter, next[0], updates);
  }

  Attrs flag_attrs(SlotId parameter) const {
    Attrs attrs = member_attrs(parameter);
    for (const auto& [flag, unused] : kind_.flags) {
      attrs.set(flag, optimizer_.has(flag));
    }
    return attrs;
  }

  void average(SlotId parameter, Var next, Var updates) {
    SlotId slot = state("ema", parameter, SlotUse::kAverage);
    auto mine = [&](Var all) { return for_parameter(all, parameter); };
    assign(slot, apply("ema_update",
                       {read(graph_, slot), next, mine(updates),
                        mine(hyper_.at("ema_decay")), mine(keep_)},
                       member_attrs(parameter)));
  }

  StepGraph& step_;
  Graph& graph_;
  const Optimizer& optimizer_;
  const UpdateKind& kind_;
  int64_t members_ = 0;
  std::map<std::string, Var> hyper_;
  MemberValues member_values_;
  Var scale_, keep_, active_;
  struct Product {
    std::string beta, decay;  // names of the values it is made from
    SlotId slot;
    Var before, next;
  };
  std::vector<Product> products_;
};

}  // namespace

std::vector<Slot> value_slots(const Optimizer& optimizer) {
  std::vector<Slot> slots;
  for (const auto& [name, value] : all_values(optimizer)) {
    slots.push_back(hyper_number(optimizer, name, value));
    if (!is_scheduled(optimizer, name)) continue;
    slots.push_back(scheduled_rate(optimizer, name, value));
  }
  return slots;
}

StepGraph add_optimizer(const OpTable&, StepGraph step,
                        const Optimizer& optimizer) {
  if (step.gradients.empty()) {
    std::string learner =
        optimizer.scope.empty() ? "" : fmt::format(" of '{}'", optimizer.scope);
    fail_usage(
        "[optimizer] the loss depends on no trainable parameter{}\n"
        "HINT: freeze fewer, or let the loss depend on what shall learn",
        learner);
  }
  UpdateBuilder(step, optimizer).build();
  return step;
}

void freeze(Graph& forward, const std::vector<std::string>& patterns) {
  for (const std::string& pattern : patterns) {
    check_fits(forward, pattern, "freeze");
    for (size_t i = 0; i < forward.slots().size(); ++i) {
      Slot& slot = forward.slot(static_cast<SlotId>(i));
      if (slot.role != Role::kParameter) continue;
      if (fits_pattern(slot.own_name(), pattern)) slot.trainable = false;
    }
  }
}

void initialise(Graph& forward, const std::string& pattern, const Init& init) {
  check_fits(forward, pattern, "init");
  for (size_t i = 0; i < forward.slots().size(); ++i) {
    Slot& slot = forward.slot(static_cast<SlotId>(i));
    if (slot.role != Role::kParameter) continue;
    if (!fits_pattern(slot.own_name(), pattern)) continue;
    std::string problem = init_problem(init, slot.shape);
    if (!problem.empty()) fail_usage("[init] '{}': {}", slot.name, problem);
    slot.init = init;
  }
}

}  // namespace braid::passes
