// `braid worker`: one of several processes that train the jobs of a folder
// (train/queue/worker.h), or the one that keeps their store.
#include <netdb.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <thread>

#include "braid/base/error.h"
#include "braid/cli/display/array_display.h"
#include "braid/cli/log_options.h"
#include "braid/cli/output.h"
#include "braid/cli/signals.h"
#include "braid/cli/verbs/options.h"
#include "braid/runtime/comm/launch.h"
#include "braid/runtime/machine.h"
#include "braid/train/queue/worker.h"

namespace braid::cli {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kPause{200};
constexpr milliseconds kMostSilence{5000};  // of a store, in one call
constexpr double kLeastWait = 8;            // seconds, for one to come

struct WorkerVerbOptions {
  std::string out;
  std::string at;    // where the store is; empty: it is looked for
  std::string host;  // by which others reach this one
  std::string device, memory_limit;
  std::optional<int64_t> port;
  bool store = false;
  LogOptions log;
};

// A name that others can look up, else that of this machine alone.
std::string own_host() {
  std::array<char, 256> name = {};
  addrinfo* found = nullptr;
  bool is_known = ::gethostname(name.data(), name.size() - 1) == 0 &&
                  ::getaddrinfo(name.data(), nullptr, nullptr, &found) == 0;
  if (found) ::freeaddrinfo(found);
  return is_known ? name.data() : "127.0.0.1";
}

struct Count {
  size_t over = 0, taken = 0, all = 0;
};

Count count_arrays(const std::string& out, size_t num_arrays) {
  Count count{.all = num_arrays};
  for (size_t i = 0; i < count.all; ++i) {
    train::ArrayState state = train::read_ticket(out, i).state;
    count.over += train::is_over(state);
    count.taken += state == train::ArrayState::kTaken;
  }
  return count;
}

// Until all have ended: workers look into the folder before they ask.
int keep_store(const WorkerVerbOptions& o) {
  train::read_queue(o.out);
  size_t num_arrays = train::read_job_folder(o.out).arrays.size();
  auto host = runtime::host_store(static_cast<int>(o.port.value_or(0)));
  runtime::Endpoint address{.host = o.host.empty() ? own_host() : o.host,
                            .port = host->port()};
  train::write_store_address(o.out, address);
  if (!o.log.quiet) {
    print("store  at {} for the workers of {}\n", address.text(), o.out);
  }
  int code = kInterrupted;
  Count said;
  while (!stop_requested()) {
    if (!train::holds_queue(o.out)) {
      fail_world("[braid worker] '{}' is gone, and the store with it", o.out);
    }
    Count now = count_arrays(o.out, num_arrays);
    if (!o.log.quiet && (now.over != said.over || now.taken != said.taken)) {
      print("store  {} of {} arrays have ended, {} train\n", now.over, now.all,
            now.taken);
      said = now;
    }
    if (now.over == now.all) {
      code = kOk;
      break;
    }
    std::this_thread::sleep_for(kPause);
  }
  train::remove_store_address(o.out);
  return code;
}

bool have_all_ended(const std::string& out, size_t num_arrays) {
  Count now = count_arrays(out, num_arrays);
  return now.over == now.all;
}

// Whoever keeps it may come later than its workers, and leave its address when
// it is killed. Null: there is nothing to do any more, or somebody stopped it.
std::unique_ptr<runtime::Store> find_store(const WorkerVerbOptions& o,
                                           const runtime::Launch& launch,
                                           const train::QueueConfig& queue,
                                           size_t num_arrays) {
  auto connect = [&](const runtime::Endpoint& address) {
    return runtime::connect_store(address, queue.id, kMostSilence);
  };
  if (!o.at.empty()) return connect(runtime::parse_endpoint(o.at));
  if (launch.store) return connect(*launch.store);
  auto until =
      std::chrono::steady_clock::now() +
      std::chrono::duration<double>(std::max(queue.lease_s, kLeastWait));
  bool is_said = o.log.quiet;
  std::exception_ptr error;
  while (std::chrono::steady_clock::now() < until) {
    if (stop_requested() || have_all_ended(o.out, num_arrays)) {
      return nullptr;
    }
    try {
      if (auto address = train::read_store_address(o.out)) {
        return connect(*address);
      }
    } catch (const std::exception&) {
      error = std::current_exception();
    }
    if (!is_said) print("worker waits for a store\n");
    is_said = true;
    std::this_thread::sleep_for(kPause);
  }
  if (error) std::rethrow_exception(error);
  fail_world(
      "[braid worker] nobody keeps a store for the workers of '{}'\n"
      "HINT: run 'braid worker DIR --store' on a host that all of them reach, "
      "or say where it is with --at",
      o.out);
}

int work(const WorkerVerbOptions& o) {
  runtime::Launch launch = runtime::read_launch();
  train::QueueConfig queue = train::read_queue(o.out);
  train::WorkerOptions options{.stop = stop_requested};
  if (!o.device.empty()) options.device = parse_device(o.device);
  if (!launch.launcher.empty()) options.gpu = launch.local_rank;
  if (auto limit =
          read_limit("--memory-limit", o.memory_limit, "braid worker")) {
    options.memory_limit = *limit;
  }
  size_t num_arrays = train::read_job_folder(o.out).arrays.size();
  auto store = have_all_ended(o.out, num_arrays)
                   ? nullptr
                   : find_store(o, launch, queue, num_arrays);
  if (!store && stop_requested()) return kInterrupted;
  if (!store) {
    print("done   all arrays of {} had ended before\n", o.out);
    return kOk;
  }
  auto machine = runtime::this_machine();
  ArrayDisplay display({.quiet = o.log.quiet, .shown = o.log.shown()});
  options.listener = &display;
  options.say = [&](const std::string& text) {
    if (o.log.quiet) return;
    display.finish();
    print("worker {}\n", text);
  };
  train::Worker worker(*machine, o.out, *store, std::move(options));
  train::Ending ending = worker.run();
  display.finish();
  for (const auto& [name, failure] : worker.failures()) {
    print_error("[braid worker] {}: {}\n", name, failure);
  }
  if (ending == train::Ending::kInterrupted) {
    print_error(
        "[braid worker] stopped; everything is saved\n"
        "HINT: other workers go on; 'braid worker {}' is one more\n",
        o.out);
    return kInterrupted;
  }
  print("done   {} arrays trained here, all of {} have ended\n",
        worker.num_trained(), o.out);
  return worker.failures().empty() ? kOk : kFailed;
}

int run_worker(const WorkerVerbOptions& o) {
  watch_stop_signals();
  bool is_port = !o.port || (*o.port >= 0 && *o.port < 1 << 16);
  if (!is_port) {
    fail_usage("[braid worker] --port: expected 0 to 65535, got {}", *o.port);
  }
  if (!o.store && (o.port || !o.host.empty())) {
    fail_usage("[braid worker] --port and --host are for --store");
  }
  return o.store ? keep_store(o) : work(o);
}

}  // namespace

Action add_worker(CLI::App& app) {
  auto o = std::make_shared<WorkerVerbOptions>();
  AddOption add(app);
  add("DIR", o->out, " ", "The folder that 'braid train --queue' wrote")
      ->required();
  add("--device", o->device, "DEVICE", "In place of those of the jobs: cuda:1");
  add("--memory-limit", o->memory_limit, "BYTES", "Of that device: 2GiB");
  add("--at", o->at, "HOST:PORT",
      "The store (a launcher's, or as the folder says)");
  CLI::Option* store =
      app.add_flag("--store", o->store, "Keep the store, and train nothing");
  add.whole("--port", o->port, "N", "Of the store (a free one)");
  add("--host", o->host, "NAME", "By which workers reach this host");
  for (const char* name : {"--at", "--device", "--memory-limit"}) {
    store->excludes(app.get_option(name));
  }
  declare_log_options(app, o->log);
  return [o] { return run_worker(*o); };
}

}  // namespace braid::cli
