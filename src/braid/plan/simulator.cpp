#include "braid/plan/simulator.h"

#include <algorithm>
#include <array>
#include <map>

namespace braid::plan {
namespace {

// Clocks of all streams and the time each event completes.
class Replay {
 public:
  Replay(const Program& program, const Durations& durations,
         const Sharing& sharing)
      : program_(program),
        durations_(durations),
        sharing_(sharing),
        done_(static_cast<size_t>(program.num_events), 0) {}

  Prediction run() {
    auto size = static_cast<int32_t>(program_.instructions.size());
    if (program_.is_one_part()) {
      play(0, size);
    } else {
      for (int64_t m = 0; m < program_.num_passes(); ++m) {
        play(0, program_.update_begin);
      }
      play(program_.update_begin, size);
    }
    double end = *std::ranges::max_element(clock_);
    auto at = [&](Stream s) { return busy_[static_cast<size_t>(s)]; };
    double transfer =
        sharing_.bus ? at(Stream::kHostToDevice) + at(Stream::kDeviceToHost)
                     : 0;
    for (Stream s : {Stream::kHostToDevice, Stream::kDeviceToHost,
                     Stream::kHostUpdate, Stream::kComm, Stream::kDisk}) {
      transfer = std::max(transfer, at(s));
    }
    return {end,
            at(Stream::kCompute),
            transfer,
            program_.peak_bytes(),
            most_alive_ + program_.device_slot_bytes(),
            program_.host_bytes(),
            program_.disk_bytes()};
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

  // Every stream goes through its instructions in order; one of another stream
  // than compute also begins after all that compute was given before it.
  void step(const Instruction& i) {
    double seconds = i.opcode == Opcode::kWait ? 0 : durations_(program_, i);
    double issued = now(Stream::kCompute);
    double start = std::max(now(i.stream), issued);
    for (int32_t event : i.waits) start = std::max(start, done(event));
    bool is_copy = i.opcode == Opcode::kCopy;
    if (is_copy && sharing_.bus) {
      start = std::max(start, bus_);
      bus_ = start + seconds;
    }
    now(i.stream) = start + seconds;
    if (i.event != kNone) done(i.event) = start + seconds;
    if (i.stream == Stream::kHostUpdate && sharing_.cores) lose(seconds);
    if (is_copy) lose(seconds * sharing_.to_copies);
    busy_[static_cast<size_t>(i.stream)] += seconds;
    if (i.stream == Stream::kCompute && i.call != kNone) {
      use_call(i.call, start, start + seconds);
    }
    if (!i.moves_bytes()) return;
    use(i.source, issued, start + seconds);
    use(i.target, issued, start + seconds);
  }

  // Computing goes on later, as its cores do something else.
  void lose(double seconds) {
    now(Stream::kCompute) += seconds;
    busy_[static_cast<size_t>(Stream::kCompute)] += seconds;
  }

  double& now(Stream stream) { return clock_[static_cast<size_t>(stream)]; }
  double& done(int32_t event) { return done_[static_cast<size_t>(event)]; }

  void use_call(int32_t call, double start, double end) {
    const PlannedCall& c = program_.calls[static_cast<size_t>(call)];
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
  Sharing sharing_;
  std::vector<double> done_;
  std::vector<double> alive_from_, alive_to_;
  int64_t most_alive_ = 0;
  std::array<double, kNumStreams> clock_ = {};
  std::array<double, kNumStreams> busy_ = {};
  double bus_ = 0;
};

}  // namespace

Prediction simulate(const Program& program, const Durations& durations,
                    const Sharing& sharing) {
  return Replay(program, durations, sharing).run();
}

}  // namespace braid::plan
