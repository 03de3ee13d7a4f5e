#include "braid/train/queue/worker.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <numeric>
#include <thread>

#include "braid/base/error.h"
#include "braid/train/job/job_file.h"
#include "braid/train/job/job_names.h"
#include "braid/train/queue/worker_name.h"
#include "braid/train/run/read_results.h"
#include "braid/train/run/results_keeper.h"
#include "braid/train/run/run_files.h"

namespace braid::train {
namespace {

namespace fs = std::filesystem;

constexpr int kBeats = 5;         // in the time of a lease
constexpr int kMostFailures = 2;  // in a row, before a worker leaves

// Renews a lease again and again while it lives.
class Heart {
 public:
  Heart(Lease& lease, double pause_s, std::function<void()> beat)
      : lease_(lease),
        pause_(pause_s),
        beat_(std::move(beat)),
        thread_([this] { run(); }) {}
  ~Heart() {
    {
      std::lock_guard lock(mutex_);
      stops_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Heart(const Heart&) = delete;
  Heart& operator=(const Heart&) = delete;

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!changed_.wait_for(lock, pause_, [this] { return stops_; })) {
      lock.unlock();
      try {
        lease_.renew();
        if (!lease_.is_lost()) beat_();
      } catch (const std::exception&) {
        // Heard too late, it is lost; that is told where it is asked.
      }
      lock.lock();
    }
  }

  Lease& lease_;
  std::chrono::duration<double> pause_;
  std::function<void()> beat_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool stops_ = false;
  std::thread thread_;
};

std::string key_of(size_t number) { return fmt::format("array-{}", number); }

// Those whose jobs have the highest priority come first.
std::vector<size_t> order_of(const JobFolder& folder) {
  auto priority = [&](size_t array) {
    double highest = folder.jobs[folder.arrays[array][0]].config.priority;
    for (size_t i : folder.arrays[array]) {
      highest = std::max<double>(highest, folder.jobs[i].config.priority);
    }
    return highest;
  };
  std::vector<size_t> order(folder.arrays.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::ranges::stable_sort(
      order, [&](size_t a, size_t b) { return priority(a) > priority(b); });
  return order;
}

// What one job after another ended with, in this array.
void note_failures(const Run& run, ArrayTicket& ticket) {
  for (const auto& member : run.members()) {
    if (!member->failure.empty()) {
      ticket.failures[member->name()] = member->failure;
    }
  }
  bool have_all_failed = ticket.failures.size() == run.members().size();
  ticket.state = have_all_failed ? ArrayState::kFailed : ArrayState::kDone;
}

}  // namespace

Worker::Worker(const runtime::Machine& machine, fs::path out,
               runtime::Store& store, WorkerOptions options)
    : machine_(machine),
      out_(std::move(out)),
      store_(store),
      options_(std::move(options)),
      lock_(out_, io::DirectoryLock::Kind::kShared),
      config_(read_queue(out_)),
      folder_(read_job_folder(out_)),
      name_(worker_name()),
      taker_(store_, name_, {.lasts_s = config_.lease_s, .now = options_.now},
             has_died_here),
      log_(worker_log_path(out_, name_)),
      order_(order_of(folder_)) {
  std::vector<JobConfig> configs;
  for (const NamedJob& job : folder_.jobs) {
    configs.push_back(job.config);
    report_.members.push_back({.name = job.name});
  }
  hparams_ = differing_values(configs);
}

Ending Worker::run() {
  bool is_waiting = false;
  std::optional<double> silent_since;  // of the store
  while (!stops()) {
    check_folder();
    Look look = Look::kWaits;
    try {
      look = look_for_one();
      silent_since.reset();
    } catch (const std::runtime_error&) {
      check_folder();
      double now = options_.now();
      if (now - silent_since.value_or(now) >= config_.lease_s) throw;
      if (!silent_since) silent_since = now;
    }
    if (look == Look::kOver) {
      keep_results(true);
      return Ending::kDone;
    }
    if (failures_in_a_row_ >= kMostFailures) {
      fail_world(
          "[worker] {} arrays in a row could not be trained here\n"
          "HINT: see what was wrong with them; others may have them",
          failures_in_a_row_);
    }
    bool waits = look == Look::kWaits;
    if (waits && !is_waiting) say("waiting for what other workers have");
    is_waiting = waits;
    if (waits) {
      std::this_thread::sleep_for(
          std::chrono::duration<double>(options_.pause_s));
    }
  }
  keep_results(true);
  return Ending::kInterrupted;
}

void Worker::check_folder() const {
  if (holds_queue(out_) && holds_jobs(out_)) return;
  fail_world(
      "[worker] '{}' is gone: it holds no queue of jobs any more\n"
      "HINT: where it is back, 'braid worker {}' goes on from the newest "
      "checkpoints",
      out_.string(), out_.string());
}

Worker::Look Worker::look_for_one() {
  bool are_all_over = true;
  for (size_t number : order_) {
    if (over_.contains(number)) continue;
    if (is_over(read_ticket(out_, number).state)) {
      over_.insert(number);
      continue;
    }
    are_all_over = false;
    if (try_array(number)) return Look::kTook;
  }
  return are_all_over ? Look::kOver : Look::kWaits;
}

bool Worker::try_array(size_t number) {
  ArrayTicket ticket = read_ticket(out_, number);
  bool has_tried = std::ranges::count(ticket.tried, name_) > 0;
  if (has_tried && !is_left_to_me(number, ticket)) return false;
  bool is_taken = ticket.state == ArrayState::kTaken;
  auto lease = taker_.take(key_of(number),
                           {ticket.lease, is_taken ? ticket.worker : ""});
  if (!lease) return false;
  // Somebody may have ended it in between.
  ticket = read_ticket(out_, number);
  if (is_over(ticket.state) || ticket.lease >= lease->number()) {
    lease->give_back();
    return false;
  }
  if (has_tried) {
    give_up(number, ticket);
    ticket.lease = lease->number();
    write_ticket(out_, number, ticket);
  } else {
    Heart heart(*lease, config_.lease_s / kBeats,
                [&] { touch_ticket(out_, number); });
    ticket = train(number, *lease, ticket);
  }
  lease->give_back();
  if (is_over(ticket.state)) keep_results(false);
  return true;
}

void Worker::give_up(size_t number, ArrayTicket& ticket) {
  ticket.state = ArrayState::kFailed;
  for (size_t i : folder_.arrays[number]) {
    const std::string& name = folder_.jobs[i].name;
    failures_[name] = ticket.failures[name] = ticket.error;
  }
}

// Nobody else wanted one that could not be trained here, for a while in which
// others would have.
bool Worker::is_left_to_me(size_t number, const ArrayTicket& ticket) {
  bool is_taken = std::ranges::any_of(order_, [&](size_t other) {
    if (over_.contains(other)) return false;
    return is_trained(out_, other, read_ticket(out_, other), config_);
  });
  if (is_taken || ticket.state != ArrayState::kWaiting) {
    left_since_s_.erase(number);
    return false;
  }
  double now = options_.now();
  double since = left_since_s_.try_emplace(number, now).first->second;
  return now - since >= 4 * options_.pause_s;
}

// How the array stands after this worker had it.
ArrayTicket Worker::train(size_t number, Lease& lease, ArrayTicket ticket) {
  ticket.state = ArrayState::kTaken;
  ticket.lease = lease.number();
  ticket.worker = name_;
  write_ticket(out_, number, ticket);
  log("takes", number, lease.number());
  say(fmt::format("takes {}, lease {}", words_of(number), lease.number()));
  const char* event = "ends";
  auto lose = [&](const std::string& why) {
    log("loses", number, lease.number());
    say(fmt::format("lost {}: {}", words_of(number), why));
    return ArrayTicket{.state = ArrayState::kTaken};
  };
  try {
    Ending ending = train_jobs(number, lease, ticket);
    if (ending == Ending::kInterrupted) {
      ticket.state = ArrayState::kWaiting;
      event = "leaves";
    }
    failures_in_a_row_ = 0;
  } catch (const std::exception& error) {
    if (lease.is_lost()) return lose(parts_of(error).text);
    check_folder();
    note_problem(number, error, ticket);
    event = "fails";
  }
  if (lease.is_lost()) return lose("it took too long to tell how it ended");
  write_ticket(out_, number, ticket);
  log(event, number, lease.number());
  if (is_over(ticket.state)) ++num_trained_;
  for (const auto& [name, failure] : ticket.failures) {
    failures_[name] = failure;
  }
  return ticket;
}

// What the world did to it may be the fault of this host: others may try. What
// is wrong with the jobs is so everywhere.
void Worker::note_problem(size_t number, const std::exception& error,
                          ArrayTicket& ticket) {
  bool is_of_world = dynamic_cast<const std::runtime_error*>(&error) != nullptr;
  ticket.error = error.what();
  if (is_of_world) {
    ticket.state = ArrayState::kWaiting;
    ticket.tried.push_back(name_);
    ++failures_in_a_row_;
    say(fmt::format("{} could not be trained here; others may try: {}",
                    words_of(number), parts_of(error).message()));
    return;
  }
  give_up(number, ticket);
}

std::unique_ptr<runtime::Backend> Worker::open_device(const Job& job) const {
  DeviceId device = options_.device.value_or(job.device());
  bool takes_gpu = !options_.device && options_.gpu &&
                   device.kind == DeviceKind::kCuda && device.index == 0;
  if (takes_gpu) device.index = *options_.gpu;
  runtime::Budget budget = job.budget();
  budget.bytes = std::min(budget.bytes, options_.memory_limit);
  return machine_.open(device, budget);
}

Ending Worker::train_jobs(size_t number, const Lease& lease,
                          ArrayTicket& ticket) {
  const std::vector<size_t>& numbers = folder_.arrays[number];
  DatasetCache datasets;
  ModelFiles models(machine_);
  std::vector<std::unique_ptr<Job>> jobs;
  std::vector<RunMember> members;
  for (size_t i : numbers) {
    const NamedJob& named = folder_.jobs[i];
    jobs.push_back(std::make_unique<Job>(
        machine_, named.config,
        JobHooks{.datasets = &datasets, .models = &models}));
    members.push_back({.name = named.name,
                       .job = jobs.back().get(),
                       .out = out_ / named.name,
                       .number = i,
                       .hparams = hparams_[i]});
    report_.members[i].steps = jobs.back()->num_steps();
    report_.members[i].epochs = jobs.back()->num_epochs();
  }
  auto device = open_device(*jobs[0]);
  Run run(members,
          RunOptions{.out = array_path(out_, number),
                     .fence = &lease,
                     .stop = [&] { return stops() || lease.is_lost(); },
                     .listener = options_.listener,
                     .device = device.get(),
                     .report = &report_,
                     .alone = numbers.size() == 1,
                     .profile = folder_.profile});
  Ending ending = run.run();
  lease.check();
  if (ending != Ending::kInterrupted) note_failures(run, ticket);
  return ending;
}

// Others write it too; whoever comes last has seen all. While jobs are left it
// takes a twentieth of the time at most.
void Worker::keep_results(bool is_last) {
  constexpr double kShare = 0.05;
  double begin = options_.now();
  if (!is_last && begin < next_results_s_) return;
  try {
    write_results(out_);
  } catch (const std::exception& error) {
    say(error.what());
  }
  double end = options_.now();
  next_results_s_ = end + (end - begin) / kShare;
}

void Worker::log(const char* event, size_t number, int64_t lease) {
  double time = std::chrono::duration<double>(
                    std::chrono::system_clock::now().time_since_epoch())
                    .count();
  log_.append(fmt::format(
      R"({{"time_s":{:.3f},"boot_s":{:.3f},"event":"{}","array":{},"lease":{}}})"
      "\n",
      time, options_.now(), event, number, lease));
}

void Worker::say(const std::string& text) const {
  if (options_.say) options_.say(text);
}

std::string Worker::words_of(size_t number) const {
  const std::vector<size_t>& numbers = folder_.arrays[number];
  std::string words = folder_.jobs[numbers[0]].name;
  if (numbers.size() > 1) {
    words += fmt::format(" and {} more", numbers.size() - 1);
  }
  return words;
}

void write_results(const fs::path& out) {
  replace_results(out, read_results(out));
}

}  // namespace braid::train
