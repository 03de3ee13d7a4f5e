#include "random_graph_check.h"

#include <algorithm>
#include <cstring>

#include "braid/base/error.h"
#include "braid/graph/text.h"
#include "braid/graph/verify.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/runtime/kernels/aten/bind.h"
#include "braid/train/trainer.h"
#include "from_bytes.h"
#include "kernels.h"
#include "op_table.h"
#include "plan/random_plans.h"
#include "random_tensors.h"

namespace braid::parity {
namespace {

struct Disagreement : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <class... Args>
[[noreturn]] void disagree(fmt::format_string<Args...> text, Args&&... args) {
  throw Disagreement(fmt::format(text, std::forward<Args>(args)...));
}

std::vector<const Given*> givens_of(const RandomGraph& graph) {
  std::vector<const Given*> givens;
  for (const auto& item : graph.items) {
    if (const Given* given = std::get_if<Given>(&item)) givens.push_back(given);
  }
  return givens;
}

std::vector<std::string> shared_inputs(const RandomGraph& graph) {
  std::vector<std::string> names;
  for (const Given* given : givens_of(graph)) {
    if (given->shared) names.push_back(given->name);
  }
  return names;
}

train::TrainerOptions without_learning() {
  train::TrainerOptions options{.optimizer = passes::make_optimizer("sgd")};
  options.optimizer.hyper["lr"] = 0;
  return options;
}

// A trainer of the graph, fed with the givens of members.
class Runner {
 public:
  Runner(const RandomGraph& from, Graph graph, train::TrainerOptions options)
      : givens_(givens_of(from)),
        backend_(kernels(), {}),
        trainer_(table(), std::move(graph), backend_, with(from, options)) {
    trainer_.executor().tap_gradients(
        [&](SlotId id, std::span<const std::byte> bytes) {
          const Slot& slot = trainer_.state().slots()[static_cast<size_t>(id)];
          gradients_["grad/" + slot.name] =
              from_bytes(bytes, slot.stored_shape(), slot.dtype);
        });
  }

  // One step of the members' givens: of one, or of all side by side.
  Found run(const std::vector<Tensors>& members) {
    write_slots(members);
    step({members});
    return found();
  }

  // Each set of members is one micro-batch.
  void step(const std::vector<std::vector<Tensors>>& micros) {
    gradients_.clear();
    std::map<std::pair<int64_t, std::string>, at::Tensor> feeds;
    for (size_t micro = 0; micro < micros.size(); ++micro) {
      for (size_t i = 0; i < givens_.size(); ++i) {
        feeds[{static_cast<int64_t>(micro), givens_[i]->name}] =
            joined(micros[micro], i);
      }
    }
    trainer_.step([&](int64_t micro, ValueId id) {
      const std::string& name = trainer_.graph().value(id).name;
      return static_cast<const std::byte*>(
          feeds.at({micro, name}).const_data_ptr());
    });
  }

  void write_slots(const std::vector<Tensors>& members) {
    for (size_t i = 0; i < givens_.size(); ++i) {
      SlotId slot = trainer_.state().find(givens_[i]->name);
      if (slot == kNone) continue;
      at::Tensor all = joined(members, i);
      trainer_.state().write(
          slot,
          {static_cast<const std::byte*>(all.const_data_ptr()), all.nbytes()});
    }
  }

  Found found() {
    Found found = gradients_;
    for (const Output& output : trainer_.graph().outputs()) {
      const ValueType& type = trainer_.graph().value(output.value).type;
      found[output.name] = from_bytes(trainer_.executor().output(output.name),
                                      type.shape, type.dtype);
    }
    for (const Given* given : givens_) {
      SlotId id = trainer_.state().find(given->name);
      if (given->kind != Given::Kind::kBuffer || id == kNone) continue;
      const Slot& slot = trainer_.state().slots()[static_cast<size_t>(id)];
      found["slot/" + given->name] = from_bytes(
          trainer_.state().read(id), slot.stored_shape(), slot.dtype);
    }
    return found;
  }

  // What outlives a step, and the loss.
  std::map<std::string, std::vector<std::byte>> contents() {
    std::map<std::string, std::vector<std::byte>> all;
    for (size_t i = 0; i < trainer_.state().slots().size(); ++i) {
      const Slot& slot = trainer_.state().slots()[i];
      if (slot.role == Role::kGradient) continue;  // of micro-batches
      all[slot.name] = trainer_.state().read(static_cast<SlotId>(i));
    }
    all["loss"] = trainer_.executor().output("loss");
    return all;
  }

  train::Trainer& trainer() { return trainer_; }

 private:
  static train::TrainerOptions with(const RandomGraph& from,
                                    train::TrainerOptions options) {
    if (options.members > 0) options.shared_inputs = shared_inputs(from);
    return options;
  }

  at::Tensor joined(const std::vector<Tensors>& members, size_t i) const {
    if (trainer_.members() == 0 || givens_[i]->shared) {
      return members[0][i].contiguous();
    }
    std::vector<at::Tensor> parts;
    for (const Tensors& one : members) parts.push_back(one[i]);
    return at::stack(parts);
  }

  std::vector<const Given*> givens_;
  runtime::CpuBackend backend_;
  train::Trainer trainer_;
  Found gradients_;
};

double scale_of(const at::Tensor& t) {
  return t.numel() == 0 ? 0 : t.to(at::kDouble).abs().max().item<double>();
}

// Least scale of gradients: a thousandth of the median one. Values and their
// weight in the loss are near 1, so far smaller gradients are rounding.
double least_scale(const Found& found, DType dtype) {
  double rounding = dtype == DType::kFloat64 ? 1e-5 : 3e-2;
  std::vector<double> scales;
  for (const auto& [name, value] : found) {
    if (name.starts_with("grad/")) scales.push_back(scale_of(value));
  }
  std::sort(scales.begin(), scales.end());
  double median = scales.empty() ? 1 : scales[scales.size() / 2];
  return std::max(1e-3 * median, rounding);
}

double error_of(const at::Tensor& a, const at::Tensor& b, double least) {
  if (a.sizes() != b.sizes()) return INFINITY;
  if (b.numel() == 0) return 0;
  at::Tensor x = a.to(at::kDouble), y = b.to(at::kDouble);
  at::Tensor same = x.eq(y).logical_or_(x.isnan().logical_and_(y.isnan()));
  double error = (x - y).abs().masked_fill(same, 0).max().item<double>();
  if (std::isnan(error)) return INFINITY;
  return error / std::max(scale_of(b), least);
}

struct Expected {
  Found found;
  std::map<std::string, double> limits;
  double least = 1e-3;
};

Expected expect(const RandomGraph& graph, int64_t member) {
  Expected e{run_libtorch(graph, given_tensors(graph, member)), {}};
  e.least = least_scale(e.found, graph.dtype);
  double tolerance = graph.dtype == DType::kFloat64 ? 1e-10 : 1e-5;
  for (const auto& [name, value] : e.found) e.limits[name] = tolerance;
  for (uint64_t nudge : {1, 2}) {
    Found moved = run_libtorch(graph, given_tensors(graph, member, nudge));
    for (const auto& [name, value] : e.found) {
      double response = error_of(moved.at(name), value, e.least);
      e.limits[name] = std::max(e.limits[name], 3 * response);
    }
  }
  return e;
}

void compare(const Found& got, const Expected& e, const std::string& what) {
  for (const auto& [name, value] : e.found) {
    at::Tensor mine = got.contains(name) ? got.at(name) : at::Tensor{};
    if (!mine.defined()) {
      if (!name.starts_with("grad/")) disagree("{}: no {}", what, name);
      mine = at::zeros_like(value);  // nothing depends on it
    }
    double error = error_of(mine, value, e.least);
    if (error > e.limits.at(name)) {
      disagree("{}: {} is off by {:.3g}, allowed {:.3g} (scale {:.3g})", what,
               name, error, e.limits.at(name), scale_of(value));
    }
  }
}

void same_bits(const Found& a, const Found& b, const std::string& what) {
  for (const auto& [name, value] : b) {
    const at::Tensor& x = a.at(name);
    if (x.sizes() != value.sizes() ||
        (x.nbytes() > 0 &&
         std::memcmp(x.const_data_ptr(), value.const_data_ptr(), x.nbytes()) !=
             0)) {
      disagree("{}: {} differs in its bits", what, name);
    }
  }
}

// Solo runs of three members against libtorch, then the array of them.
void check_members(const RandomGraph& graph, const Graph& forward) {
  std::vector<Tensors> members;
  std::vector<Expected> expected;
  Runner solo(graph, forward, without_learning());
  Found first;
  std::vector<Found> alone;
  for (int64_t m = 0; m < 3; ++m) {
    members.push_back(given_tensors(graph, m));
    expected.push_back(expect(graph, m));
    alone.push_back(solo.run({members.back()}));
    compare(alone.back(), expected.back(), fmt::format("member {}", m));
  }
  same_bits(solo.run({members[0]}), alone[0], "repeat");
  train::TrainerOptions options = without_learning();
  options.members = 3;
  Runner array(graph, forward, options);
  Found all = array.run(members);
  for (int64_t m = 0; m < 3; ++m) {
    auto at = static_cast<size_t>(m);
    Found mine;
    for (const auto& [name, value] : all) mine[name] = value.select(0, m);
    Expected e = expected[at];
    e.found = alone[at];
    for (const auto& [name, value] : alone[at]) e.limits.emplace(name, 0);
    compare(mine, e, fmt::format("member {} in an array", m));
  }
  Runner read(graph, parse_graph(print_graph(forward), table()),
              without_learning());
  same_bits(read.run({members[0]}), alone[0], "graph from text");
}

void check_text(const Graph& forward) {
  std::string text = print_graph(forward);
  if (print_graph(parse_graph(text, table())) != text) {
    disagree("text: reading and printing changes it");
  }
}

// Two steps of some optimizer under a random plan, bit by bit as without.
void check_plan(const RandomGraph& graph, const Graph& forward, uint64_t seed) {
  plan::Random random(seed);
  train::TrainerOptions options{.optimizer = plan::random_optimizer(random)};
  options.members = plan::below(random, 2) * 2;
  options.micro_batches = 1 + plan::below(random, 2);
  options.fit_to_limit = false;
  options.spill_dir = plan::spill_dir();
  plan::Plan drawn =
      plan::random_plan(random, compile::segment_names(forward).size(), 3);
  std::vector<Tensors> members{given_tensors(graph, 0),
                               given_tensors(graph, 1)};
  std::vector<std::vector<Tensors>> micros{members};
  if (options.micro_batches == 2) {
    micros.push_back({given_tensors(graph, 2), given_tensors(graph, 3)});
  }
  auto run = [&](const plan::Plan& plan) {
    options.plan = plan;
    Runner runner(graph, forward, options);
    runner.trainer().initialise(options.members ? std::vector<int64_t>{1, 2}
                                                : std::vector<int64_t>{1});
    runner.write_slots(members);
    for (int step = 0; step < 2; ++step) runner.step(micros);
    return runner.contents();
  };
  auto planned = run(drawn), expected = run({});
  for (const auto& [name, bytes] : expected) {
    auto found = planned.find(name);
    if (found != planned.end() && found->second == bytes) continue;
    disagree("plan: {} {} micro-batches {} members {} changes bits of '{}'",
             plan::plan_text(drawn), plan::optimizer_text(options.optimizer),
             options.micro_batches, options.members, name);
  }
}

}  // namespace

std::string check_random_graph(const RandomGraph& graph, uint64_t seed) {
  try {
    Graph forward = build_graph(table(), graph);
    verify(forward);
    check_text(forward);
    check_members(graph, forward);
    check_plan(graph, forward, seed);
  } catch (const std::exception& error) {
    std::string text = error.what();  // libtorch's go on with a stack
    return text.substr(0, text.find("\nException raised"));
  }
  return {};
}

}  // namespace braid::parity
