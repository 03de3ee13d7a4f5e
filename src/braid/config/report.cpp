#include "braid/config/report.h"

#include <algorithm>
#include <limits>

#include "braid/base/error.h"

namespace braid::config {
namespace {

constexpr size_t kMaxListed = 20;

// Overrides come behind the file, what has no place before it.
int rank_of(const Place& place) {
  return place.override_text.empty() ? place.line
                                     : std::numeric_limits<int>::max();
}

std::string hint_text(const Problem& problem, std::string_view indent) {
  if (problem.hint.empty()) return "";
  return fmt::format("\n{}HINT: {}", indent, problem.hint);
}

}  // namespace

Problem problem_of(const std::invalid_argument& error) {
  ErrorParts parts = parts_of(error);
  return {std::move(parts.text), std::move(parts.hint)};
}

void Report::add(const Place& place, Problem problem) {
  entries_.push_back({place, std::move(problem)});
}

bool Report::has(const Place& place) const {
  return std::ranges::any_of(
      entries_, [&](const Entry& entry) { return entry.place == place; });
}

// An override is no part of the file.
std::string Report::place_text(const Place& place) const {
  if (!place.override_text.empty() || file_.empty()) return place.text();
  return place.line > 0 ? file_ + " " + place.text() : file_;
}

std::string Report::one_text() const {
  const Entry& entry = entries_[0];
  std::string place = place_text(entry.place);
  return fmt::format("{}{}{}{}", place, place.empty() ? "" : ": ",
                     entry.problem.text, hint_text(entry.problem, ""));
}

std::string Report::all_text() const {
  std::vector<Entry> sorted = entries_;
  std::ranges::stable_sort(
      sorted, {}, [](const Entry& entry) { return rank_of(entry.place); });
  std::string text = fmt::format("{}{}{} problems", file_,
                                 file_.empty() ? "" : ": ", sorted.size());
  for (size_t i = 0; i < std::min(sorted.size(), kMaxListed); ++i) {
    std::string place = sorted[i].place.text();
    text += fmt::format("\n  {}{}{}{}", place, place.empty() ? "" : ": ",
                        sorted[i].problem.text,
                        hint_text(sorted[i].problem, "    "));
  }
  if (sorted.size() > kMaxListed) {
    text += fmt::format("\n  and {} more", sorted.size() - kMaxListed);
  }
  return text;
}

void Report::throw_if_any() const {
  if (entries_.empty()) return;
  fail_usage("[{}] {}", who_, entries_.size() == 1 ? one_text() : all_text());
}

}  // namespace braid::config
