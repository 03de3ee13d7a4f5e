// A step played event by event: streams with queues of tasks, and memory that
// is taken and given back as tasks start and end. Written from the words of the
// model alone, to check replay() against.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>

#include "braid/plan/solve/instance.h"
#include "braid/plan/solve/replay.h"

namespace braid::plan {

struct Played {
  int64_t time = 0;
  int64_t most_alive = 0;  // bytes
};

class EventSimulator {
 public:
  // `naive`: fetches are issued when a slot has computed, not at the gate.
  EventSimulator(const Instance& instance, int depth,
                 const std::vector<int32_t>& modes, bool naive = false)
      : instance_(instance),
        depth_(depth),
        n_(instance.num_segments()),
        slots_(instance.num_slots()),
        modes_(modes),
        naive_(naive),
        queues_(kNumStreams) {}

  // `scaled` changes the duration of each task.
  Played play(const std::function<int64_t(int64_t)>& scaled) {
    build();
    for (Task& task : tasks_) task.duration = scaled(task.duration);
    for (int i = 0; i < n_; ++i) alive_ += mode(i).res;
    played_.most_alive = alive_;
    size_t done = 0;
    while (done < tasks_.size()) {
      start_what_can();
      Task* next = nullptr;  // that ends first
      for (Task& task : tasks_) {
        if (!task.running) continue;
        if (!next || task.end < next->end) next = &task;
      }
      if (!next) return {-1, -1};  // nothing can go on
      now_ = next->end;
      next->running = false;
      next->done = true;
      queues_[size_t(next->stream)].pop_front();
      take(next->taken_at_end);
      ++done;
    }
    played_.time = now_;
    return played_;
  }

 private:
  struct Task {
    Stream stream = Stream::kCompute;
    int64_t duration = 0;
    std::vector<int> waits = {};
    int64_t taken_at_start = 0, taken_at_end = 0;  // bytes; below 0: given back
    bool running = false, done = false;
    int64_t end = 0;
  };

  const Mode& mode(int segment) const {
    return instance_.mode(segment, modes_[size_t(segment)]);
  }
  int segment(int slot) const { return slot < n_ ? slot : slots_ - 1 - slot; }

  int add(Stream stream, int64_t duration, std::vector<int> waits) {
    std::erase(waits, -1);
    auto id = static_cast<int>(tasks_.size());
    tasks_.push_back({stream, duration, std::move(waits)});
    queues_[size_t(stream)].push_back(id);
    return id;
  }
  Task& task(int id) { return tasks_[size_t(id)]; }
  static int id_at(const std::vector<int>& ids, int at) {
    return at < 0 ? -1 : ids[size_t(at)];
  }

  void build() {
    auto size = size_t(slots_);
    gate_.assign(size, -1);
    fetch_ = gather_ = run_ = evict_ = gate_;
    for (int p = 0; p < slots_; ++p) {
      gate_[size_t(p)] =
          add(Stream::kCompute, 0, {id_at(evict_, p - depth_ - 1)});
      for (int q = p == 0 ? 0 : p + depth_; q <= p + depth_; ++q) {
        if (q < slots_) issue(q, p);
      }
      if (depth_ > 0 && p > n_) leave(p - 1, gate_[size_t(p)]);
      run(p);
      if (depth_ == 0 || p < n_ || p == slots_ - 1) leave(p, run_[size_t(p)]);
    }
    for (const Edge& e : instance_.edges) {
      hold(e.from, e.to, e.bytes);
      hold(slots_ - 1 - e.to, slots_ - 1 - e.from, e.bytes);
    }
    // A fetch may read what is evicted after it was issued.
    for (int q = n_; q < slots_; ++q) {
      const Mode& m = mode(segment(q));
      if (m.dep && m.of > 0 && m.hb > 0) {
        task(fetch_[size_t(q)]).waits.push_back(evict_[size_t(segment(q))]);
      }
    }
  }

  // From the start of the run of one slot to the end of that of another.
  void hold(int first, int last, int64_t bytes) {
    task(run_[size_t(first)]).taken_at_start += bytes;
    task(run_[size_t(last)]).taken_at_end -= bytes;
  }

  void issue(int q, int p) {
    const Mode& m = mode(segment(q));
    int64_t copy = q < n_ ? m.hf : m.hb, gather = q < n_ ? m.gf : m.gb;
    int opens = gate_[size_t(p)];
    if (naive_) opens = q - depth_ - 1 < 0 ? -1 : run_[size_t(q - depth_ - 1)];
    if (copy > 0) fetch_[size_t(q)] = add(Stream::kHostToDevice, copy, {opens});
    if (gather > 0) {
      gather_[size_t(q)] =
          add(Stream::kComm, gather, {opens, fetch_[size_t(q)]});
    }
    int64_t bytes = q < n_ ? m.wf : m.wb;
    if (opens == -1) {
      alive_ += bytes;
    } else {
      task(opens).taken_at_end += bytes;
    }
  }

  void run(int p) {
    const Mode& m = mode(segment(p));
    bool forward = p < n_;
    int id = add(Stream::kCompute, forward ? m.f : m.b,
                 {fetch_[size_t(p)], gather_[size_t(p)]});
    run_[size_t(p)] = id;
    int64_t inside = forward ? m.xf : m.xb;
    task(id).taken_at_start += inside + (forward ? m.keep : 0);
    task(id).taken_at_end += (forward ? m.lf : m.lb) - inside -
                             (forward ? m.wf : m.wb) +
                             (forward ? 0 : m.grad - m.keep);
  }

  void leave(int p, int now) {
    const Mode& m = mode(segment(p));
    bool forward = p < n_;
    int scatter = -1;
    if (!forward && m.rb > 0) scatter = add(Stream::kComm, m.rb, {now});
    int id = add(Stream::kDeviceToHost, forward ? m.of : m.ob,
                 {run_[size_t(p)], scatter});
    evict_[size_t(p)] = id;
    task(id).taken_at_end -= forward ? m.lf : m.lb;
    if (!forward && m.u > 0) add(Stream::kHostUpdate, m.u, {id});
  }

  bool can_start(int id) {
    const Task& t = task(id);
    return !t.running && !t.done &&
           std::ranges::all_of(t.waits, [&](int w) { return task(w).done; });
  }

  void start_what_can() {
    for (auto& queue : queues_) {
      if (queue.empty() || !can_start(queue.front())) continue;
      Task& t = task(queue.front());
      t.running = true;
      t.end = now_ + t.duration;
      take(t.taken_at_start);
    }
  }

  void take(int64_t bytes) {
    alive_ += bytes;
    played_.most_alive = std::max(played_.most_alive, alive_);
  }

  const Instance& instance_;
  int depth_, n_, slots_;
  const std::vector<int32_t>& modes_;
  bool naive_;
  std::vector<Task> tasks_;
  std::vector<std::deque<int>> queues_;
  std::vector<int> gate_, fetch_, gather_, run_, evict_;
  int64_t now_ = 0, alive_ = 0;
  Played played_;
};

}  // namespace braid::plan
