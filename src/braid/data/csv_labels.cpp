#include "braid/data/csv_labels.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "braid/base/error.h"
#include "braid/io/problems.h"

namespace braid::data {
namespace {

using Cells = std::vector<std::string>;

// A label that is a class by its own number; 3.0 is one too.
std::optional<int64_t> whole_label(const std::string& label) {
  if (auto whole = whole_in(label)) return whole;
  constexpr double kMost = 1LL << 53;
  double number = number_in(label).value_or(-1);
  bool is_whole = number >= 0 && number < kMost && std::trunc(number) == number;
  return is_whole ? std::optional(static_cast<int64_t>(number)) : std::nullopt;
}

bool are_whole(const Cells& labels) {
  return std::ranges::all_of(labels, [](const std::string& label) {
    return whole_label(label).value_or(-1) >= 0;
  });
}

// Numbered as words, 12.5 would be the class before 9: nobody means that.
void refuse_fractions(const CsvReader& reader, const CsvTable& table) {
  auto number = [](const std::string& label) { return number_in(label); };
  auto is_number = [&](const std::string& label) {
    return number(label).has_value();
  };
  if (!std::ranges::all_of(table.labels, is_number)) return;
  for (size_t row = 0; row < table.labels.size(); ++row) {
    double value = number(table.labels[row]).value();
    if (std::trunc(value) == value) continue;
    reader.fail(
        fmt::format("classes in {}", table.column_name(*table.label)),
        fmt::format("the number {}", io::shown(table.labels[row])),
        table.lines[row],
        "'target: number' learns numbers; 'names' lists labels that are "
        "classes though they look like numbers");
  }
}

void refuse_empty_labels(const CsvReader& reader, const CsvTable& table) {
  auto empty = std::ranges::find(table.labels, "");
  if (empty == table.labels.end()) return;
  reader.fail(fmt::format("a label in {}", table.column_name(*table.label)),
              "''",
              table.lines[static_cast<size_t>(empty - table.labels.begin())],
              "leave such rows out, or list '' among 'names'");
}

// The class of every name; empty when labels are their own numbers.
using Classes = std::map<std::string, int64_t>;

Classes numbered(const Cells& names) {
  Classes classes;
  for (const std::string& name : names) {
    classes.emplace(name, static_cast<int64_t>(classes.size()));
  }
  return classes;
}

Classes sorted(const Cells& labels) {
  Classes classes;
  for (const std::string& label : labels) classes.emplace(label, 0);
  int64_t next = 0;
  for (auto& [name, number] : classes) number = next++;
  return classes;
}

Classes classes_of(const Options& options, const Opening& opening,
                   const CsvReader& reader, const CsvTable& table) {
  if (options.has("names")) return numbered(options.names("names"));
  const Field* known = opening.find("y");
  if (known && !known->class_names.empty()) return numbered(known->class_names);
  if (are_whole(table.labels)) return {};
  if (known && !is_floating(known->dtype)) {
    fail_usage(
        "[{}] the training data have numbers as labels, and {} has words\n"
        "HINT: 'names' lists labels in the order of their classes",
        options.who(), table.column_name(*table.label));
  }
  refuse_fractions(reader, table);
  refuse_empty_labels(reader, table);
  return sorted(table.labels);
}

int64_t class_of(const Classes& names, const std::string& label) {
  if (names.empty()) return whole_label(label).value();
  auto found = names.find(label);
  return found == names.end() ? -1 : found->second;
}

std::string expected_label(const Options& options, int64_t number,
                           int64_t classes) {
  if (number >= 0) return fmt::format("a class below {}", classes);
  return options.has("names") ? "one of the given names as label"
                              : "a label that the training data have";
}

}  // namespace

CsvClasses number_labels(const Options& options, const Opening& opening,
                         const CsvReader& reader, const CsvTable& table) {
  Classes names = classes_of(options, opening, reader, table);
  int64_t classes = options.whole("classes");
  if (classes == 0) classes = static_cast<int64_t>(names.size());
  CsvClasses made;
  int64_t most = 0;
  for (size_t row = 0; row < table.labels.size(); ++row) {
    int64_t number = class_of(names, table.labels[row]);
    if (number < 0 || (classes > 0 && number >= classes)) {
      reader.fail(expected_label(options, number, classes),
                  fmt::format("'{}'", io::shown(table.labels[row])),
                  table.lines[row]);
    }
    made.numbers.push_back(number);
    most = std::max(most, number);
  }
  made.names.resize(names.size());
  for (const auto& [name, number] : names) {
    made.names[static_cast<size_t>(number)] = name;
  }
  made.count = classes > 0 ? classes : most + 1;
  return made;
}

}  // namespace braid::data
