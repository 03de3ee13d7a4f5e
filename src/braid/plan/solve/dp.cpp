// Dynamic programming as H3T plans: segment by segment, times that add up,
// memory in buckets. A state is the row of the last segment, the bytes that are
// held after its forward part and the peak so far, both in 128ths of the limit
// and rounded up; of equal states the fastest counts.
//
// Streams are taken to join after each slot, with the next segment's fetch
// beside it. So neither time nor peak is that of the plan: what is answered is
// the fastest state whose plan fits when it is replayed, else every segment
// with its most savings.
#include <algorithm>

#include "braid/plan/solve/rows.h"
#include "braid/plan/solve/solve.h"

namespace braid::plan {
namespace {

constexpr int64_t kBuckets = 128;
constexpr size_t kReplays = 64;  // of the fastest states

struct State {
  int32_t row = 0;
  int32_t held = 0, peak = 0;  // buckets
  int64_t time = 0;
  int32_t before = -1;  // of the states of the segment before
};

class Buckets {
 public:
  Buckets(const Instance& instance, const Rows& rows, int depth)
      : instance_(instance), rows_(rows), depth_(depth) {}

  // The plans of the last states, fastest first.
  std::vector<std::vector<int32_t>> run() {
    layers_.push_back({});
    for (int32_t row : rows_[0]) {
      State state{.row = row};
      enter(0, state, nullptr);
      add(layers_[0], state);
    }
    prune(layers_[0]);
    for (int i = 1; i < instance_.num_segments(); ++i) {
      std::vector<State> next;
      for (size_t s = 0; s < layers_.back().size(); ++s) {
        for (int32_t row : rows_[size_t(i)]) {
          State state = layers_.back()[s];
          const Mode& before = instance_.mode(i - 1, state.row);
          state.row = row;
          state.before = static_cast<int32_t>(s);
          enter(i, state, &before);
          add(next, state);
        }
      }
      prune(next);
      layers_.push_back(std::move(next));
    }
    return plans();
  }

 private:
  int32_t bucket(int64_t bytes) const {
    auto limit =
        static_cast<__int128>(std::max(instance_.device_bytes, int64_t{1}));
    __int128 whole = (static_cast<__int128>(bytes) * kBuckets + limit - 1);
    return static_cast<int32_t>(std::min(whole / limit, __int128{1} << 30));
  }

  // Segment i, whose row the state has, behind one with the row `before`.
  void enter(int i, State& state, const Mode* before) const {
    const Mode& now = instance_.mode(i, state.row);
    // Beside this segment's slots: the copies in for the one after it forward
    // and for the one before it backward. They are counted with this segment.
    int64_t forward = std::max({now.f + now.gf, now.hf, now.of});
    int64_t backward = std::max({now.b + now.gb + now.rb, now.hb, now.ob});
    state.time += forward + std::max(backward, now.u);
    int64_t beside = before && depth_ > 0 ? before->lf + before->wb : 0;
    int32_t own = bucket(std::max(now.xf + now.wf, now.xb + now.wb) + beside);
    state.held += bucket(now.res + now.keep);
    state.peak = std::max(state.peak + bucket(now.res), state.held + own);
  }

  void add(std::vector<State>& states, const State& state) const {
    if (state.peak <= kBuckets) states.push_back(state);
  }

  // Of states with one row those that another beats in all three numbers go.
  static void prune(std::vector<State>& states) {
    auto key = [](const State& s) {
      return std::tuple(s.row, s.time, s.held, s.peak);
    };
    std::ranges::stable_sort(states, {}, key);
    std::vector<State> kept;
    int32_t row = -1;
    std::array<int32_t, kBuckets + 1> least_peak = {};  // by held bytes
    for (const State& state : states) {
      if (state.row != row) {
        row = state.row;
        least_peak.fill(kBuckets + 1);
      }
      int32_t& least = least_peak[size_t(state.held)];
      if (state.peak >= least) continue;
      for (size_t held = size_t(state.held); held < least_peak.size(); ++held) {
        least_peak[held] = std::min(least_peak[held], state.peak);
      }
      kept.push_back(state);
    }
    states = std::move(kept);
  }

  std::vector<std::vector<int32_t>> plans() {
    std::vector<State> last = layers_.back();
    std::ranges::stable_sort(last, {}, &State::time);
    if (last.size() > kReplays) last.resize(kReplays);
    std::vector<std::vector<int32_t>> made;
    for (const State& end : last) {
      std::vector<int32_t> modes(layers_.size());
      const State* state = &end;
      for (size_t i = layers_.size(); i-- > 0;) {
        modes[i] = state->row;
        if (i > 0) state = &layers_[i - 1][size_t(state->before)];
      }
      made.push_back(std::move(modes));
    }
    return made;
  }

  const Instance& instance_;
  const Rows& rows_;
  int depth_;
  std::vector<std::vector<State>> layers_;
};

}  // namespace

Solution solve_dp(const Instance& instance, const SolveOptions& options) {
  Rows rows = undominated_rows(instance);
  // One segment ahead, as there, or what comes nearest.
  auto depth = std::ranges::min_element(instance.depths, {},
                                        [](int d) { return std::abs(d - 1); });
  Solution best;
  for (const auto& modes : Buckets(instance, rows, *depth).run()) {
    Solution made = solution_of(instance, *depth, modes);
    if (made.feasible && (!best.feasible || made.time_ns() < best.time_ns())) {
      best = std::move(made);
    }
  }
  return best.feasible ? best : solve_all_on(instance, options);
}

}  // namespace braid::plan
