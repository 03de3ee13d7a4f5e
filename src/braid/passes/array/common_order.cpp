#include "braid/passes/array/common_order.h"

#include <algorithm>
#include <utility>

namespace braid::passes {
namespace {

using Items = std::vector<int32_t>;
using Pairs = std::vector<std::pair<int32_t, int32_t>>;  // equal items

// The longest common subsequence by the well-known table, after what both
// begin and end with is set aside.
class TwoLists {
 public:
  TwoLists(const Items& a, const Items& b) : a_(a), b_(b) {}

  Pairs run() {
    size_t shorter = std::min(a_.size(), b_.size());
    while (begin_ < shorter && a_[begin_] == b_[begin_]) ++begin_;
    while (end_ < shorter - begin_ &&
           a_[a_.size() - 1 - end_] == b_[b_.size() - 1 - end_]) {
      ++end_;
    }
    fill_table();
    return walk();
  }

 private:
  size_t rows() const { return a_.size() - begin_ - end_; }
  size_t columns() const { return b_.size() - begin_ - end_; }
  int32_t& longest(size_t i, size_t j) {
    return table_[i * (columns() + 1) + j];
  }
  bool is_equal(size_t i, size_t j) const {
    return a_[begin_ + i] == b_[begin_ + j];
  }

  // longest(i, j): of what begins at row i and column j.
  void fill_table() {
    table_.assign((rows() + 1) * (columns() + 1), 0);
    for (size_t i = rows(); i-- > 0;) {
      for (size_t j = columns(); j-- > 0;) {
        longest(i, j) = is_equal(i, j)
                            ? longest(i + 1, j + 1) + 1
                            : std::max(longest(i + 1, j), longest(i, j + 1));
      }
    }
  }

  Pairs walk() {
    Pairs pairs;
    auto add = [&](size_t i, size_t j) {
      pairs.emplace_back(static_cast<int32_t>(i), static_cast<int32_t>(j));
    };
    for (size_t i = 0; i < begin_; ++i) add(i, i);
    for (size_t i = 0, j = 0; i < rows() && j < columns();) {
      if (is_equal(i, j)) {
        add(begin_ + i++, begin_ + j++);
      } else {
        longest(i + 1, j) >= longest(i, j + 1) ? ++i : ++j;
      }
    }
    for (size_t i = end_; i > 0; --i) add(a_.size() - i, b_.size() - i);
    return pairs;
  }

  const Items& a_;
  const Items& b_;
  size_t begin_ = 0, end_ = 0;  // items set aside
  Items table_;
};

}  // namespace

std::vector<Items> common_order(const std::vector<Items>& lists) {
  std::vector<Items> common;  // [item][list so far]
  for (size_t i = 0; i < lists.at(0).size(); ++i) {
    common.push_back({static_cast<int32_t>(i)});
  }
  for (size_t k = 1; k < lists.size(); ++k) {
    Items so_far;
    for (const Items& item : common) {
      so_far.push_back(lists[0][static_cast<size_t>(item[0])]);
    }
    std::vector<Items> kept;
    for (auto [first, second] : TwoLists(so_far, lists[k]).run()) {
      kept.push_back(std::move(common[static_cast<size_t>(first)]));
      kept.back().push_back(second);
    }
    common = std::move(kept);
  }
  return common;
}

}  // namespace braid::passes
