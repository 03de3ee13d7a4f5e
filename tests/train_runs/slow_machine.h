// A machine whose copies take as long as a test wants, and which remembers what
// its devices held.
#pragma once

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <vector>

#include "braid/runtime/cpu_backend.h"
#include "small_job.h"

namespace braid::train {

class SlowMachine : public runtime::Machine {
 public:
  using BeforeCopy = std::function<void(DeviceId device, int64_t bytes)>;

  explicit SlowMachine(BeforeCopy before_copy = {})
      : before_copy_(std::move(before_copy)) {}

  const OpTable& ops() const override { return machine().ops(); }
  const ForeignOps& foreign() const override { return machine().foreign(); }
  std::vector<plan::DeviceInfo> devices() const override {
    return machine().devices();
  }
  std::unique_ptr<runtime::Backend> open(
      DeviceId device, const runtime::Budget& budget) const override {
    runtime::CpuOptions options{.limit_bytes = budget.bytes,
                                .index = device.index,
                                .cores = std::max(budget.cores, 1),
                                .seat = budget.seat};
    if (before_copy_) {
      options.before_copy = [this, device](int64_t bytes) {
        before_copy_(device, bytes);
      };
    }
    return std::make_unique<Watched>(*this, kernels_, options);
  }

  // The most bytes that all backends of a device held at once.
  int64_t most_bytes(int device) const {
    std::lock_guard lock(mutex_);
    return device < std::ssize(most_) ? most_[static_cast<size_t>(device)] : 0;
  }
  int64_t num_opened() const {
    std::lock_guard lock(mutex_);
    return opened_;
  }

 private:
  // Adds its account's peak to what the others of its device have: each gets
  // all that it ever takes at its beginning.
  class Watched : public runtime::CpuBackend {
   public:
    Watched(const SlowMachine& machine, const runtime::KernelTable& kernels,
            const runtime::CpuOptions& options)
        : CpuBackend(kernels, options), machine_(machine) {
      std::lock_guard lock(machine_.mutex_);
      ++machine_.opened_;
    }
    ~Watched() override { machine_.note(*this, 0); }
    std::byte* allocate(int64_t bytes) override {
      machine_.note(*this, account().used_bytes());
      return CpuBackend::allocate(bytes);
    }

   private:
    const SlowMachine& machine_;
  };

  void note(const Watched& backend, int64_t bytes) const {
    std::lock_guard lock(mutex_);
    auto at = static_cast<size_t>(backend.info().id.index);
    present_.resize(std::max(present_.size(), at + 1));
    most_.resize(present_.size());
    present_[at][&backend] = bytes;
    int64_t sum = 0;
    for (const auto& [unused, used] : present_[at]) sum += used;
    most_[at] = std::max(most_[at], sum);
  }

  BeforeCopy before_copy_;
  runtime::KernelTable kernels_ = runtime::cpu_kernels();
  mutable std::mutex mutex_;
  mutable std::vector<std::map<const Watched*, int64_t>> present_;
  mutable std::vector<int64_t> most_;
  mutable int64_t opened_ = 0;
};

}  // namespace braid::train
