#include "braid/plan/solve/instance.h"

#include <algorithm>
#include <set>

#include "braid/base/error.h"
#include "braid/base/printable.h"
#include "braid/plan/named_plan.h"

namespace braid::plan {
namespace {

// Sums that stop at one more than may be.
int64_t plus(int64_t a, int64_t b) {
  return std::min(a + std::min(b, kMostTotal + 1), kMostTotal + 1);
}

template <class Fields>
int64_t sum_of(const Mode& mode, const Fields& fields) {
  int64_t sum = 0;
  for (const ModeField& field : fields) sum = plus(sum, mode.*(field.at));
  return sum;
}

class Checker {
 public:
  Checker(const Instance& instance, const std::string& file)
      : instance_(instance), file_(printable(file)) {}

  void run() const {
    check_not_negative("device_bytes", instance_.device_bytes);
    check_not_negative("host_bytes", instance_.host_bytes);
    check_depths();
    if (instance_.segments.empty()) fail("segments", "at least one segment");
    for (size_t i = 0; i < instance_.segments.size(); ++i) check_segment(i);
    for (size_t i = 0; i < instance_.edges.size(); ++i) check_edge(i);
    check_sums();
  }

 private:
  [[noreturn]] void fail(const std::string& place,
                         const std::string& expected) const {
    fail_usage("[plan] {}: {}: expected {}", file_, place, expected);
  }

  void check_not_negative(const std::string& place, int64_t number) const {
    if (number >= 0) return;
    fail(place, fmt::format("a whole number from 0, got {}", number));
  }

  void check_depths() const {
    const auto& depths = instance_.depths;
    if (depths.empty()) fail("depths", "at least one depth");
    for (size_t i = 0; i < depths.size(); ++i) {
      std::string place = fmt::format("depths[{}]", i);
      if (depths[i] < 0 || depths[i] > kMostDepth) {
        fail(place, fmt::format("0 to {}, got {}", kMostDepth, depths[i]));
      }
      if (i > 0 && depths[i] <= depths[i - 1]) {
        fail(place, fmt::format("more than the {} before it, got {}",
                                depths[i - 1], depths[i]));
      }
    }
  }

  void check_segment(size_t i) const {
    std::string place = fmt::format("segments[{}].modes", i);
    const auto& modes = instance_.segments[i].modes;
    if (modes.empty()) fail(place, "at least one mode");
    for (size_t m = 0; m < modes.size(); ++m) {
      check_mode(fmt::format("{}[{}]", place, m), modes[m]);
    }
  }

  void check_mode(const std::string& place, const Mode& mode) const {
    auto check = [&](const ModeField& field) {
      check_not_negative(fmt::format("{}.{}", place, field.name),
                         mode.*(field.at));
    };
    std::ranges::for_each(kTimeFields, check);
    std::ranges::for_each(kByteFields, check);
    check(kHostField);
    check_sum(place, "times", sum_of(mode, kTimeFields));
    check_sum(place, "bytes", sum_of(mode, kByteFields));
    // Between two slots what the first leaves behind lies where its own bytes
    // were; else the peak would not hold there.
    if (mode.lf > mode.xf + mode.wf) {
      fail(place + ".lf", fmt::format("at most xf + wf = {}, got {}",
                                      mode.xf + mode.wf, mode.lf));
    }
    int64_t backward = mode.xb + mode.wb + mode.keep;
    if (mode.lb > mode.xb + mode.wb) {
      fail(place + ".lb", fmt::format("at most xb + wb = {}, got {}",
                                      mode.xb + mode.wb, mode.lb));
    }
    if (mode.lb + mode.grad > backward) {
      fail(place + ".grad", fmt::format("at most xb + wb + keep - lb = {}, "
                                        "got {}",
                                        backward - mode.lb, mode.grad));
    }
  }

  void check_edge(size_t i) const {
    const Edge& edge = instance_.edges[i];
    std::string place = fmt::format("edges[{}]", i);
    check_not_negative(place + ".bytes", edge.bytes);
    int n = instance_.num_segments();
    if (edge.from < 0 || edge.from >= n) {
      fail(place + ".from",
           fmt::format("a segment from 0 to {}, got {}", n - 1, edge.from));
    }
    if (edge.to <= edge.from || edge.to >= n) {
      fail(place + ".to", fmt::format("a segment after {}, to {}, got {}",
                                      edge.from, n - 1, edge.to));
    }
  }

  void check_sum(const std::string& place, const char* what,
                 int64_t sum) const {
    if (sum <= kMostTotal) return;
    fail(place, fmt::format("{} that sum up to at most {}", what, kMostTotal));
  }

  void check_sums() const {
    int64_t times = 0, bytes = 0, host = 0;
    for (const SegmentModes& segment : instance_.segments) {
      int64_t most_time = 0, most_bytes = 0, most_host = 0;
      for (const Mode& mode : segment.modes) {
        most_time = std::max(most_time, sum_of(mode, kTimeFields));
        most_bytes = std::max(most_bytes, sum_of(mode, kByteFields));
        most_host = std::max(most_host, mode.host);
      }
      times = plus(times, most_time);
      bytes = plus(bytes, most_bytes);
      host = plus(host, most_host);
    }
    for (const Edge& edge : instance_.edges) bytes = plus(bytes, edge.bytes);
    check_sum("segments", "times", times);
    check_sum("segments", "bytes", bytes);
    check_sum("segments", "host bytes", host);
  }

  const Instance& instance_;
  std::string file_;
};

}  // namespace

void check_instance(const Instance& instance, const std::string& file) {
  Checker(instance, file).run();
}

}  // namespace braid::plan
