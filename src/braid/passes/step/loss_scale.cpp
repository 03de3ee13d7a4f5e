#include "braid/passes/step/loss_scale.h"

#include <algorithm>
#include <array>

#include "braid/ops/build/functions.h"
#include "braid/passes/names.h"

namespace braid::passes {
namespace {

// With a growth_interval of 0 the scale stays as it is.
constexpr std::array<std::pair<const char*, double>, 4> kValues = {
    {{"loss_scale", kUsualLossScale},
     {"growth_factor", 2},
     {"backoff_factor", 0.5},
     {"growth_interval", 0}}};

SlotId number_slot(Graph& graph, std::string name, Role role, SlotUse use,
                   double value, int64_t members) {
  return graph.add_slot({.name = std::move(name),
                         .dtype = DType::kFloat64,
                         .role = role,
                         .use = use,
                         .init = Init::constant(value),
                         .members = members});
}

Output& loss_of(Graph& graph) {
  return *std::ranges::find(graph.outputs(), "loss", &Output::name);
}

}  // namespace

bool is_loss_scale_option(const std::string& name) {
  return std::ranges::any_of(kValues,
                             [&](const auto& v) { return v.first == name; });
}

void set_loss_scale_option(Optimizer& optimizer, const std::string& name,
                           double value) {
  for (const auto& [known, usual] : kValues) {
    optimizer.hyper.emplace(known, usual);
  }
  optimizer.hyper.at(name) = value;
  optimizer.scales_loss = true;
  set_option(optimizer, "skip_nonfinite", 1);
}

void allow_loss_scale(Optimizer& optimizer) {
  if (optimizer.scales_loss) return;
  double skips = optimizer.skip_nonfinite;
  set_loss_scale_option(optimizer, "loss_scale", 1);
  optimizer.hyper.at("skip_nonfinite") = skips;
}

Graph scale_loss(Graph forward, const Optimizer& optimizer) {
  Output& output = loss_of(forward);
  forward.continue_at(forward.node(forward.value(output.value).producer));
  number_slot(forward, scoped(hyper_slot("loss_scale"), optimizer.scope),
              Role::kHyper, SlotUse::kGeneral, optimizer.hyper.at("loss_scale"),
              0);
  number_slot(forward, scoped(kLossFactorSlot, optimizer.scope), Role::kCounter,
              SlotUse::kLossScale, 1, 0);
  Var loss{&forward, output.value};
  Var scale = reshape(loss_scale(forward, optimizer.scope), loss.shape());
  loss_of(forward).value = apply("scale_gradient", {loss, scale}).id;
  return forward;
}

Var loss_scale(Graph& graph, const std::string& scope) {
  SlotId base = graph.find_slot(scoped(hyper_slot("loss_scale"), scope));
  SlotId factor = graph.find_slot(scoped(kLossFactorSlot, scope));
  return mul(read(graph, base), read(graph, factor));
}

void advance_loss_scale(Graph& graph, const std::string& scope, Var finite,
                        const std::map<std::string, Var>& hyper, Var active) {
  SlotId factor = graph.find_slot(scoped(kLossFactorSlot, scope));
  SlotId growth =
      number_slot(graph, scoped(kLossGrowthSlot, scope), Role::kCounter,
                  SlotUse::kLossScaleGrowth, 0, graph.slot(factor).members);
  Var before = read(graph, factor), since = read(graph, growth);
  auto next = apply_all("loss_scale_update",
                        {before, since, finite, hyper.at("growth_factor"),
                         hyper.at("backoff_factor"),
                         hyper.at("growth_interval"), hyper.at("loss_scale")});
  if (active) {
    Var steps = ne_scalar(active, Number(0.0));
    next = {where(steps, next[0], before), where(steps, next[1], since)};
  }
  assign(factor, next[0]);
  assign(growth, next[1]);
}

}  // namespace braid::passes
