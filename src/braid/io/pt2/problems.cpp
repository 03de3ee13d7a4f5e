#include "braid/io/pt2/problems.h"

#include <algorithm>

#include "braid/base/error.h"

namespace braid::io::pt2 {
namespace {

constexpr size_t kMost = 20;

}  // namespace

void Problems::add(const std::string& text) {
  if (std::ranges::find(texts_, text) != texts_.end()) return;
  if (texts_.size() < kMost) {
    texts_.push_back(text);
  } else {
    ++more_;
  }
}

void Problems::raise(const std::string& where) const {
  if (texts_.empty()) return;
  std::string list;
  for (const std::string& text : texts_) list += "\n  - " + text;
  if (more_ > 0) list += fmt::format("\n  and {} more", more_);
  fail_usage("[import] '{}' cannot be trained:{}", where, list);
}

}  // namespace braid::io::pt2
