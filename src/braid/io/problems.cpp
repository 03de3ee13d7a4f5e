#include "braid/io/problems.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/base/printable.h"

namespace braid::io {

std::string shown(std::string_view text) { return printable(text); }

void Problems::add(std::string_view place, std::string_view text) {
  ++count_;
  if (is_full()) return;
  ErrorParts parts = error_parts(std::string(text));
  if (!parts.hint.empty()) add_hint(std::exchange(parts.hint, ""));
  lines_.push_back(place.empty()
                       ? parts.message()
                       : fmt::format("{}: {}", place, parts.message()));
}

void Problems::add_hint(std::string_view hint) {
  if (std::ranges::count(hints_, hint) == 0) hints_.emplace_back(hint);
}

void Problems::throw_if_any(std::string_view where,
                            std::string_view file) const {
  if (empty()) return;
  std::string text = fmt::format("[{}] {}: ", where, file);
  if (count_ == 1) {
    text += lines_[0];
  } else {
    text += fmt::format("{} problems", count_);
    for (const std::string& line : lines_) text += "\n  " + line;
    if (count_ > lines_.size()) {
      text += fmt::format("\n  and {} more", count_ - lines_.size());
    }
  }
  for (const std::string& hint : hints_) text += "\nHINT: " + hint;
  fail_world("{}", text);
}

}  // namespace braid::io
