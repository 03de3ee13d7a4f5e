#include "braid/train/queue/queue_folder.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <nlohmann/json.hpp>
#include <random>

#include "braid/base/error.h"
#include "braid/io/file/file.h"

namespace braid::train {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::array<std::pair<ArrayState, const char*>, 4> kStates = {
    {{ArrayState::kWaiting, "waiting"},
     {ArrayState::kTaken, "taken"},
     {ArrayState::kDone, "done"},
     {ArrayState::kFailed, "failed"}}};

fs::path queue_path(const fs::path& out) { return out / "queue"; }

fs::path config_path(const fs::path& out) {
  return queue_path(out) / "queue.json";
}

fs::path ticket_path(const fs::path& out, size_t number) {
  return queue_path(out) / fmt::format("array-{}.json", number);
}

fs::path address_path(const fs::path& out) {
  return queue_path(out) / "store.json";
}

void make_folder(const fs::path& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error)
    io::fail_file("queue", "cannot create directory", path, error.value());
}

void write_json(const fs::path& path, const Json& json) {
  io::write_file_atomically(path, json.dump(1) + "\n");
}

// What `read` makes of the file; nothing where there is none.
template <class Read>
auto read_json(const fs::path& path, Read read)
    -> std::optional<decltype(read(Json()))> {
  auto file = io::MappedFile::open_if_exists(path);
  if (!file) return std::nullopt;
  const auto* begin = reinterpret_cast<const char*>(file->bytes().data());
  try {
    return read(Json::parse(begin, begin + file->bytes().size()));
  } catch (const Json::exception&) {
    fail_world(
        "[queue] '{}' cannot be used: it has not the form that is "
        "written there\nHINT: delete it; the jobs beside it stay",
        path.string());
  }
}

ArrayState parse_state(const std::string& name) {
  for (auto [state, known] : kStates) {
    if (name == known) return state;
  }
  fail_world("[queue] '{}' is no state of an array", name);
}

const char* state_name(ArrayState state) {
  for (auto [known, name] : kStates) {
    if (known == state) return name;
  }
  return "";
}

std::string new_id() {
  std::random_device random;
  return fmt::format("{:08x}{:08x}", random(), random());
}

}  // namespace

bool holds_queue(const fs::path& out) {
  std::error_code ignored;  // opening it tells what is wrong
  return fs::exists(config_path(out), ignored);
}

void create_queue(const fs::path& out, double lease_s) {
  make_folder(queue_path(out));
  write_json(config_path(out), {{"id", new_id()}, {"lease_s", lease_s}});
}

QueueConfig read_queue(const fs::path& out) {
  auto config = read_json(config_path(out), [](const Json& json) {
    return QueueConfig{.id = json.at("id"), .lease_s = json.at("lease_s")};
  });
  if (config) return *config;
  fail_usage(
      "[queue] '{}' holds no queue of jobs\n"
      "HINT: 'braid train JOB.yaml --out {} --queue' makes one",
      out.string(), out.string());
}

ArrayTicket read_ticket(const fs::path& out, size_t number) {
  auto ticket = read_json(ticket_path(out, number), [](const Json& json) {
    return ArrayTicket{
        .state = parse_state(json.at("state").get<std::string>()),
        .lease = json.at("lease"),
        .worker = json.at("worker"),
        .failures = json.at("failures"),
        .tried = json.at("tried"),
        .error = json.at("error")};
  });
  return ticket.value_or(ArrayTicket());
}

void write_ticket(const fs::path& out, size_t number,
                  const ArrayTicket& ticket) {
  write_json(ticket_path(out, number), {{"state", state_name(ticket.state)},
                                        {"lease", ticket.lease},
                                        {"worker", ticket.worker},
                                        {"failures", ticket.failures},
                                        {"tried", ticket.tried},
                                        {"error", ticket.error}});
}

// Numbers of leases never fall: those of checkpoints stay.
void reset_tickets(const fs::path& out, size_t num_arrays) {
  for (size_t i = 0; holds_queue(out) && i < num_arrays; ++i) {
    ArrayTicket ticket = read_ticket(out, i);
    if (ticket.lease == 0) continue;
    write_ticket(out, i, {.lease = ticket.lease});
  }
}

void touch_ticket(const fs::path& out, size_t number) {
  fs::path path = ticket_path(out, number);
  if (::utimensat(AT_FDCWD, path.c_str(), nullptr, 0) == 0) return;
  io::fail_file("queue", "cannot write", path, errno);
}

bool is_trained(const fs::path& out, size_t number, const ArrayTicket& ticket,
                const QueueConfig& config) {
  if (ticket.state != ArrayState::kTaken) return false;
  std::error_code error;
  auto heard = fs::last_write_time(ticket_path(out, number), error);
  if (error) return false;
  std::chrono::duration<double> since =
      fs::file_time_type::clock::now() - heard;
  return since.count() < 3 * config.lease_s;
}

std::optional<runtime::Endpoint> read_store_address(const fs::path& out) {
  return read_json(address_path(out), [](const Json& json) {
    return runtime::Endpoint{.host = json.at("host"), .port = json.at("port")};
  });
}

void write_store_address(const fs::path& out,
                         const runtime::Endpoint& address) {
  write_json(address_path(out),
             {{"host", address.host}, {"port", address.port}});
}

void remove_store_address(const fs::path& out) {
  std::error_code ignored;
  fs::remove(address_path(out), ignored);
}

fs::path worker_log_path(const fs::path& out, const std::string& worker) {
  make_folder(queue_path(out) / "workers");
  return queue_path(out) / "workers" / (worker + ".jsonl");
}

}  // namespace braid::train
