// Trains members, alone or as an array, and compares their results by design
// rule 6.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "braid/models/models.h"
#include "braid/runtime/cpu_backend.h"
#include "braid/train/trainer.h"
#include "train/batches.h"

namespace braid::train {

// Slots of one member by name, as numbers.
using Numbers = std::map<std::string, std::vector<double>>;

struct Member {
  int64_t seed = 0;
  int64_t data_seed = 0;
  std::map<std::string, double> hyper = {};  // "lr", "dropout", ...
};

struct MemberResult {
  std::vector<double> losses;                          // by step
  std::map<std::string, std::vector<std::byte>> bits;  // slots by name
  Numbers slots;
};

inline std::vector<double> numbers_of(const std::vector<std::byte>& bytes,
                                      DType dtype) {
  std::vector<double> values(bytes.size() /
                             static_cast<size_t>(item_bytes(dtype)));
  for (size_t i = 0; i < values.size(); ++i) {
    if (dtype == DType::kFloat32) {
      values[i] = reinterpret_cast<const float*>(bytes.data())[i];
    } else if (dtype == DType::kFloat64) {
      values[i] = reinterpret_cast<const double*>(bytes.data())[i];
    } else {
      values[i] = static_cast<double>(
          reinterpret_cast<const int64_t*>(bytes.data())[i]);
    }
  }
  return values;
}

inline double scale_of(const std::vector<double>& values) {
  double most = 0;
  for (double v : values) most = std::max(most, std::abs(v));
  return most;
}

// The median over tensors of their largest number.
inline double median_scale(const Numbers& all) {
  std::vector<double> scales;
  for (const auto& [name, values] : all) scales.push_back(scale_of(values));
  std::nth_element(scales.begin(), scales.begin() + scales.size() / 2,
                   scales.end());
  return scales[scales.size() / 2];
}

inline double distance(const std::vector<double>& a,
                       const std::vector<double>& b) {
  double most = a.size() == b.size() ? 0 : INFINITY;
  for (size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    double d = std::abs(a[i] - b[i]);
    most = std::isnan(d) ? INFINITY : std::max(most, d);
  }
  return most;
}

// max |a - b| / max(max |b|, 1e-3 of the median scale).
inline double error_of(const Numbers& a, const Numbers& b,
                       const std::string& name) {
  double scale = std::max(scale_of(b.at(name)), 1e-3 * median_scale(b));
  double d = distance(a.at(name), b.at(name));
  return d == 0 ? 0 : d / scale;
}

// What members have in common.
struct SoloJob {
  std::string model;
  DType dtype = DType::kFloat64;
  passes::Optimizer optimizer = {};
  std::vector<std::string> shared_inputs = {};
  int64_t steps = 5;
  // Called when members are initialised, and before each step.
  std::function<void(Trainer&)> prepare = {};
  std::function<void(Trainer&, int64_t step)> before_step = {};
  uint64_t nudge_seed = 0;  // of 8 ulp on inputs and weights; 0: none
};

// Runs jobs on a CPU device of its own each. Borrows both tables.
class Workshop {
 public:
  Workshop(const OpTable& ops, const runtime::KernelTable& kernels)
      : ops_(ops), kernels_(kernels) {}

  // Alone means one model without a member axis.
  MemberResult train_alone(const SoloJob& job, const Member& member) const {
    return train(job, {member}, false)[0];
  }
  std::vector<MemberResult> train_array(
      const SoloJob& job, const std::vector<Member>& members) const {
    return train(job, members, true);
  }

  // Largest change of each tensor when inputs and weights move by 8 ulp.
  std::map<std::string, double> responses(const SoloJob& job,
                                          const Member& member,
                                          const MemberResult& alone) const {
    std::map<std::string, double> most;
    for (uint64_t seed : {1, 2, 3}) {
      SoloJob nudged = job;
      nudged.nudge_seed = seed;
      MemberResult other = train_alone(nudged, member);
      for (const auto& [name, unused] : alone.slots) {
        most[name] =
            std::max(most[name], error_of(other.slots, alone.slots, name));
      }
    }
    return most;
  }

 private:
  std::vector<MemberResult> train(const SoloJob& job,
                                  const std::vector<Member>& members,
                                  bool as_array) const {
    runtime::CpuBackend backend(kernels_, {});
    TrainerOptions options{.optimizer = job.optimizer};
    options.members = as_array ? static_cast<int64_t>(members.size()) : 0;
    if (as_array) options.shared_inputs = job.shared_inputs;
    Trainer trainer(ops_, models::build_model(ops_, job.model, job.dtype),
                    backend, options);
    BatchOptions batches{.data_seeds = {},
                         .as_array = as_array,
                         .shared_inputs = options.shared_inputs,
                         .nudge_seed = job.nudge_seed};
    for (const Member& m : members) batches.data_seeds.push_back(m.data_seed);
    begin(trainer, job, members);
    return run(trainer, job, members.size(), batches);
  }

  static void begin(Trainer& trainer, const SoloJob& job,
                    const std::vector<Member>& members) {
    std::vector<int64_t> seeds;
    for (const Member& m : members) seeds.push_back(m.seed);
    trainer.initialise(seeds);
    for (size_t m = 0; m < members.size(); ++m) {
      for (const auto& [name, value] : members[m].hyper) {
        trainer.set_hyper(static_cast<int64_t>(m), name, value);
      }
    }
    if (job.nudge_seed != 0) nudge_parameters(trainer, job.nudge_seed);
    if (job.prepare) job.prepare(trainer);
  }

  static void nudge_parameters(Trainer& trainer, uint64_t seed) {
    for (size_t i = 0; i < trainer.state().slots().size(); ++i) {
      const Slot& slot = trainer.state().slots()[i];
      if (slot.role != Role::kParameter) continue;
      auto content = trainer.state().read(static_cast<SlotId>(i));
      nudge(content, slot.dtype, mix_bits(seed, i));
      trainer.state().write(static_cast<SlotId>(i), content);
    }
  }

  static std::vector<MemberResult> run(Trainer& trainer, const SoloJob& job,
                                       size_t count,
                                       const BatchOptions& options) {
    Batches batches(trainer.graph(), options);
    std::vector<MemberResult> results(count);
    for (int64_t step = 0; step < job.steps; ++step) {
      if (job.before_step) job.before_step(trainer, step);
      trainer.step([&](int64_t micro, ValueId id) {
        return batches.input(step, micro, id);
      });
      for (size_t m = 0; m < count; ++m) {
        results[m].losses.push_back(trainer.losses()[m]);
      }
    }
    read_slots(trainer, results);
    for (MemberResult& one : results) one.slots["losses"] = one.losses;
    return results;
  }

  static void read_slots(Trainer& trainer, std::vector<MemberResult>& results) {
    for (size_t i = 0; i < trainer.state().slots().size(); ++i) {
      const Slot& slot = trainer.state().slots()[i];
      for (size_t m = 0; m < results.size(); ++m) {
        auto bytes = trainer.state().read_member(static_cast<SlotId>(i),
                                                 static_cast<int64_t>(m));
        results[m].slots[slot.name] = numbers_of(bytes, slot.dtype);
        results[m].bits[slot.name] = std::move(bytes);
      }
    }
  }

  const OpTable& ops_;
  const runtime::KernelTable& kernels_;
};

}  // namespace braid::train
