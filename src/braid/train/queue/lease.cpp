#include "braid/train/queue/lease.h"

#include <time.h>

#include <algorithm>
#include <sstream>

#include "braid/base/error.h"

namespace braid::train {
namespace {

constexpr const char* kNobody = "-";

struct Word {
  int64_t number = 0;
  std::string worker = kNobody;
};

std::string word_text(int64_t number, const std::string& worker, int64_t beat) {
  return fmt::format("{} {} {}", number, worker, beat);
}

Word read_word(const std::string& key, const std::string& text) {
  Word word;
  std::istringstream words(text);
  if (words >> word.number >> word.worker) return word;
  fail_world("[queue] the store holds '{}' for {}, which is no lease", text,
             key);
}

}  // namespace

double seconds_since_boot() {
  timespec time = {};
  ::clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<double>(time.tv_sec) +
         static_cast<double>(time.tv_nsec) * 1e-9;
}

Lease::Lease(runtime::Store& store, std::string key, int64_t number,
             std::string worker, LeaseTerms terms, double since_s)
    : store_(store),
      key_(std::move(key)),
      worker_(std::move(worker)),
      number_(number),
      terms_(std::move(terms)),
      until_s_(since_s + terms_.lasts_s) {}

std::string Lease::word() const { return word_text(number_, worker_, beat_); }

// Of two calls of which the store took the first and its answer was lost the
// second finds the word of the first.
void Lease::renew() {
  std::lock_guard lock(mutex_);
  if (is_lost()) return;
  double asked_s = terms_.now();
  std::string before = word(), after = word_text(number_, worker_, beat_ + 1);
  bool is_mine =
      store_.replace(key_, before, after) || store_.replace(key_, after, after);
  if (!is_mine) {
    is_taken_ = true;
    return;
  }
  ++beat_;
  until_s_ = asked_s + terms_.lasts_s;
}

void Lease::give_back() {
  std::lock_guard lock(mutex_);
  if (is_lost()) return;
  is_taken_ = true;
  try {
    store_.replace(key_, word(), word_text(number_, kNobody, 0));
  } catch (const std::exception&) {
    // They wait until it is over.
  }
}

void Lease::check() const {
  if (!is_lost()) return;
  fail_world(
      "[queue] lease {} of {} was lost: {}\n"
      "HINT: another worker goes on with it from the newest checkpoint",
      number_, key_,
      is_taken_ ? "another worker has it"
                : "the store could not be told in time that it is still held");
}

LeaseTaker::LeaseTaker(runtime::Store& store, std::string worker,
                       LeaseTerms terms,
                       std::function<bool(const std::string&)> is_dead)
    : store_(store),
      worker_(std::move(worker)),
      terms_(std::move(terms)),
      is_dead_(std::move(is_dead)) {}

// A store that was begun anew knows nothing of leases that still hold; the
// folder does.
std::unique_ptr<Lease> LeaseTaker::take(const std::string& key,
                                        const LastLease& last) {
  std::string text = store_.get(key).value_or("");
  Word word{.number = last.number,
            .worker = last.worker.empty() ? kNobody : last.worker};
  if (!text.empty()) word = read_word(key, text);
  std::string seen =
      text.empty() ? fmt::format("{} {}", word.number, word.worker) : text;
  if (!is_over(key, seen, word.worker)) return nullptr;
  int64_t number = std::max(last.number, word.number) + 1;
  double asked_s = terms_.now();
  if (!store_.replace(key, text, word_text(number, worker_, 0))) return nullptr;
  seen_.erase(key);
  return std::make_unique<Lease>(store_, key, number, worker_, terms_, asked_s);
}

bool LeaseTaker::is_over(const std::string& key, const std::string& word,
                         const std::string& worker) {
  if (worker == kNobody || worker == worker_ || is_dead_(worker)) return true;
  double now = terms_.now();
  auto [seen, is_new] = seen_.try_emplace(key, Seen{word, now});
  if (is_new || seen->second.word != word) {
    seen->second = {word, now};
    return false;
  }
  return now - seen->second.since_s >= terms_.lasts_s;
}

}  // namespace braid::train
