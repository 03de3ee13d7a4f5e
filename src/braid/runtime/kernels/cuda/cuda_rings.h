// Rings of pinned host memory beside the compute stream: inputs run ahead of it
// and results come behind it, so that neither makes the host wait for a step.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <utility>
#include <vector>

#include "braid/runtime/backend.h"
#include "braid/runtime/kernels/cuda/cuda_handles.h"
#include "braid/runtime/kernels/cuda/host_call.h"

namespace braid::runtime {

class PinnedMemory {
 public:
  explicit PinnedMemory(size_t bytes) : bytes_(bytes) {
    void* data = nullptr;
    check_cuda(cudaHostAlloc(&data, bytes + 1, cudaHostAllocDefault),
               "cudaHostAlloc");
    data_ = static_cast<std::byte*>(data);
  }
  ~PinnedMemory() {
    if (data_) cudaFreeHost(data_);
  }
  PinnedMemory(PinnedMemory&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), bytes_(other.bytes_) {}
  PinnedMemory& operator=(PinnedMemory&&) = delete;

  std::byte* data() const { return data_; }
  size_t bytes() const { return bytes_; }

 private:
  std::byte* data_ = nullptr;
  size_t bytes_;
};

// Bytes on their way to the device. They are copied here, and from here when
// the stream comes to it. The memory is used in turns, part by part; one that
// comes up again waits for its last copy. One thread.
class InputRing {
 public:
  // Blocks only while all of the ring is on its way.
  void write(std::byte* device, const std::byte* host, int64_t bytes,
             const CudaStream& stream) {
    for (auto left = static_cast<size_t>(bytes); left > 0;) {
      if (used_ == kPartBytes) turn(stream);
      size_t size = std::min(left, kPartBytes - used_);
      std::byte* from = part() + used_;
      std::memcpy(from, host, size);
      check_cuda(cudaMemcpyAsync(device, from, size, cudaMemcpyHostToDevice,
                                 stream.get()),
                 "cudaMemcpyAsync");
      used_ += size, device += size, host += size, left -= size;
    }
  }

 private:
  static constexpr size_t kPartBytes = 2 << 20;
  static constexpr size_t kParts = 16;

  // Pinned when the ring first comes to it: small models need one part.
  std::byte* part() {
    if (part_ == memory_.size()) memory_.emplace_back(kPartBytes);
    return memory_[part_].data();
  }

  void turn(const CudaStream& stream) {
    copied_[part_].record(stream);
    part_ = (part_ + 1) % kParts;
    used_ = 0;
    copied_[part_].await();  // one that was never recorded has happened
  }

  std::vector<PinnedMemory> memory_;  // by part
  std::array<CudaEvent, kParts> copied_;
  size_t part_ = 0, used_ = 0;
};

class CudaResultRing : public ResultRing {
 public:
  // Borrows all.
  CudaResultRing(int64_t entries, int64_t bytes, const CudaStream& stream,
                 HostErrors& errors)
      : bytes_(static_cast<size_t>(bytes)),
        memory_(static_cast<size_t>(entries) * bytes_),
        come_(static_cast<size_t>(entries)),
        stream_(stream),
        errors_(errors) {}
  ~CudaResultRing() override { cudaStreamSynchronize(stream_.get()); }

  void put(int64_t entry, const std::byte* device) override {
    check_cuda(cudaMemcpyAsync(at(entry), device, bytes_,
                               cudaMemcpyDeviceToHost, stream_.get()),
               "cudaMemcpyAsync");
    come_[static_cast<size_t>(entry)].record(stream_);
  }
  std::span<const std::byte> get(int64_t entry) const override {
    come_[static_cast<size_t>(entry)].await();
    errors_.throw_if_any();
    return {at(entry), bytes_};
  }

 private:
  std::byte* at(int64_t entry) const {
    return memory_.data() + static_cast<size_t>(entry) * bytes_;
  }

  size_t bytes_;
  PinnedMemory memory_;
  std::vector<CudaEvent> come_;  // by entry
  const CudaStream& stream_;
  HostErrors& errors_;
};

}  // namespace braid::runtime
