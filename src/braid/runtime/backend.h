// Backend: one device and its ways of computing and copying. The Executor
// drives it; a CPU machine can hold several (virtual devices), each with its
// own byte account.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <utility>

#include "braid/plan/device.h"
#include "braid/plan/program.h"
#include "braid/runtime/account.h"
#include "braid/runtime/kernels/kernel.h"

namespace braid::runtime {

// Numbered events that tie the streams together in the passes of one program.
// Each device has its own kind.
class EventSet {
 public:
  virtual ~EventSet() = default;
};

// What an instruction of another stream than compute completes and waits for.
struct Issue {
  EventSet& events;
  int32_t event = kNone;  // kNone: nothing asks for it
  std::span<const int32_t> waits = {};
};

// Small results that follow the compute stream to the host, in a ring of
// entries. One thread.
class ResultRing {
 public:
  virtual ~ResultRing() = default;
  // Copies to an entry in the order of the compute stream; does not wait.
  virtual void put(int64_t entry, const std::byte* device) = 0;
  // What was put there last; blocks until it has come.
  virtual std::span<const std::byte> get(int64_t entry) const = 0;
};

class Backend {
 public:
  virtual ~Backend() = default;

  const plan::DeviceInfo& info() const { return info_; }
  std::string name() const { return device_text(info_.id); }
  Account& account() { return account_; }
  Account& host_account() { return host_account_; }

  // Memory of the device and host memory that it can copy from and to. The
  // caller charges the accounts.
  virtual std::byte* allocate(int64_t bytes) = 0;
  virtual void release(std::byte* data) = 0;
  virtual std::byte* allocate_host(int64_t bytes) = 0;
  virtual void release_host(std::byte* data) = 0;

  // Copies in the order of the compute stream. A write leaves the host's bytes
  // free to change when it returns; a read blocks until it has happened.
  virtual void write(std::byte* device, const std::byte* host,
                     int64_t bytes) = 0;
  virtual void read(std::byte* host, const std::byte* device,
                    int64_t bytes) = 0;
  virtual std::unique_ptr<ResultRing> make_ring(int64_t entries,
                                                int64_t bytes) = 0;
  // How many steps should be under way before the host looks at the results of
  // the first.
  virtual int64_t lag() const { return 0; }

  virtual Thunk prepare(const Call& call) = 0;
  // The same for calls of one op that do not depend on each other, as one;
  // null where the device has nothing better than each alone.
  virtual Thunk prepare_group(std::span<const Call>) { return {}; }
  // For operands in host memory.
  virtual Thunk prepare_host(const Call& call) = 0;
  // Scratch bytes that the call's kernel takes, or that for operands in host
  // memory, measured by running it on memory of its own.
  virtual int64_t measure_workspace(const Graph& graph, const Node& node,
                                    int threads, bool on_host) = 0;
  // From now on that is the measure of calls with this plan::call_signature().
  virtual void set_workspace(const std::string& signature, int64_t bytes,
                             bool on_host) = 0;

  // Everything that was computed so far is done; copies may be under way.
  virtual void finish_calls() {}

  // Called before each call, with how many threads of the host share it.
  virtual void before_call(int /*threads*/) {}

  // Programs that share a device compute in turns: from begin to end this one
  // does, but for where it waits, and where it lets others go first.
  virtual void begin_compute() {}
  virtual void offer_compute() {}
  virtual void end_compute() {}

  // Streams. Each program has events of its own, so that several may have
  // passes under way at once; a pass begins with all of its events open. Errors
  // of other threads are thrown by the next wait of that pass.
  virtual std::unique_ptr<EventSet> make_events(int32_t count) = 0;
  virtual void begin_pass(EventSet& events) = 0;
  // Between host and device, on the stream of that direction.
  virtual void copy(plan::Stream stream, std::byte* to, const std::byte* from,
                    int64_t bytes, const Issue& issue) = 0;
  virtual void host_run(const Thunk& run, const Issue& issue) = 0;
  // Reads or writes a file, one after the other in the order of these calls.
  virtual void disk_run(const Thunk& run, const Issue& issue) = 0;
  // The compute stream waits.
  virtual void wait(EventSet& events, int32_t event) = 0;
  // Everything issued so far has happened.
  virtual void synchronize() = 0;

  // Records what `body` issues and returns a function that issues it again
  // at once; null when the device has no such thing.
  virtual Thunk capture(const Thunk& body) = 0;

 protected:
  Backend(plan::DeviceInfo info, int64_t limit_bytes)
      : info_(std::move(info)),
        account_(device_text(info_.id), limit_bytes),
        host_account_("host") {}

 private:
  plan::DeviceInfo info_;
  Account account_;
  Account host_account_;
};

// Charged memory of a backend; released on destruction.
class Memory {
 public:
  enum class Where { kDevice, kHost };
  Memory() = default;
  Memory(Backend& backend, Where where, int64_t bytes, const std::string& what);
  ~Memory();
  Memory(Memory&& other) noexcept { *this = std::move(other); }
  Memory& operator=(Memory&& other) noexcept;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }

 private:
  Account& account() const;
  Backend* backend_ = nullptr;
  Where where_ = Where::kDevice;
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0;
};

}  // namespace braid::runtime
