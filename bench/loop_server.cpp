// LeNet at batch 64 in the whole training loop and without it, driven over
// standard input so that a script can take turns with several of them. A line
// "BLOCKS STEPS" makes a run in which blocks of that many steps alternate with
// as many of the bare executor on the same program. The answer has for each
// block the milliseconds of a step, four numbers: bare and loop by the clock,
// bare and loop by the processor time of the thread that trains. Files
// (metrics, events, log) are written; checkpoints and evaluations are not in
// the time, nor are the first steps.
//   loop_server THREADS SOURCE DISPLAY
// SOURCE: "memory" (images that lie in memory), "glyphs" (drawn while
// training), or a number (seconds that a batch of "memory" waits for the disk).
// DISPLAY: "off", or "on" (drawn on a terminal).
#include <pty.h>
#include <time.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <filesystem>
#include <functional>
#include <iostream>
#include <string>
#include <thread>

#include "braid/cli/display/run_display.h"
#include "braid/data/sources.h"
#include "braid/runtime/machine.h"
#include "braid/train/run/run.h"

namespace {

using namespace braid;
constexpr int64_t kBatch = 64;
constexpr int64_t kSamples = 4096;
constexpr int64_t kWarmUp = 10;  // steps

struct Times {
  double clock_s = 0, thread_s = 0;

  Times operator-(const Times& other) const {
    return {clock_s - other.clock_s, thread_s - other.thread_s};
  }
};

double read_clock(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) +
         static_cast<double>(now.tv_nsec) / 1e9;
}

Times now() {
  return {read_clock(CLOCK_MONOTONIC), read_clock(CLOCK_THREAD_CPUTIME_ID)};
}

// Images x[1, 28, 28] and classes y[] that are only copied. The first of each
// batch waits.
class MemoryImages : public data::Dataset {
 public:
  explicit MemoryImages(double batch_s)
      : Dataset(
            "memory",
            {{"x", DType::kFloat32, {1, 28, 28}}, {"y", DType::kInt64, {}, 36}},
            kSamples),
        batch_s_(batch_s),
        images_(static_cast<size_t>(kSamples) * kPixels) {
    for (size_t i = 0; i < images_.size(); ++i) {
      images_[i] = static_cast<float>(i % 97) / 97;
    }
  }

  void read(int64_t index, const data::Draw&,
            std::span<std::byte* const> out) const override {
    if (index % kBatch == 0 && batch_s_ > 0) {
      std::this_thread::sleep_for(std::chrono::duration<double>(batch_s_));
    }
    int64_t y = index % 36;
    std::memcpy(out[0], &images_[static_cast<size_t>(index) * kPixels],
                kPixels * sizeof(float));
    std::memcpy(out[1], &y, sizeof y);
  }

 private:
  static constexpr size_t kPixels = 28 * 28;
  double batch_s_;
  std::vector<float> images_;
};

data::DatasetPtr open_data(const std::string& source) {
  if (source == "glyphs") return data::open_source("glyphs");
  double batch_s = source == "memory" ? 0 : std::stod(source);
  return std::make_shared<MemoryImages>(batch_s);
}

// A terminal that nobody looks at.
class Terminal {
 public:
  Terminal() {
    int slave = -1;
    winsize size{.ws_row = 24, .ws_col = 80, .ws_xpixel = 0, .ws_ypixel = 0};
    if (openpty(&master_, &slave, nullptr, nullptr, &size) != 0) std::abort();
    out_ = fdopen(slave, "w");
    reader_ = std::thread([this] {
      char bytes[4096];
      while (::read(master_, bytes, sizeof bytes) > 0) continue;
    });
  }
  ~Terminal() {
    std::fclose(out_);
    reader_.join();
    ::close(master_);
  }
  Terminal(const Terminal&) = delete;
  Terminal& operator=(const Terminal&) = delete;
  std::FILE* out() const { return out_; }

 private:
  int master_ = -1;
  std::FILE* out_ = nullptr;
  std::thread reader_;
};

// After every block of steps, what is displayed included, runs as many of the
// bare executor.
class Timer : public train::Listener {
 public:
  Timer(train::Listener* display, int64_t block)
      : display_(display), block_(block) {}

  std::function<void()> bare_step;

  void on_step(const train::StepReport& report) override {
    if (display_) display_->on_step(report);
    if (report.step < kWarmUp) return;
    if (report.step > kWarmUp && (report.step - kWarmUp) % block_ == 0) {
      Times loop = now() - begin_;
      print(time_bare(), loop);
    }
    if ((report.step - kWarmUp) % block_ == 0) begin_ = now();
  }

 private:
  Times time_bare() const {
    Times begin = now();
    for (int64_t i = 0; i < block_; ++i) bare_step();
    return now() - begin;
  }

  void print(const Times& bare, const Times& loop) const {
    double scale = 1e3 / static_cast<double>(block_);
    std::cout << bare.clock_s * scale << " " << loop.clock_s * scale << " "
              << bare.thread_s * scale << " " << loop.thread_s * scale << " ";
  }

  train::Listener* display_;
  int64_t block_;
  Times begin_;
};

train::JobConfig make_job(int64_t threads, int64_t steps) {
  train::JobConfig job;
  job.model = "lenet";
  job.schedule = "cosine(steps=1000000)";
  job.batch_size = kBatch;
  job.threads = threads;
  job.steps = steps;
  job.data.shuffle = false;  // so that each batch waits once
  return job;
}

// The executor alone, on inputs that are there.
class BareStep {
 public:
  BareStep(train::Run& run, const train::Job& job)
      : executor_(run.programs().executor(0)),
        feed_(job.data(), job.config(), run.programs().program(0).graph),
        loader_(job.data().train, {.batch_size = kBatch}) {
    feed_.set(*loader_.next(), 0);
  }

  void operator()() {
    executor_.step(
        [&](int64_t micro, ValueId id) { return feed_.at(micro, id); });
  }

 private:
  runtime::Executor& executor_;
  train::BatchFeed feed_;
  data::Loader loader_;
};

class Server {
 public:
  Server(int64_t threads, const std::string& source, bool displays)
      : threads_(threads), data_(open_data(source)), displays_(displays) {}

  void answer(int64_t blocks, int64_t steps) {
    std::string out =
        std::filesystem::temp_directory_path() / "braid-loop-XXXXXX";
    if (!mkdtemp(out.data())) std::abort();
    train::Job job(*machine_, make_job(threads_, kWarmUp + blocks * steps),
                   {.train = data_});
    train::create_run(out, job.config());
    cli::RunDisplay display(false, train::LogLevel::kInfo, terminal_.out());
    Timer timer(displays_ ? &display : nullptr, steps);
    train::Run run(job, {.out = out, .listener = &timer});
    BareStep bare(run, job);
    timer.bare_step = [&] { bare(); };
    run.run();
    display.finish();
    std::cout << std::endl;
    std::filesystem::remove_all(out);
  }

 private:
  std::unique_ptr<runtime::Machine> machine_ = runtime::this_machine();
  int64_t threads_;
  data::DatasetPtr data_;
  bool displays_;
  Terminal terminal_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::cerr << "usage: loop_server THREADS SOURCE DISPLAY\n";
    return 2;
  }
  Server server(std::stoll(argv[1]), argv[2], std::string(argv[3]) == "on");
  for (int64_t blocks = 0, steps = 0; std::cin >> blocks >> steps;) {
    server.answer(blocks, steps);
  }
}
