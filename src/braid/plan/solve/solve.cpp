#include "braid/plan/solve/solve.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/plan/solve/least_peak.h"

namespace braid::plan {
namespace {

constexpr Solver kSolvers[] = {
    {"certified", "a fast plan, and what no plan can be faster than",
     solve_certified},
    {"dp", "segment by segment, memory in 128 buckets", solve_dp},
    {"greedy", "down from the fastest plan by the least time per byte",
     solve_greedy},
    {"random", "the fastest of plans drawn at random", solve_random},
    {"all-on", "every segment with its most savings", solve_all_on},
    {"all-off", "every segment without savings", solve_all_off},
};

// Of the fields in kTimeFields: f b hf hb of ob u gf gb rb.
constexpr std::array<Stream, kTimeFields.size()> kStreamOfField = {
    Stream::kCompute,      Stream::kCompute,      Stream::kHostToDevice,
    Stream::kHostToDevice, Stream::kDeviceToHost, Stream::kDeviceToHost,
    Stream::kHostUpdate,   Stream::kComm,         Stream::kComm,
    Stream::kComm};

const Solver& find_solver(const std::string& name) {
  std::vector<std::string> names;
  for (const Solver& solver : kSolvers) {
    if (solver.name == name) return solver;
    names.emplace_back(solver.name);
  }
  fail_usage("[plan] there is no solver '{}'\nHINT: {}", name,
             name_hint(name, names));
}

// Solvers that found nothing say what would do.
void add_least_peak(const Instance& instance, Solution& solution) {
  constexpr int64_t kSteps = 200;
  solution.least_host_bytes = least_host_bytes(instance);
  LeastPeak least =
      find_least_peak(instance, undominated_rows(instance), kSteps);
  if (!least.is_found) {
    solution.proved = true;
    return;
  }
  solution.least_peak_bytes = least.peak_bytes;
  solution.least_peak_bound = least.bound_bytes;
  solution.proved = least.bound_bytes > instance.device_bytes;
}

}  // namespace

double Solution::gap() const {
  if (!feasible || time_ns() == 0) return 0;
  return static_cast<double>(time_ns() - lower_bound_ns) /
         static_cast<double>(time_ns());
}

std::span<const Solver> solvers() { return kSolvers; }

Solution solution_of(const Instance& instance, int depth,
                     std::vector<int32_t> modes) {
  Solution made{.depth = depth, .modes = std::move(modes)};
  made.timeline = replay(instance, depth, made.modes);
  made.feasible = made.timeline.fits(instance);
  if (!made.feasible) return {};
  return made;
}

std::array<double, kNumStreams> stream_shares(const Instance& instance,
                                              std::span<const int32_t> modes,
                                              const Duals& duals) {
  std::array<double, kNumStreams> shares = {};
  double sum = 0;
  auto weights = flow_weights(instance, duals);
  for (size_t i = 0; i < modes.size(); ++i) {
    const Mode& mode = instance.mode(static_cast<int>(i), modes[i]);
    for (size_t k = 0; k < kTimeFields.size(); ++k) {
      double ns =
          weights[i][k] * static_cast<double>(mode.*(kTimeFields[k].at));
      shares[static_cast<size_t>(kStreamOfField[k])] += ns;
      sum += ns;
    }
  }
  for (double& share : shares) share /= sum > 0 ? sum : 1;
  return shares;
}

std::vector<int32_t> fastest_rows(const Instance& instance) {
  auto busiest = [](const Mode& mode) {
    return std::max({mode.f + mode.b, mode.hf + mode.hb, mode.of + mode.ob,
                     mode.u, mode.gf + mode.gb + mode.rb});
  };
  std::vector<int32_t> modes;
  for (const SegmentModes& segment : instance.segments) {
    auto least = std::ranges::min_element(segment.modes, {}, busiest);
    modes.push_back(static_cast<int32_t>(least - segment.modes.begin()));
  }
  return modes;
}

Solution solve(const Instance& instance, const SolveOptions& options) {
  check_instance(instance, "the instance");
  if (options.effort < 0) {
    fail_usage("[plan] expected an effort from 0, got {}", options.effort);
  }
  const Solver& solver = find_solver(options.solver);
  Solution solution = solver.solve(instance, options);
  bool knows_why = solution.least_peak_bytes >= 0 || solution.proved;
  if (!solution.feasible && !knows_why) add_least_peak(instance, solution);
  return solution;
}

}  // namespace braid::plan
