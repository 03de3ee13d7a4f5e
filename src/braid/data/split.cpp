#include "braid/data/split.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <numeric>
#include <utility>

#include "braid/base/error.h"
#include "braid/data/sample_random.h"
#include "braid/data/wrapper.h"

namespace braid::data {
namespace {

class Chosen : public Wrapper {
 public:
  Chosen(const DatasetPtr& whole, Part part)
      : Wrapper(whole, whole->fields(), part.count), part_(std::move(part)) {}

  void read(int64_t index, const Draw& draw,
            std::span<std::byte* const> out) const override {
    inner().read(part_[index], draw, out);
  }
  std::string place(size_t field, int64_t index) const override {
    return inner().place(field, part_[index]);
  }
  void prepare(std::span<const int64_t> indices,
               const Draw& draw) const override {
    std::vector<int64_t> there;
    for (int64_t index : indices) there.push_back(part_[index]);
    inner().prepare(there, draw);
  }
  // Numbers rise, so all of them lie between the first and the last.
  void prepare_range(int64_t first, int64_t count) const override {
    if (count <= 0) return;
    int64_t begin = part_[first], last = part_[first + count - 1];
    inner().prepare_range(begin, last - begin + 1);
  }

 private:
  Part part_;
};

int64_t num_eval(const Split& split, int64_t size) {
  if (split.eval >= 1) return static_cast<int64_t>(split.eval);
  return std::llround(split.eval * static_cast<double>(size));
}

[[noreturn]] void fail_sizes(const Split& split, int64_t size,
                             int64_t num_train, const std::string& name) {
  fail_usage(
      "[data.split] {} of {} samples leave {} to evaluate and {} to train "
      "({})\nHINT: both parts need one at least; take another share or count",
      split.eval, size, num_eval(split, size), std::max<int64_t>(num_train, 0),
      name);
}

std::vector<int64_t> room_for(int64_t size) {
  try {
    return std::vector<int64_t>(static_cast<size_t>(size));
  } catch (const std::exception&) {
    fail_world("[data.split] no memory to draw from {} samples", size);
  }
}

// The first `count` of a shuffled row: Fisher and Yates, from the front.
Parts drawn_parts(const Split& split, int64_t size, int64_t count) {
  std::vector<int64_t> row = room_for(size);
  std::iota(row.begin(), row.end(), 0);
  SampleRandom random(split.seed, "split", 0);
  for (int64_t i = 0; i < count; ++i) {
    auto other = static_cast<size_t>(i + random.below(size - i));
    std::swap(row[static_cast<size_t>(i)], row[other]);
  }
  auto middle = row.begin() + count;
  std::sort(row.begin(), middle);
  std::sort(middle, row.end());
  return {.train = {.count = size - count, .numbers = {middle, row.end()}},
          .eval = {.count = count, .numbers = {row.begin(), middle}}};
}

}  // namespace

std::string split_problem(const Split& split) {
  if (split.eval == 1) return "is 1, which could be one sample or all of them";
  bool is_share = split.eval > 0 && split.eval < 1;
  bool is_count = split.eval >= 2 && split.eval <= 0x1p53 &&
                  std::trunc(split.eval) == split.eval;
  if (is_share || is_count) return {};
  return fmt::format("is {}, which is neither a share nor a count of samples",
                     split.eval);
}

Parts split_samples(const Split& split, int64_t size, int64_t reach,
                    const std::string& name) {
  int64_t eval = num_eval(split, size);
  int64_t train = reach == 0 ? size - eval : size - eval - (reach - 1);
  if (eval < 1 || train < 1) fail_sizes(split, size, train, name);
  if (reach == 0) return drawn_parts(split, size, eval);
  return {.train = {.first = 0, .count = train},
          .eval = {.first = size - eval, .count = eval}};
}

DatasetPtr part_of(const DatasetPtr& whole, Part part) {
  return std::make_shared<Chosen>(whole, std::move(part));
}

}  // namespace braid::data
