#include "braid/train/run/roc_areas.h"

#include <algorithm>
#include <cmath>
#include <queue>

#include "braid/base/error.h"

namespace braid::train {
namespace {

constexpr int64_t kBufferNumbers = 1024;  // of a run that is read

[[noreturn]] void fail_disk(const char* what) {
  fail_world(
      "[metrics] cannot {} the temporary file that scores of 'auc' go to\n"
      "HINT: is there room in /tmp? 'eval.limit' looks at fewer samples",
      what);
}

}  // namespace

// One sorted run, a buffer at a time.
class RocAreas::Reader {
 public:
  Reader(std::FILE* file, Run run) : file_(file), left_(run) {}

  // Whether there was another number.
  bool next(double& number) {
    if (at_ == buffer_.size() && !fill()) return false;
    number = buffer_[at_++];
    return true;
  }

 private:
  bool fill() {
    int64_t count = std::min(left_.count, kBufferNumbers);
    if (count == 0) return false;
    buffer_.resize(static_cast<size_t>(count));
    at_ = 0;
    auto byte = static_cast<off_t>(left_.offset * int64_t{sizeof(double)});
    bool is_read = ::fseeko(file_, byte, SEEK_SET) == 0 &&
                   std::fread(buffer_.data(), sizeof(double), buffer_.size(),
                              file_) == buffer_.size();
    if (!is_read) fail_disk("read");
    left_.offset += count;
    left_.count -= count;
    return true;
  }

  std::FILE* file_;
  Run left_;
  std::vector<double> buffer_;
  size_t at_ = 0;
};

// All numbers of a list in order, equal ones together.
class RocAreas::Merger {
 public:
  Merger(List& list, std::FILE* file) : held_(list.held) {
    std::ranges::sort(list.held);
    for (const Run& run : list.runs) readers_.emplace_back(file, run);
    for (size_t i = 0; i < readers_.size(); ++i) advance(i);
    advance_held();
  }

  bool at_end() const { return heads_.empty(); }
  double number() const { return heads_.top().number; }

  // Passes over all that are equal to the present number.
  int64_t take_group() {
    double present = number();
    int64_t count = 0;
    while (!at_end() && number() == present) {
      size_t from = heads_.top().from;
      heads_.pop();
      from == kHeld ? advance_held() : advance(from);
      ++count;
    }
    return count;
  }

 private:
  static constexpr size_t kHeld = SIZE_MAX;
  struct Head {
    double number;
    size_t from;
    bool operator>(const Head& other) const { return number > other.number; }
  };

  void advance(size_t reader) {
    double number = 0;
    if (readers_[reader].next(number)) heads_.push({number, reader});
  }
  void advance_held() {
    if (at_ < held_.size()) heads_.push({held_[at_++], kHeld});
  }

  const std::vector<double>& held_;
  size_t at_ = 0;
  std::vector<Reader> readers_;
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads_;
};

RocAreas::RocAreas(int64_t num_curves, int64_t most_held)
    : lists_(static_cast<size_t>(2 * num_curves)),
      has_nan_(static_cast<size_t>(num_curves)),
      most_held_(most_held),
      file_(nullptr, std::fclose) {}

RocAreas::List& RocAreas::list(int64_t curve, bool is_positive) {
  return lists_[static_cast<size_t>(2 * curve + (is_positive ? 1 : 0))];
}

void RocAreas::add(int64_t curve, double score, bool is_positive) {
  if (std::isnan(score)) {
    has_nan_[static_cast<size_t>(curve)] = true;
    return;
  }
  list(curve, is_positive).held.push_back(score);
  if (++held_ >= most_held_) spill();
}

void RocAreas::spill() {
  if (!file_) file_.reset(std::tmpfile());
  if (!file_) fail_disk("create");
  auto end = static_cast<off_t>(written_ * int64_t{sizeof(double)});
  if (::fseeko(file_.get(), end, SEEK_SET) != 0) fail_disk("write");
  for (List& list : lists_) {
    if (list.held.empty()) continue;
    std::ranges::sort(list.held);
    size_t done = std::fwrite(list.held.data(), sizeof(double),
                              list.held.size(), file_.get());
    if (done != list.held.size()) fail_disk("write");
    list.runs.push_back({written_, static_cast<int64_t>(list.held.size())});
    written_ += static_cast<int64_t>(list.held.size());
    // The next scores come in other shares: nothing is kept for them.
    list.held = {};
  }
  if (std::fflush(file_.get()) != 0) fail_disk("write");
  held_ = 0;
}

double RocAreas::area(int64_t curve) {
  if (has_nan_[static_cast<size_t>(curve)]) return NAN;
  Merger positives(list(curve, true), file_.get());
  Merger negatives(list(curve, false), file_.get());
  double below = 0, wins = 0, num_positives = 0;
  while (!positives.at_end()) {
    double score = positives.number(), tied = 0;
    while (!negatives.at_end() && negatives.number() < score) {
      below += static_cast<double>(negatives.take_group());
    }
    if (!negatives.at_end() && negatives.number() == score) {
      tied = static_cast<double>(negatives.take_group());
    }
    auto count = static_cast<double>(positives.take_group());
    wins += count * (below + tied / 2);
    num_positives += count;
    below += tied;
  }
  while (!negatives.at_end()) {
    below += static_cast<double>(negatives.take_group());
  }
  if (num_positives == 0 || below == 0) return NAN;
  return wins / num_positives / below;
}

double RocAreas::mean_area() {
  double sum = 0;
  for (int64_t i = 0; i < num_curves(); ++i) sum += area(i);
  return sum / static_cast<double>(num_curves());
}

}  // namespace braid::train
