#include "braid/plan/simulator.h"

#include <algorithm>
#include <map>

namespace braid::plan {
namespace {

// Clocks of the four streams and the time each event completes.
class Replay {
 public:
  Replay(const Program& program, const Durations& durations)
      : program_(program),
        durations_(durations),
        done_(static_cast<size_t>(program.num_events), 0) {}

  Prediction run() {
    auto size = static_cast<int32_t>(program_.instructions.size());
    if (program_.micro_batches == 1) {
      play(0, size);
    } else {
      for (int64_t m = 0; m < program_.micro_batches; ++m) {
        play(0, program_.update_begin);
      }
      play(program_.update_begin, size);
    }
    double end = std::max({compute_, h2d_, d2h_, host_});
    return {end, busy_, program_.peak_bytes(),
            most_alive_ + program_.device_slot_bytes(), program_.host_bytes()};
  }

 private:
  void play(int32_t begin, int32_t end) {
    alive_from_.assign(program_.allocations.size(), -1);
    alive_to_.assign(program_.allocations.size(), -1);
    for (int32_t i = begin; i < end; ++i) {
      step(program_.instructions[static_cast<size_t>(i)]);
    }
    most_alive_ = std::max(most_alive_, live_peak());
  }

  void step(const Instruction& i) {
    double seconds = i.kind == Kind::kWait ? 0 : durations_(program_, i);
    switch (i.kind) {
      case Kind::kRun: {
        double start = compute_;
        compute_ += seconds;
        busy_ += seconds;
        use_call(i.call, start, compute_);
        break;
      }
      case Kind::kWait: compute_ = std::max(compute_, done(i.event)); break;
      case Kind::kFetch: copy(i, h2d_, seconds); break;
      case Kind::kEvict: copy(i, d2h_, seconds); break;
      case Kind::kHostRun:
        host_ = std::max({host_, compute_, after(i)}) + seconds;
        done(i.event) = host_;
        break;
    }
  }

  // A copy begins when it is issued, its stream is free and what it needs is
  // done.
  void copy(const Instruction& i, double& stream, double seconds) {
    double issued = compute_;
    stream = std::max({stream, issued, after(i)}) + seconds;
    done(i.event) = stream;
    use(i.source, issued, stream);
    use(i.target, issued, stream);
  }

  double& done(int32_t event) { return done_[static_cast<size_t>(event)]; }
  double after(const Instruction& i) {
    return i.after == kNone ? 0 : done(i.after);
  }

  void use_call(int32_t call, double start, double end) {
    const Call& c = program_.calls[static_cast<size_t>(call)];
    for (int32_t id : c.inputs) use(id, start, end);
    for (int32_t id : c.outputs) use(id, start, end);
    use(c.workspace, start, end);
  }

  void use(int32_t id, double start, double end) {
    if (id == kNone) return;
    auto at = static_cast<size_t>(id);
    if (alive_from_[at] < 0) alive_from_[at] = start;
    alive_to_[at] = std::max(alive_to_[at], end);
  }

  // Bytes in use over real time: from first touch to last, whatever the plan
  // reserves in between.
  int64_t live_peak() const {
    std::multimap<double, int64_t> changes;
    for (size_t i = 0; i < program_.allocations.size(); ++i) {
      const Allocation& a = program_.allocations[i];
      if (a.space != Space::kArena || alive_from_[i] < 0) continue;
      changes.emplace(alive_from_[i], a.bytes);
      changes.emplace(alive_to_[i], -a.bytes);
    }
    int64_t alive = 0, most = 0;
    for (auto at = changes.begin(); at != changes.end();) {
      double now = at->first;
      int64_t grown = 0;
      for (; at != changes.end() && at->first == now; ++at) {
        grown += at->second;
      }
      alive += grown;
      most = std::max(most, alive);
    }
    return most;
  }

  const Program& program_;
  const Durations& durations_;
  std::vector<double> done_;
  std::vector<double> alive_from_, alive_to_;
  int64_t most_alive_ = 0;
  double compute_ = 0, h2d_ = 0, d2h_ = 0, host_ = 0, busy_ = 0;
};

}  // namespace

Prediction simulate(const Program& program, const Durations& durations) {
  return Replay(program, durations).run();
}

Durations durations_at(const OpTable& ops, const Rates& rates) {
  return [&ops, rates](const Program& program, const Instruction& i) {
    if (i.kind == Kind::kFetch || i.kind == Kind::kEvict) {
      const Allocation& a = program.allocations[static_cast<size_t>(i.source)];
      return static_cast<double>(a.bytes) / rates.link_bytes_per_s;
    }
    const Call& call = program.calls[static_cast<size_t>(i.call)];
    Cost cost = ops.cost(program.graph, program.graph.node(call.node));
    return rates.call_s + std::max(cost.flops / rates.flops_per_s,
                                   cost.bytes / rates.bytes_per_s);
  };
}

}  // namespace braid::plan
