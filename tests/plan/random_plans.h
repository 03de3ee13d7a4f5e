// Random plans, scratch and durations for tests.
#pragma once

#include <cmath>
#include <filesystem>
#include <random>

#include "braid/base/rng.h"
#include "braid/ops/core/update_kinds.h"
#include "braid/passes/step/optimizer.h"
#include "braid/plan/compile.h"
#include "braid/plan/plan.h"
#include "braid/plan/simulator.h"

namespace braid::plan {

using Random = std::mt19937_64;

inline int below(Random& random, int limit) {
  return std::uniform_int_distribution<int>(0, limit - 1)(random);
}

// A decision for each segment, an order, and a depth of 0 to `most_depth`.
inline Plan random_plan(Random& random, size_t num_segments, int most_depth) {
  Plan plan = keep_all(num_segments);
  plan.depth = below(random, most_depth + 1);
  plan.order = kOrders[below(random, 2)];
  for (Decision& d : plan.segments) {
    d.activations = static_cast<Activations>(below(random, 3));
    d.parameters = static_cast<Parameters>(below(random, 3));
    d.update = static_cast<Update>(below(random, 4));
  }
  return plan;
}

// Where such plans may have their file: in main memory where there is a disk
// of it.
inline std::filesystem::path spill_dir() {
  std::filesystem::path fast = "/dev/shm";
  return std::filesystem::is_directory(fast)
             ? fast
             : std::filesystem::temp_directory_path();
}

// Any kind of optimizer, with or without what looks at all gradients, and
// with or without averaged weights.
inline passes::Optimizer random_optimizer(Random& random) {
  const auto& kinds = update_kinds();
  passes::Optimizer made = passes::make_optimizer(
      kinds[static_cast<size_t>(below(random, static_cast<int>(kinds.size())))]
          .name);
  if (made.hyper.contains("momentum") && below(random, 2)) {
    passes::set_option(made, "momentum", 0.9);
  }
  for (const char* name :
       {"clip_norm", "clip_value", "ema_decay", "skip_nonfinite"}) {
    if (below(random, 4) == 0) passes::set_option(made, name, 0.5);
  }
  return made;
}

inline std::string optimizer_text(const passes::Optimizer& optimizer) {
  std::string text = optimizer.kind;
  for (const auto& [name, value] : optimizer.hyper) {
    text += fmt::format(" {}={}", name, value);
  }
  return text + (optimizer.skip_nonfinite ? " skip_nonfinite" : "");
}

inline std::string plan_text(const Plan& plan) {
  std::string text =
      fmt::format("depth {}, {}", plan.depth, order_name(plan.order));
  for (const Decision& d : plan.segments) text += " " + decision_text(d);
  return text;
}

// Scratch of some nodes: up to about 500 bytes, by op and layer.
inline int64_t made_up_workspace(const Graph&, const Node& node, bool on_host) {
  uint64_t hash = stable_hash(node.op->name + node.path) + (on_host ? 1 : 0);
  return hash % 3 == 0 ? static_cast<int64_t>(hash / 3 % 500) : 0;
}

// A factor between `low` and `high`, evenly by magnitude.
inline double random_factor(Random& random, double low, double high) {
  std::uniform_real_distribution<double> log(std::log(low), std::log(high));
  return std::exp(log(random));
}

// The same durations, each call of each instruction scaled at random.
inline Durations scaled(const Durations& durations, Random& random, double low,
                        double high) {
  return [&, low, high](const Program& program, const Instruction& i) {
    return durations(program, i) * random_factor(random, low, high);
  };
}

}  // namespace braid::plan
