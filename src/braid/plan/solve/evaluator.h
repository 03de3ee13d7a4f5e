// Evaluator: time, peak and host bytes of plans that differ in few segments,
// fast and without allocation. The same numbers as replay().
//
// A change is tried, looked at, and then kept or taken back; times are computed
// from the first slot that changed, bytes where they changed.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "braid/plan/solve/clocks.h"

namespace braid::plan {

class Evaluator {
 public:
  // Borrows the instance. Begins with row 0 of every segment.
  Evaluator(const Instance& instance, int depth);

  void assign(std::span<const int32_t> modes);
  void set(int segment, int32_t mode);  // tries a row
  void keep();                          // what was tried stays
  void undo();                          // back to what was kept

  // Of the plan with what was tried.
  const std::vector<int32_t>& modes() const { return modes_; }
  int32_t mode(int segment) const {
    return modes_[static_cast<size_t>(segment)];
  }
  int64_t time();
  int64_t peak() const;
  int64_t host() const { return host_; }
  bool fits() const {
    return host_ <= instance_.host_bytes && peak() <= instance_.device_bytes;
  }
  int64_t bytes_in(int slot) const {
    return everywhere_ + bytes_[static_cast<size_t>(slot)];
  }

  int depth() const { return depth_; }
  const Instance& instance() const { return instance_; }

 private:
  struct Change {
    int segment;
    int32_t before;
  };
  // Clocks of one slot.
  struct Clock {
    int64_t gate = 0, fetch = 0, compute = 0, evict = 0, update = 0;
  };
  // Work of one slot.
  struct Work {
    int64_t compute = 0, fetch = 0, evict = 0, update = 0;
    bool reads_evicted = false;
  };

  void put(int segment, int32_t mode);
  void change_bytes(int segment, const Mode& from, const Mode& to);
  void add_range(int first, int last, int64_t bytes);
  void set_work(int segment, const Mode& mode);
  int64_t evicted(int slot) const;
  int64_t run_clocks();

  const Instance& instance_;
  int depth_, n_, slots_;
  std::optional<Clocks> clocks_;  // for collectives, which need all slots
  std::vector<int32_t> modes_;
  int64_t everywhere_ = 0;      // bytes in all slots
  std::vector<int64_t> bytes_;  // beside those
  int64_t host_ = 0;
  std::vector<Work> work_;
  // Rows begin with slots before the first one, whose clocks are 0.
  std::vector<Clock> kept_, tried_;
  std::vector<Change> changes_;
  int first_changed_ = 0;   // slot
  int64_t kept_time_ = -1;  // -1: not known
  int64_t tried_time_ = -1;
};

}  // namespace braid::plan
