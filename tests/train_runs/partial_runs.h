// Members that differ in some layers, trained together and alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "braid/models/layers.h"
#include "braid/train/job/model_state.h"
#include "kernels.h"
#include "op_table.h"
#include "plan/random_plans.h"
#include "train/solo_runs.h"

namespace braid::train {

// One member: its model, and what may differ between members of any array.
struct PartialMember {
  Graph graph;
  int64_t seed = 0;
  double lr = 1e-3;
  std::string schedule = {};
};

// What members have in common.
struct PartialJob {
  passes::Optimizer optimizer = {};
  int64_t micro_batches = 1;
  int64_t steps = 5;
  plan::Decision decision = {};  // for every segment
  DType precision = DType::kFloat32;
  // Called when members are initialised.
  std::function<void(Trainer&)> prepare = {};
};

class PartialRun {
 public:
  PartialRun(const PartialJob& job, const std::vector<PartialMember>& members,
             bool as_array)
      : job_(job), as_array_(as_array), backend_(kernels(), {}) {
    trainer_ = make(members);
    std::vector<int64_t> seeds;
    for (const PartialMember& m : members) seeds.push_back(m.seed);
    trainer_->initialise(seeds);
    for (size_t k = 0; k < members.size(); ++k) {
      trainer_->set_hyper(static_cast<int64_t>(k), "lr", members[k].lr);
    }
    if (job.prepare) job.prepare(*trainer_);
    train(seeds);
  }

  Trainer& trainer() { return *trainer_; }

  // Everything that the member has, under the names it has alone.
  Numbers slots(int64_t member) const {
    Numbers all;
    const runtime::State& state = trainer_->state();
    for (size_t i = 0; i < state.slots().size(); ++i) {
      const Slot& slot = state.slots()[i];
      if (!slot.belongs_to(member)) continue;
      auto bytes = state.read_member(static_cast<SlotId>(i), member);
      all[slot.of_member(member).name] = numbers_of(bytes, slot.dtype);
    }
    for (const auto& losses : losses_) {
      all["losses"].push_back(losses[static_cast<size_t>(member)]);
    }
    return all;
  }

 private:
  std::unique_ptr<Trainer> make(const std::vector<PartialMember>& members) {
    TrainerOptions options{.optimizer = job_.optimizer};
    options.micro_batches = job_.micro_batches;
    options.precision = job_.precision;
    std::vector<Graph> graphs;
    for (const PartialMember& m : members) {
      graphs.push_back(m.graph);
      if (m.schedule.empty()) continue;
      options.schedules.push_back(passes::parse_schedule(m.schedule));
    }
    if (as_array_) options.members = static_cast<int64_t>(graphs.size());
    Graph whole = as_array_ ? passes::array_of(table(), graphs, {}) : graphs[0];
    size_t segments = compile::segment_names(whole).size();
    options.plan = plan::uniform(segments, job_.decision, 1);
    options.spill_dir = plan::spill_dir();
    return as_array_
               ? std::make_unique<Trainer>(table(), graphs, backend_, options)
               : std::make_unique<Trainer>(table(), graphs[0], backend_,
                                           options);
  }

  void train(const std::vector<int64_t>& data_seeds) {
    Batches batches(trainer_->graph(),
                    {.data_seeds = data_seeds, .as_array = as_array_});
    for (int64_t step = 0; step < job_.steps; ++step) {
      trainer_->step([&](int64_t micro, ValueId id) {
        return batches.input(step, micro, id);
      });
      losses_.push_back(trainer_->losses());
    }
  }

  const PartialJob& job_;
  bool as_array_;
  runtime::CpuBackend backend_;
  std::unique_ptr<Trainer> trainer_;
  std::vector<std::vector<double>> losses_;  // [step][member]
};

// N 4 samples of 5 numbers, 3 classes or more; f64 unless said otherwise.
struct MlpSizes {
  std::vector<int64_t> widths = {7, 6};
  int64_t classes = 3;
  std::string activation = "relu";  // or "tanh", of the last layer
  double dropout = 0.3;
  DType dtype = DType::kFloat64;
};

inline Graph mlp(const MlpSizes& sizes) {
  Graph graph(table());
  Var x = input(graph, "x", {sizes.dtype, {4, 5}});
  Var y = input(graph, "y", {DType::kInt64, {4}});
  for (size_t i = 0; i < sizes.widths.size(); ++i) {
    x = models::linear(x, sizes.widths[i], fmt::format("layers.{}", i));
    bool other = sizes.activation == "tanh" && i + 1 == sizes.widths.size();
    x = other ? tanh(x) : relu(x);
    x = models::dropout(x, sizes.dropout, fmt::format("drop.{}", i));
  }
  x = models::linear(x, sizes.classes, "head");
  graph.add_output("loss", cross_entropy(x, y).id);
  return graph;
}

// N 3 pictures of 8 x 8; an extra block has a norm and dropout of its own.
inline Graph conv_net(bool extra) {
  Graph graph(table());
  Var x = input(graph, "x", {DType::kFloat64, {3, 1, 8, 8}});
  Var y = input(graph, "y", {DType::kInt64, {3}});
  models::ConvOptions same{.conv = {.padding = {1}}};
  Pool half{.kernel = {2, 2}, .stride = {2, 2}};
  x = models::batch_norm(models::conv2d(x, 4, 3, "conv1", same), "bn1");
  x = max_pool2d(relu(x), half);
  if (extra) {
    x = models::batch_norm(models::conv2d(x, 4, 3, "extra", same), "extra_bn");
    x = models::dropout(relu(x), 0.2, "extra_drop");
  }
  x = max_pool2d(relu(models::conv2d(x, 6, 3, "conv2", same)), half);
  x = models::dropout(relu(models::linear(flatten(x), 9, "fc1")), 0.4, "drop");
  x = models::linear(x, 3, "fc2");
  graph.add_output("loss", cross_entropy(x, y).id);
  return graph;
}

}  // namespace braid::train
