// Waits: how threads wait for each other while they share a loop. On quiet
// cores they spin, which is fastest. Where other processes want the cores
// too, spinning takes time from the very thread that is waited for: then they
// sleep.
#pragma once

#include <memory>
#include <optional>
#include <thread>

#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {

// Whether this thread gets a core when it wants one. A function of what it is
// told alone.
class CoreWatch {
 public:
  // `now_s`: time, which never decreases; `delay_s`: how much of it, since some
  // moment, others had a core that the thread was ready for. True while cores
  // are shared: from the first share of time that is lost, until for some
  // time, longer each time that was too early, hardly anything is.
  bool is_shared(double now_s, double delay_s);

  // Until then it need not be asked again.
  double next_s() const { return next_s_; }

 private:
  void begin(double now_s, double delay_s, double length_s);

  bool shared_ = false;
  bool begun_ = false;
  double begin_s_ = 0, begin_delay_s_ = 0, next_s_ = 0;
  double hold_s_ = 0;  // how long the present hold lasts
  double quiet_since_s_ = 0;
};

// Seconds of cores that another thread has had. Nothing where the system does
// not say.
std::optional<double> core_s(std::thread& thread);

// Seconds for which the calling thread was ready and had no core, since it
// was made. Nothing where the system does not say.
std::optional<double> run_delay_s();

// Not thread-safe.
class Waits {
 public:
  // Whether look() would do something.
  bool is_due() const;
  // Called often from the thread that computes: sees now and then whether
  // others want its cores. `own_s`: seconds of cores that threads which work
  // for this one have had; what it waited for them, no others took, and others
  // took no more than what all of the process left.
  void look(double own_s);

 private:
  // Seconds since some moment: those of the thread without a core but for its
  // own helpers, and those of cores that the process has not used.
  struct Sums {
    double waited_s = 0, left_s = 0;
  };

  Sums before_;
  double taken_s_ = 0;
  CoreWatch watch_;
  std::unique_ptr<ShortWaits> short_;  // while cores are shared
};

}  // namespace braid::runtime
