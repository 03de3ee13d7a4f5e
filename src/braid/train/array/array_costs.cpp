#include "braid/train/array/array_costs.h"

#include <algorithm>
#include <map>
#include <memory>

#include "braid/base/bytes.h"
#include "braid/passes/names.h"

namespace braid::train {
namespace {

bool is_cpu(const Job& job) { return job.device().starts_with("cpu"); }

// Other programs, and copies of batches that wait, need some of it too.
int64_t machine_room() { return machine_bytes() / 4 * 3; }

class Estimator {
 public:
  Estimator(const Job& job, runtime::Backend& backend, const plan::Rates& rates)
      : job_(job),
        ops_(job.machine().ops()),
        backend_(backend),
        sources_(job.sources()),
        rates_(rates),
        limit_(backend.account().room_bytes()) {
    if (is_cpu(job)) limit_ = std::min(limit_, machine_room());
  }

  int64_t limit_bytes() const { return limit_; }
  double step_s(const ArraySize& size) { return at(size).step_s; }

  int64_t bytes(const ArraySize& size) {
    Estimate& estimate = at(size);
    if (!estimate.is_exact && estimate.bytes <= limit_) {
      auto scratch =
          runtime::measured_workspace(ops_, backend_, job_.threads());
      estimate.bytes = peak_bytes(compile(size, scratch));
      estimate.is_exact = true;
    }
    return estimate.bytes;
  }

 private:
  struct Estimate {
    double step_s = 0;
    int64_t bytes = 0;
    bool is_exact = false;  // else without scratch
  };

  Estimate& at(const ArraySize& size) {
    auto found = known_.find(size);
    if (found != known_.end()) return found->second;
    std::vector<plan::Program> programs = compile(size, {});
    Estimate made{seconds(programs), peak_bytes(programs)};
    return known_.emplace(size, made).first->second;
  }

  std::vector<plan::Program> compile(const ArraySize& size,
                                     const plan::WorkspaceRule& scratch) const {
    std::vector<plan::Program> programs;
    for (ProgramSource source : sources_) {
      if (source.learns()) source.scheduled = true;  // as arrays have it
      size_t segments = segment_names(source.forward).size();
      passes::StepGraph step = build_step(ops_, source, options(size, source));
      programs.push_back(
          plan::compile(ops_, step, plan::keep_all(segments), scratch));
    }
    return programs;
  }

  ProgramOptions options(const ArraySize& size,
                         const ProgramSource& source) const {
    ProgramOptions options = job_.program_options();
    options.members = size.members;
    options.masked = true;
    bool shares = size.shared_data || !source.learns();
    if (shares) options.shared_inputs = inputs_of(source.forward);
    return options;
  }

  // Noise is drawn from each member's seed.
  std::vector<std::string> inputs_of(const Graph& forward) const {
    std::vector<std::string> names, noise = job_.model().noise_names();
    for (ValueId id : forward.inputs()) {
      const std::string& name = forward.value(id).name;
      bool is_data = name != passes::kMicroInput &&
                     std::ranges::find(noise, name) == noise.end();
      if (is_data) names.push_back(name);
    }
    return names;
  }

  // Of one full step: all phases, as often as they run.
  double seconds(const std::vector<plan::Program>& programs) const {
    plan::Durations durations = plan::durations_at(ops_, rates_);
    double sum = 0;
    for (size_t i = 0; i < job_.places().full.size(); ++i) {
      const plan::Program& program = programs[job_.places().full[i]];
      sum += plan::simulate(program, durations).time_s /
             static_cast<double>(job_.model().phases()[i].every);
    }
    return sum;
  }

  // Programs share slots by name and take turns in one arena.
  static int64_t peak_bytes(const std::vector<plan::Program>& programs) {
    std::map<std::string, int64_t> slots;
    int64_t arena = 0, sum = 0;
    for (const plan::Program& program : programs) {
      arena = std::max(arena, program.arena_bytes);
      for (const Slot& slot : program.graph.slots()) {
        slots[slot.name] = plan::slot_bytes(slot);
      }
    }
    for (const auto& [name, bytes] : slots) sum += bytes;
    return arena + sum;
  }

  const Job& job_;
  const OpTable& ops_;
  runtime::Backend& backend_;
  std::vector<ProgramSource> sources_;
  plan::Rates rates_;
  int64_t limit_;
  std::map<ArraySize, Estimate> known_;
};

}  // namespace

plan::Rates rates_of(const Job& job) {
  if (!is_cpu(job)) {
    return {.flops_per_s = 2e13,
            .bytes_per_s = 1e12,
            .link_bytes_per_s = 2e10,
            .call_s = 4e-6};
  }
  return cpu_rates(job.threads());
}

plan::Rates cpu_rates(int threads) {
  return {.flops_per_s = 2e10 * threads,
          .bytes_per_s = 1e10,
          .link_bytes_per_s = 5e9,
          .call_s = 1e-6};
}

ArrayCosts array_costs(const Job& job, runtime::Backend& backend,
                       const plan::Rates& rates) {
  auto estimator = std::make_shared<Estimator>(job, backend, rates);
  return {
      .step_s = [=](const ArraySize& size) { return estimator->step_s(size); },
      .bytes = [=](const ArraySize& size) { return estimator->bytes(size); },
      .limit_bytes = estimator->limit_bytes()};
}

}  // namespace braid::train
