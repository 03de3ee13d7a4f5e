// Optimizer pass: the update of every parameter becomes part of the graph.
// Every value (learning rate, betas, decay, clip norm) is a slot of one
// number per member.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "braid/ops/core/op.h"
#include "braid/ops/core/update_kinds.h"
#include "braid/passes/step/step_graph.h"

namespace braid::passes {

// Parameters whose names fit a pattern ('*' and '?') have values of their own.
struct ParameterGroup {
  std::string pattern;
  std::map<std::string, double> values;
};

struct Optimizer {
  std::string kind;                     // see ops/core/update_kinds.h
  std::map<std::string, double> hyper;  // name -> value for new members
  // Switches that hold for all members: "nesterov", "amsgrad", "momentum"
  // (a momentum buffer is kept), ...
  std::set<std::string> flags = {};
  std::vector<ParameterGroup> groups = {};  // the first that fits counts
  bool clip = false;            // by global norm per member: "clip_norm"
  bool clip_each = false;       // element by element: "clip_value"
  bool average = false;         // keeps averaged weights: "ema_decay"
  bool skip_nonfinite = false;  // a member with NaN or inf in its gradients
                                // keeps its weights and their update's state,
                                // if its "skip_nonfinite" is not 0
  bool scales_loss = false;     // see loss_scale.h: "loss_scale"
  bool scheduled = false;       // rates come from schedules: "schedule/lr"
  bool plateau = false;         // one of them watches the loss
  std::string scope = {};       // its name where a model has several

  bool has(const std::string& flag) const { return flags.contains(flag); }
};

// The kind of that name (ops/core/update_kinds.h); throws when there is none.
const UpdateKind& find_kind(const std::string& name);

// Known kinds with their default values; throws for others.
Optimizer make_optimizer(const std::string& kind);

// Sets a value by name ("lr", "weight_decay", "clip_norm", "nesterov", ...);
// an unknown name is an error that names the nearest known one.
void set_option(Optimizer& optimizer, const std::string& name, double value);

// "*.bias", {"weight_decay", 0}: values of its own for a group. Those that
// look at all parameters at once (clip_norm, ema_decay) are refused.
void add_group(Optimizer& optimizer, const ParameterGroup& group);

// The slots of one number that hold its values, for one model: "hyper/lr",
// "hyper/lr:*.bias" of a group, and "schedule/lr" where rates are scheduled.
std::vector<Slot> value_slots(const Optimizer& optimizer);

// Appends the update part. Parameters without a gradient stay as they are.
StepGraph add_optimizer(const OpTable& ops, StepGraph step,
                        const Optimizer& optimizer);

// Parameters whose names fit one of the patterns are not trained.
void freeze(Graph& forward, const std::vector<std::string>& patterns);

// Parameters whose names fit the pattern begin so.
void initialise(Graph& forward, const std::string& pattern, const Init& init);

}  // namespace braid::passes
