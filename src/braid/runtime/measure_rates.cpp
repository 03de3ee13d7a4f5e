#include "braid/runtime/measure_rates.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "braid/ops/build/functions.h"
#include "braid/runtime/spill_file.h"
#include "braid/runtime/trial_call.h"

namespace braid::runtime {
namespace {

using plan::Stream;

constexpr int64_t kBlock = 64 << 20;  // of a large copy: more than caches hold
constexpr int64_t kLeastBlock = 1 << 16;  // smaller ones say nothing
constexpr int64_t kSmall = 4096;
constexpr int kRounds = 5;
constexpr int kCopies = 4;        // of a round
constexpr int kSmallCopies = 64;  // of a round
constexpr int64_t kSide = 512;    // of the matrices that are multiplied

double seconds_of(const std::function<void()>& work) {
  auto begin = std::chrono::steady_clock::now();
  work();
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  return took.count();
}

// After one that warms up.
double median_seconds(const std::function<void()>& work) {
  std::vector<double> seconds;
  work();
  for (int i = 0; i < kRounds; ++i) seconds.push_back(seconds_of(work));
  std::ranges::nth_element(seconds, seconds.begin() + kRounds / 2);
  return seconds[kRounds / 2];
}

// One call on memory of the device.
class OneCall {
 public:
  OneCall(Backend& backend, Graph graph, int threads)
      : backend_(backend), graph_(std::move(graph)), threads_(threads) {
    const Node& node = graph_.nodes().back();
    call_ = trial_call(graph_, node, workspace_, [&](int64_t bytes) {
      memory_.emplace_back(backend_, Memory::Where::kDevice,
                           std::max<int64_t>(bytes, 1), "measuring of rates");
      std::vector<std::byte> zeros(static_cast<size_t>(bytes));
      backend_.write(memory_.back().data(), zeros.data(), bytes);
      return memory_.back().data();
    });
    run_ = backend_.prepare(call_);
  }

  void run(int times) {
    CallSettings settings;
    set_call_threads(threads_);
    for (int i = 0; i < times; ++i) run_();
    backend_.finish_calls();
  }

  double seconds(int times) {
    return median_seconds([&] { run(times); }) / times;
  }

 private:
  Backend& backend_;
  Graph graph_;
  int threads_;
  std::vector<Memory> memory_;
  Workspace workspace_;
  Call call_;
  Thunk run_;
};

Graph product_graph(const OpTable& ops) {
  Graph graph(ops);
  ValueType type{DType::kFloat32, {kSide, kSide}};
  Var a{&graph, graph.add_input("a", type)};
  Var b{&graph, graph.add_input("b", type)};
  matmul(a, b);
  return graph;
}

Graph sum_graph(const OpTable& ops, int64_t bytes) {
  Graph graph(ops);
  ValueType type{DType::kFloat32, {bytes / item_bytes(DType::kFloat32)}};
  Var a{&graph, graph.add_input("a", type)};
  Var b{&graph, graph.add_input("b", type)};
  add(a, b);
  return graph;
}

class Measurement {
 public:
  Measurement(const OpTable& ops, Backend& backend, const RatesRequest& request)
      : ops_(ops),
        backend_(backend),
        request_(request),
        rates_(backend.info().rates),
        events_(backend.make_events(1)),
        block_(block_bytes()) {}

  plan::Rates run() {
    if (block_ >= kLeastBlock) {
      computing();
      copies();
    }
    if (!request_.spill_dir.empty()) file();
    return rates_;
  }

 private:
  // A part of what may be taken: copies need four blocks at once.
  int64_t block_bytes() const {
    int64_t room = std::min(backend_.account().room_bytes(),
                            backend_.host_account().room_bytes());
    return std::min(kBlock, room / 8) / kSmall * kSmall;
  }

  void computing() {
    if (block_ >= kSide * kSide * item_bytes(DType::kFloat32)) {
      OneCall product(backend_, product_graph(ops_), request_.threads);
      double flops = 2.0 * kSide * kSide * kSide;
      rates_.flops_per_s = flops / product.seconds(8);
    }
    OneCall sum(backend_, sum_graph(ops_, block_), request_.threads);
    rates_.bytes_per_s = 3 * static_cast<double>(block_) / sum.seconds(2);
  }

  // So many copies of each direction, and how long they take.
  double copy_seconds(int to_device, int to_host, int64_t bytes) {
    return median_seconds([&] {
      backend_.begin_pass(*events_);
      for (int i = 0; i < std::max(to_device, to_host); ++i) {
        if (i < to_device) {
          backend_.copy(Stream::kHostToDevice, on_device_[0].data(),
                        on_host_[0].data(), bytes, {*events_});
        }
        if (i < to_host) {
          backend_.copy(Stream::kDeviceToHost, on_host_[1].data(),
                        on_device_[1].data(), bytes, {*events_});
        }
      }
      backend_.synchronize();
    });
  }

  void copies() {
    for (int i = 0; i < 2; ++i) {
      on_device_.emplace_back(backend_, Memory::Where::kDevice, block_,
                              "measuring of rates");
      on_host_.emplace_back(backend_, Memory::Where::kHost, block_,
                            "measuring of rates");
      // Pages that nobody wrote to are all the same one, and quick to read.
      std::memset(on_host_.back().data(), 1, static_cast<size_t>(block_));
      backend_.write(on_device_.back().data(), on_host_.back().data(), block_);
    }
    rates_.copy_s = copy_seconds(kSmallCopies, 0, kSmall) / kSmallCopies;
    double in = copy_seconds(kCopies, 0, block_);
    double out = copy_seconds(0, kCopies, block_);
    double both = copy_seconds(kCopies, kCopies, block_);
    rates_.to_device_bytes_per_s = rate_of(in);
    rates_.to_host_bytes_per_s = rate_of(out);
    // Less than a fifth of the shorter one was hidden.
    rates_.one_bus = both > std::max(in, out) + 0.8 * std::min(in, out);
    if (backend_.info().shares_cores) {
      rates_.compute_lost_to_copies = lost_to_copies();
    }
  }

  double rate_of(double seconds) const {
    double moving = std::max(seconds - kCopies * rates_.copy_s, 1e-9);
    return kCopies * static_cast<double>(block_) / moving;
  }

  // Of a computation that goes on for longer than the copies beside it.
  double lost_to_copies() {
    constexpr int kBeside = 8, kTimesLonger = 4;
    double copying =
        kBeside * static_cast<double>(block_) / rates_.to_device_bytes_per_s;
    OneCall sum(backend_, sum_graph(ops_, block_), request_.threads);
    auto times = static_cast<int>(kTimesLonger * copying / sum.seconds(2)) + 1;
    double alone = sum.seconds(times) * times;
    std::vector<double> lost;
    for (int round = 0; round < kRounds; ++round) {
      backend_.begin_pass(*events_);
      for (int i = 0; i < kBeside; ++i) {
        backend_.copy(Stream::kHostToDevice, on_device_[0].data(),
                      on_host_[0].data(), block_, {*events_});
      }
      double beside = seconds_of([&] { sum.run(times); });
      backend_.synchronize();
      lost.push_back(std::max(0.0, beside - alone) / copying);
    }
    std::ranges::nth_element(lost, lost.begin() + kRounds / 2);
    return lost[kRounds / 2];
  }

  void file() {
    int64_t bytes = std::max(block_, kLeastBlock);
    std::vector<std::byte> content(static_cast<size_t>(bytes), std::byte{1});
    SpillFile file(request_.spill_dir, {{"measuring of rates", bytes, 1}});
    double write = median_seconds([&] { file.write(0, 0, content); });
    double read = median_seconds([&] { file.read(0, 0, content); });
    rates_.disk_write_bytes_per_s = static_cast<double>(bytes) / write;
    rates_.disk_read_bytes_per_s = static_cast<double>(bytes) / read;
  }

  const OpTable& ops_;
  Backend& backend_;
  const RatesRequest& request_;
  plan::Rates rates_;
  std::unique_ptr<EventSet> events_;
  int64_t block_;
  std::vector<Memory> on_device_, on_host_;  // to be written, to be read
};

}  // namespace

plan::Rates measure_rates(const OpTable& ops, Backend& backend,
                          const RatesRequest& request) {
  return Measurement(ops, backend, request).run();
}

}  // namespace braid::runtime
