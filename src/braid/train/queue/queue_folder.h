// What workers keep in the folder of the jobs that they share:
//
//   OUT/queue/queue.json      what this queue is called, and how long a lease
//                             lasts
//       array-0.json          who has the array, or how it ended
//       store.json            where `braid worker --store` keeps the store
//       workers/NAME.jsonl    what a worker did, and when
//
// A file of an array is only ever replaced as a whole, by who has its lease.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "braid/runtime/comm/store.h"

namespace braid::train {

struct QueueConfig {
  std::string id = {};  // no other queue has it
  double lease_s = 30;
};

enum class ArrayState { kWaiting, kTaken, kDone, kFailed };

inline bool is_over(ArrayState state) {
  return state == ArrayState::kDone || state == ArrayState::kFailed;
}

struct ArrayTicket {
  ArrayState state = ArrayState::kWaiting;
  int64_t lease = 0;        // the number of the last one
  std::string worker = {};  // that has or had it
  // Jobs that failed, and why.
  std::map<std::string, std::string> failures = {};
  // Workers that could not train it, and why the last of them could not.
  std::vector<std::string> tried = {};
  std::string error = {};
};

bool holds_queue(const std::filesystem::path& out);

// Of a folder that holds jobs. Throws when it cannot be written.
void create_queue(const std::filesystem::path& out, double lease_s);

// Throws std::runtime_error when it cannot be read.
QueueConfig read_queue(const std::filesystem::path& out);

// One that nobody has had yet has no file.
ArrayTicket read_ticket(const std::filesystem::path& out, size_t number);
void write_ticket(const std::filesystem::path& out, size_t number,
                  const ArrayTicket& ticket);
// Jobs that go on without workers, of which none lives: whatever ended may be
// asked for again. Nothing where there is no queue.
void reset_tickets(const std::filesystem::path& out, size_t num_arrays);
// The worker that has it lives: called again and again meanwhile.
void touch_ticket(const std::filesystem::path& out, size_t number);
// Whether a worker has it and was heard of within the time of three leases.
bool is_trained(const std::filesystem::path& out, size_t number,
                const ArrayTicket& ticket, const QueueConfig& config);

std::optional<runtime::Endpoint> read_store_address(
    const std::filesystem::path& out);
void write_store_address(const std::filesystem::path& out,
                         const runtime::Endpoint& address);
void remove_store_address(const std::filesystem::path& out);

std::filesystem::path worker_log_path(const std::filesystem::path& out,
                                      const std::string& worker);

}  // namespace braid::train
