// Threads of calls: how many they are, and how they wait for each other.
//
// OpenMP's number and MKL's are the calling thread's own; at::set_num_threads
// is not used, because it changes what every new thread of the process begins
// with.
#include <ATen/Parallel.h>
#include <omp.h>

#include <condition_variable>
#include <mutex>
#include <thread>

#include "braid/runtime/kernels/aten/libtorch_flags.h"
#include "braid/runtime/kernels/kernel.h"

// MKL's, where libtorch was linked with it.
extern "C" {
[[gnu::weak]] int MKL_Set_Num_Threads_Local(int threads);
[[gnu::weak]] void MKL_Set_Dynamic(int value);
[[gnu::weak]] int mkl_serv_get_dynamic();
}

namespace braid::runtime {
namespace {

thread_local CallSettings* present = nullptr;

int set_mkl_threads(int threads) {
  return MKL_Set_Num_Threads_Local ? MKL_Set_Num_Threads_Local(threads) : 0;
}

// Whether MKL may take fewer threads than it was given: the order of sums
// would depend on it. This one is the process's, so it is forbidden until
// nobody in any thread minds.
class MklChoice {
 public:
  void forbid() {
    std::lock_guard lock(mutex_);
    if (uses_++ > 0) return;
    before_ = mkl_serv_get_dynamic && MKL_Set_Dynamic && mkl_serv_get_dynamic();
    if (before_) MKL_Set_Dynamic(0);
  }
  void allow() {
    std::lock_guard lock(mutex_);
    if (--uses_ == 0 && before_) MKL_Set_Dynamic(1);
  }

 private:
  std::mutex mutex_;
  int64_t uses_ = 0;
  bool before_ = false;
};

MklChoice& mkl_choice() {
  static auto* const made =
      new MklChoice;  // threads may outlive what is static
  return *made;
}

}  // namespace

int call_threads() { return at::get_num_threads(); }

void set_call_threads(int threads) {
  // The first question of a thread sets the number that libtorch wants.
  if (at::get_num_threads() != threads) omp_set_num_threads(threads);
  if (!present || present->is_mkl_set_) set_mkl_threads(threads);
}

CallSettings::CallSettings() : outer_(present), threads_(call_threads()) {
  present = this;
}

CallSettings::~CallSettings() {
  present = outer_;
  omp_set_num_threads(threads_);
  if (!is_mkl_set_) return;
  set_mkl_threads(mkl_threads_);
  mkl_choice().allow();
}

void CallSettings::before_blas() {
  if (!present || present->is_mkl_set_) return;
  present->is_mkl_set_ = true;
  present->mkl_threads_ = set_mkl_threads(call_threads());
  mkl_choice().forbid();
}

void CallSettings::before_libtorch(bool on_cuda) {
  if (!present || present->flags_) return;
  before_blas();
  present->flags_ = std::make_unique<LibtorchFlags>(on_cuda);
}

// libgomp's threads spin for milliseconds where they wait for each other. When
// another process has their core, they so use up the time that the thread they
// wait for should have. It reads how long to spin when it is loaded, and offers
// no way to change that later, with one exception: as soon as the process has
// more of its threads than there are cores, all of them go to sleep within
// microseconds. So a team of threads is made that does nothing.
struct ShortWaits::Team {
  Team() : leader([this] { lead(); }) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return is_ready; });
  }
  ~Team() {
    {
      std::lock_guard lock(mutex);
      is_over = true;
      changed.notify_all();
    }
    leader.join();
  }
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  // Its threads end with the one that leads them.
  void lead() {
    omp_set_dynamic(0);
    omp_set_num_threads(omp_get_num_procs() + 1);
    int64_t present = 0;
#pragma omp parallel reduction(+ : present)
    present += 1;
    std::unique_lock lock(mutex);
    is_ready = present > 0;
    changed.notify_all();
    changed.wait(lock, [&] { return is_over; });
  }

  std::mutex mutex;
  std::condition_variable changed;
  bool is_ready = false;
  bool is_over = false;
  std::thread leader;
};

ShortWaits::ShortWaits() : team_(std::make_unique<Team>()) {}

ShortWaits::~ShortWaits() = default;

}  // namespace braid::runtime
