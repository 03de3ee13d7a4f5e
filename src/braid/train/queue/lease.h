// Leases: of all workers that share a folder one has an array of jobs at a
// time.
//
// A lease is a word in the store, "NUMBER WORKER BEAT", which its holder
// changes again and again. Who sees the same word for as long as a lease lasts
// may put his own there, with a higher number; the holder stopped to trust his
// own by then, as he counts from the moment before he asked. Nobody compares
// clocks.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "braid/io/file/fence.h"
#include "braid/runtime/comm/store.h"

namespace braid::train {

// Seconds on this host; goes on while it sleeps.
using LeaseClock = std::function<double()>;
double seconds_since_boot();

struct LeaseTerms {
  double lasts_s = 30;
  LeaseClock now = seconds_since_boot;
};

// Thread-safe. Borrows the store.
class Lease : public io::Fence {
 public:
  Lease(runtime::Store& store, std::string key, int64_t number,
        std::string worker, LeaseTerms terms, double since_s);

  // Tells the others that it is still held. Throws when the store does not
  // answer; the lease holds until its time is over.
  void renew();
  // Others may have it at once. Says nothing when they cannot be told.
  void give_back();

  void check() const override;
  int64_t number() const override { return number_; }
  bool is_lost() const { return is_taken_ || terms_.now() >= until_s_; }

 private:
  std::string word() const;

  runtime::Store& store_;
  std::string key_, worker_;
  int64_t number_, beat_ = 0;
  LeaseTerms terms_;
  std::mutex mutex_;  // of what is said to the store
  std::atomic<double> until_s_;
  std::atomic<bool> is_taken_ = false;  // somebody else has it
};

// What the folder says of who had it last.
struct LastLease {
  int64_t number = 0;
  std::string worker = {};  // empty: it was given back
};

// Takes leases for one worker. One thread. Borrows the store.
class LeaseTaker {
 public:
  // `is_dead` tells of another worker that is known not to live any more.
  LeaseTaker(runtime::Store& store, std::string worker, LeaseTerms terms,
             std::function<bool(const std::string& worker)> is_dead);

  // Null: somebody has it, or may have. Throws when the store does not answer.
  std::unique_ptr<Lease> take(const std::string& key, const LastLease& last);

 private:
  bool is_over(const std::string& key, const std::string& word,
               const std::string& worker);

  struct Seen {
    std::string word;
    double since_s;
  };
  runtime::Store& store_;
  std::string worker_;
  LeaseTerms terms_;
  std::function<bool(const std::string&)> is_dead_;
  std::map<std::string, Seen> seen_;
};

}  // namespace braid::train
