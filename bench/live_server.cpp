// An array of tiny MLPs (16-32-32-4, batch 16, Adam) whose members come and
// go, driven over standard input so that a script can take turns with several
// of them. A line "N" takes N rounds, of each of which it times a step of the
// bare executor, a step of the array with batches of their own for all
// members, a drop and an add within the capacity. The answer has the medians
// of the four, in microseconds of processor time of this thread.
//   live_server MEMBERS
#include <time.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "braid/runtime/machine.h"
#include "braid/train/array/array.h"

namespace {

using namespace braid;
constexpr int64_t kBatch = 16, kFeatures = 16, kClasses = 4;

double now_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 +
         static_cast<double>(now.tv_nsec) / 1e3;
}

// Rows x[16] and classes y[].
class Rows : public data::Dataset {
 public:
  Rows()
      : Dataset("rows",
                {{"x", DType::kFloat32, {kFeatures}},
                 {"y", DType::kInt64, {}, kClasses}},
                kBatch * 64) {}

  void read(int64_t index, const data::Draw&,
            std::span<std::byte* const> out) const override {
    std::array<float, kFeatures> x{};
    for (size_t i = 0; i < x.size(); ++i) {
      x[i] = static_cast<float>((index * 7 + static_cast<int64_t>(i)) % 97);
    }
    int64_t y = index % kClasses;
    std::memcpy(out[0], x.data(), sizeof x);
    std::memcpy(out[1], &y, sizeof y);
  }
};

train::JobConfig make_config(int64_t number) {
  train::JobConfig job;
  job.model = "mlp";
  job.optimizer = {"adam",
                   {{"lr", fmt::format("{}", 1e-3 * (1 + number % 8))}}};
  job.batch_size = kBatch;
  job.threads = 1;
  job.steps = 1 << 20;
  job.seed = number;
  return job;
}

class Live {
 public:
  explicit Live(int64_t members) {
    for (int64_t i = 0; i <= members; ++i) {
      jobs_.push_back(std::make_unique<train::Job>(
          *machine_, make_config(i), train::JobHooks{.train = data_}));
    }
    std::vector<const train::Job*> kinds;
    for (const auto& job : jobs_) kinds.push_back(job.get());
    backend_ = machine_->open({}, {});
    array_ = std::make_unique<train::Array>(
        kinds, *backend_, train::ArrayOptions{.form = {.capacity = members}});
    for (int64_t i = 0; i < members; ++i) enter();
    for (int64_t i = 0; i < members; ++i) {
      loaders_.push_back(std::make_unique<data::Loader>(
          data_, data::LoaderOptions{.batch_size = kBatch, .seed = i}));
      batches_.push_back(*loaders_.back()->next());
    }
  }

  void step() {
    std::vector<train::Array::Turn> turns;
    for (train::MemberId id : array_->members()) turns.push_back({id, steps_});
    array_->step(0, turns, batches_);
    ++steps_;
  }

  // On the inputs of the last step.
  void bare_step() {
    runtime::Executor& executor = array_->programs().executor(0);
    executor.step([&](int64_t, ValueId) { return zeros_.data(); });
  }

  void leave() { array_->drop(array_->members().front()); }
  void enter() { array_->add(*jobs_[next_++ % jobs_.size()]); }

 private:
  std::unique_ptr<runtime::Machine> machine_ = runtime::this_machine();
  data::DatasetPtr data_ = std::make_shared<Rows>();
  std::vector<std::unique_ptr<train::Job>> jobs_;
  std::unique_ptr<runtime::Backend> backend_;
  std::unique_ptr<train::Array> array_;
  std::vector<std::unique_ptr<data::Loader>> loaders_;
  std::vector<data::Batch> batches_;
  std::vector<std::byte> zeros_ = std::vector<std::byte>(1 << 22);
  size_t next_ = 0;
  int64_t steps_ = 0;
};

double median(std::vector<double> times) {
  std::ranges::nth_element(times, times.begin() + std::ssize(times) / 2);
  return times[times.size() / 2];
}

void answer(Live& live, int64_t rounds) {
  using Part = void (Live::*)();
  constexpr Part kParts[] = {&Live::bare_step, &Live::step, &Live::leave,
                             &Live::enter};
  std::array<std::vector<double>, std::size(kParts)> times;
  for (int64_t round = 0; round < rounds; ++round) {
    live.step();  // what changed is in the caches again
    for (size_t i = 0; i < times.size(); ++i) {
      double begin = now_us();
      (live.*kParts[i])();
      times[i].push_back(now_us() - begin);
    }
  }
  for (const auto& part : times) std::cout << median(part) << " ";
  std::cout << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    std::cerr << "usage: live_server MEMBERS\n";
    return 2;
  }
  Live live(std::stoll(argv[1]));
  for (int64_t rounds = 0; std::cin >> rounds;) answer(live, rounds);
}
