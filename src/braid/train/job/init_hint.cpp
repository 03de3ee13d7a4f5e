#include "braid/train/job/init_hint.h"

#include <fmt/format.h>

#include <optional>
#include <set>

#include "braid/base/printable.h"

namespace braid::train {
namespace {

using Names = std::vector<std::string>;

struct Beginning {
  std::string in_file, in_model;
};

std::optional<std::string> before(const std::string& text,
                                  const std::string& end) {
  if (text.size() <= end.size() || !text.ends_with("." + end)) return {};
  return text.substr(0, text.size() - end.size());
}

// How many names of the file fit the model with another beginning.
size_t num_fitting(const InitMisfit& m, const Beginning& beginning) {
  std::set<std::string> missing(m.missing.begin(), m.missing.end());
  size_t count = 0;
  for (const std::string& name : m.extra) {
    if (!name.starts_with(beginning.in_file)) continue;
    count += missing.contains(beginning.in_model +
                              name.substr(beginning.in_file.size()));
  }
  return count;
}

// Files of a wrapped module have "module." too many, those of a part of the
// model "backbone." too few. Only what brings most of the names together.
std::optional<Beginning> other_beginning(const InitMisfit& m) {
  if (m.missing.empty() || m.extra.empty()) return {};
  std::vector<Beginning> candidates;
  const std::string& first = m.extra[0];
  for (const std::string& wanted : m.missing) {
    if (auto too_many = before(first, wanted)) {
      candidates.push_back({*too_many, ""});
    }
    if (auto too_few = before(wanted, first)) {
      candidates.push_back({"", *too_few});
    }
    if (candidates.size() > 8) break;
  }
  for (const Beginning& one : candidates) {
    if (2 * num_fitting(m, one) > m.extra.size()) return one;
  }
  return {};
}

// Names below one part of the model as one pattern: "head.*".
std::string patterns_of(const Names& names) {
  std::set<std::string> patterns;
  for (const std::string& name : names) {
    size_t dot = name.rfind('.');
    patterns.insert(dot == std::string::npos ? name
                                             : name.substr(0, dot) + ".*");
  }
  std::string text;
  size_t shown = 0;
  for (const std::string& pattern : patterns) {
    if (++shown > 4) return text + ", ...";
    text += fmt::format("{}'{}'", text.empty() ? "" : ", ", printable(pattern));
  }
  return text;
}

}  // namespace

std::string init_hint(const InitMisfit& m) {
  if (auto beginning = other_beginning(m)) {
    return fmt::format(
        "\nHINT: names begin otherwise in the file; in a job: init: {{rename: "
        "{{'{}': '{}'}}}}",
        printable(beginning->in_file), printable(beginning->in_model));
  }
  std::string keys;
  auto add = [&](const char* key, const Names& names) {
    if (names.empty()) return;
    keys += fmt::format("{}{}: [{}]", keys.empty() ? "" : ", ", key,
                        patterns_of(names));
  };
  add("missing", m.missing);
  add("reshaped", m.reshaped);
  add("extra", m.extra);
  if (keys.empty()) return "";
  return fmt::format("\nHINT: if that is meant, in a job: init: {{{}}}", keys);
}

}  // namespace braid::train
