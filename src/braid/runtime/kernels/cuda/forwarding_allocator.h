// A CUDA allocator that hands everything on to another one, to be put in
// front of libtorch's at any time, in use or not. Those who derive from it
// divert what they want.
//
// Versions of libtorch differ in some functions: these are written without
// `override` and hand on where the present version has them.
#pragma once

#include <c10/cuda/CUDACachingAllocator.h>

namespace braid::runtime {

class ForwardingAllocator
    : public c10::cuda::CUDACachingAllocator::CUDAAllocator {
 protected:
  using CUDAAllocator = c10::cuda::CUDACachingAllocator::CUDAAllocator;
  using AllocatorState = c10::cuda::CUDACachingAllocator::AllocatorState;
  using SnapshotInfo = c10::cuda::CUDACachingAllocator::SnapshotInfo;
  using Device = c10::DeviceIndex;
  using Pool = c10::MempoolId_t;

 public:
  // Where everything goes. Set before this one is put in front.
  void set_behind(CUDAAllocator& behind) { behind_ = &behind; }
  CUDAAllocator& behind() const { return *behind_; }

  // c10::Allocator
  c10::DataPtr allocate(size_t bytes) override {
    return behind().allocate(bytes);
  }
  c10::DeleterFnPtr raw_deleter() const override {
    return behind().raw_deleter();
  }
  bool is_simple_data_ptr(const c10::DataPtr& data) const override {
    return behind().is_simple_data_ptr(data);
  }
  void copy_data(void* to, const void* from, size_t count) const override {
    behind().copy_data(to, from, count);
  }

  // c10::DeviceAllocator
  bool initialized() override { return behind().initialized(); }
  void emptyCache(Pool pool) override { behind().emptyCache(pool); }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(Device d) override {
    return behind().getDeviceStats(d);
  }
  void resetAccumulatedStats(Device d) override {
    behind().resetAccumulatedStats(d);
  }
  void resetPeakStats(Device d) override { behind().resetPeakStats(d); }

  // CUDAAllocator
  void* raw_alloc(size_t bytes) override { return behind().raw_alloc(bytes); }
  void* raw_alloc_with_stream(size_t bytes, cudaStream_t stream) override {
    return behind().raw_alloc_with_stream(bytes, stream);
  }
  void raw_delete(void* data) override { behind().raw_delete(data); }
  void init(int count) override { behind().init(count); }
  double getMemoryFraction(Device d) override {
    return behind().getMemoryFraction(d);
  }
  void setMemoryFraction(double fraction, Device d) override {
    behind().setMemoryFraction(fraction, d);
  }
  std::vector<c10::cuda::CUDACachingAllocator::StreamSegmentSize>
  getExpandableSegmentSizes(Device d) override {
    return behind().getExpandableSegmentSizes(d);
  }
  void enable(bool value) override { behind().enable(value); }
  bool isEnabled() const override { return behind().isEnabled(); }
  void cacheInfo(Device d, size_t* largest) override {
    behind().cacheInfo(d, largest);
  }
  void* getBaseAllocation(void* data, size_t* size) override {
    return behind().getBaseAllocation(data, size);
  }
  using CUDAAllocator::recordStream;
  void recordStream(const c10::DataPtr& data,
                    c10::cuda::CUDAStream stream) override {
    behind().recordStream(data, stream);
  }
  SnapshotInfo snapshot(Pool pool) { return behind().snapshot(pool); }
  SnapshotInfo snapshot(Pool pool, bool traces) {
    return snapshot_of(behind(), pool, traces);
  }
  void beginAllocateToPool(Device d, Pool pool,
                           std::function<bool(cudaStream_t)> filter) override {
    behind().beginAllocateToPool(d, pool, std::move(filter));
  }
  void endAllocateToPool(Device d, Pool pool) override {
    behind().endAllocateToPool(d, pool);
  }
  void markCaptureBegin(Device d) { mark_begin(behind(), d); }
  void markCaptureEnd(Device d) { mark_end(behind(), d); }
  void releasePool(Device d, Pool pool) override {
    behind().releasePool(d, pool);
  }
  int getPoolUseCount(Device d, Pool pool) override {
    return behind().getPoolUseCount(d, pool);
  }
  void createOrIncrefPool(Device d, Pool pool,
                          std::shared_ptr<CUDAAllocator> allocator) override {
    behind().createOrIncrefPool(d, pool, std::move(allocator));
  }
  void setUseOnOOM(Device d, Pool pool, bool use) override {
    behind().setUseOnOOM(d, pool, use);
  }
  void setNoSplit(Device d, Pool pool) override {
    behind().setNoSplit(d, pool);
  }
  bool checkPoolLiveAllocations(
      Device d, Pool pool, const std::unordered_set<void*>& expected) override {
    return behind().checkPoolLiveAllocations(d, pool, expected);
  }
  c10::cuda::CUDACachingAllocator::ShareableHandle shareIpcHandle(
      void* data) override {
    return behind().shareIpcHandle(data);
  }
  std::shared_ptr<void> getIpcDevPtr(std::string handle) override {
    return behind().getIpcDevPtr(std::move(handle));
  }
  bool isHistoryEnabled() override { return behind().isHistoryEnabled(); }
  std::shared_ptr<c10::GatheredContext> getContextForPointer(const void* data) {
    return context_of(behind(), data);
  }
  void recordHistory(bool enabled,
                     c10::cuda::CUDACachingAllocator::CreateContextFn recorder,
                     size_t most_entries,
                     c10::cuda::CUDACachingAllocator::RecordContext when,
                     bool clear,
                     const std::vector<std::string>& skip) override {
    behind().recordHistory(enabled, recorder, most_entries, when, clear, skip);
  }
  void recordAnnotation(
      const std::vector<std::pair<std::string, std::string>>& md) override {
    behind().recordAnnotation(md);
  }
  void pushCompileContext(std::string& md) override {
    behind().pushCompileContext(md);
  }
  void popCompileContext() override { behind().popCompileContext(); }
  bool supportsUserMetadata() { return has_metadata(behind()); }
  void setUserMetadata(const std::string& metadata) override {
    behind().setUserMetadata(metadata);
  }
  std::string getUserMetadata() override { return behind().getUserMetadata(); }
  void annotateMemory(const void* data, const std::string& metadata) {
    annotate(behind(), data, metadata);
  }
  void attachOutOfMemoryObserver(
      c10::cuda::CUDACachingAllocator::OutOfMemoryObserver observer) override {
    behind().attachOutOfMemoryObserver(std::move(observer));
  }
  void attachOomRejectionObserver(
      std::function<void(int64_t, size_t, size_t, size_t)> observer) {
    attach_rejection(behind(), std::move(observer));
  }
  void attachAllocatorTraceTracker(
      c10::cuda::CUDACachingAllocator::AllocatorTraceTracker tracker) override {
    behind().attachAllocatorTraceTracker(std::move(tracker));
  }
  void enablePeerAccess(Device d, Device other) override {
    behind().enablePeerAccess(d, other);
  }
  cudaError_t memcpyAsync(void* to, int to_device, const void* from,
                          int from_device, size_t count, cudaStream_t stream,
                          bool p2p_enabled) override {
    return behind().memcpyAsync(to, to_device, from, from_device, count, stream,
                                p2p_enabled);
  }
  std::shared_ptr<AllocatorState> getCheckpointState(Device d,
                                                     Pool pool) override {
    return behind().getCheckpointState(d, pool);
  }
  c10::cuda::CUDACachingAllocator::CheckpointDelta setCheckpointPoolState(
      Device d, std::shared_ptr<AllocatorState> state) override {
    return behind().setCheckpointPoolState(d, std::move(state));
  }
  c10::DataPtr allocateWithAddress(size_t bytes, void* address) {
    return allocate_at(behind(), bytes, address);
  }
  std::string name() override { return behind().name(); }

 private:
  // Templates, so that what a version lacks is not looked up.
  template <class A>
  static SnapshotInfo snapshot_of(A& a, Pool pool, bool traces) {
    if constexpr (requires { a.snapshot(pool, traces); }) {
      return a.snapshot(pool, traces);
    } else {
      return a.snapshot(pool);
    }
  }
  template <class A>
  static void mark_begin(A& a, Device d) {
    if constexpr (requires { a.markCaptureBegin(d); }) a.markCaptureBegin(d);
  }
  template <class A>
  static void mark_end(A& a, Device d) {
    if constexpr (requires { a.markCaptureEnd(d); }) a.markCaptureEnd(d);
  }
  template <class A>
  static std::shared_ptr<c10::GatheredContext> context_of(A& a,
                                                          const void* data) {
    if constexpr (requires { a.getContextForPointer(data); }) {
      return a.getContextForPointer(data);
    } else {
      return nullptr;
    }
  }
  template <class A>
  static bool has_metadata(A& a) {
    if constexpr (requires { a.supportsUserMetadata(); }) {
      return a.supportsUserMetadata();
    } else {
      return false;
    }
  }
  template <class A>
  static void annotate(A& a, const void* data, const std::string& metadata) {
    if constexpr (requires { a.annotateMemory(data, metadata); }) {
      a.annotateMemory(data, metadata);
    }
  }
  template <class A, class Observer>
  static void attach_rejection(A& a, Observer observer) {
    if constexpr (requires { a.attachOomRejectionObserver(observer); }) {
      a.attachOomRejectionObserver(std::move(observer));
    }
  }
  template <class A>
  static c10::DataPtr allocate_at(A& a, size_t bytes, void* address) {
    if constexpr (requires { a.allocateWithAddress(bytes, address); }) {
      return a.allocateWithAddress(bytes, address);
    } else {
      return {};
    }
  }

  CUDAAllocator* behind_ = nullptr;
};

}  // namespace braid::runtime
