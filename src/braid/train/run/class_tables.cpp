#include "braid/train/run/class_tables.h"

#include <fmt/format.h>

#include <vector>

#include "braid/base/csv_cell.h"
#include "braid/base/printable.h"

namespace braid::train {
namespace {

using Row = std::vector<std::string>;
using Rows = std::vector<Row>;  // the first has the titles

Rows class_rows(const ClassCounts& counts, const ClassNames& names) {
  Rows rows{
      {"class", "targets", "taken", "right", "precision", "recall", "f1"}};
  for (int64_t c = 0; c < counts.num_classes(); ++c) {
    const ClassCounts::Counts& of = counts.of(c);
    rows.push_back({fmt::format("{}", c), fmt::format("{}", of.targets),
                    fmt::format("{}", of.taken), fmt::format("{}", of.right),
                    fmt::format("{}", of.precision()),
                    fmt::format("{}", of.recall()),
                    fmt::format("{}", of.f1())});
  }
  for (size_t i = 0; !names.empty() && i < rows.size(); ++i) {
    rows[i].insert(rows[i].begin() + 1, i == 0 ? "name" : names[i - 1]);
  }
  return rows;
}

bool has_undecided(const ClassCounts& counts) {
  for (int64_t c = 0; c < counts.num_classes(); ++c) {
    if (counts.undecided(c) > 0) return true;
  }
  return false;
}

Rows confusion_rows(const ClassCounts& counts, const ClassNames& names) {
  bool with_none = has_undecided(counts);
  Rows rows{{"target"}};
  for (int64_t c = 0; c < counts.num_classes(); ++c) {
    std::string title =
        names.empty() ? fmt::format("{}", c) : names[static_cast<size_t>(c)];
    rows[0].push_back(title);
    Row& row = rows.emplace_back(Row{title});
    for (int64_t taken = 0; taken < counts.num_classes(); ++taken) {
      row.push_back(fmt::format("{}", counts.confused(c, taken)));
    }
    if (with_none) row.push_back(fmt::format("{}", counts.undecided(c)));
  }
  if (with_none) rows[0].push_back("none");
  return rows;
}

std::string csv(const Rows& rows) {
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) {
      text += (i > 0 ? "," : "") + csv_cell(row[i]);
    }
    text += '\n';
  }
  return text;
}

// A bar would end the cell.
std::string markdown_cell(const std::string& text) {
  std::string cell;
  for (char c : printable(text)) cell += c == '|' ? "\\|" : std::string(1, c);
  return cell;
}

std::string markdown(const Rows& rows) {
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    for (const std::string& cell : rows[i]) {
      text += fmt::format("| {} ", markdown_cell(cell));
    }
    text += "|\n";
    if (i > 0) continue;
    for (size_t k = 0; k < rows[0].size(); ++k) text += "| ---: ";
    text += "|\n";
  }
  return text;
}

}  // namespace

std::string classes_csv(const ClassCounts& counts, int64_t step,
                        const ClassNames& names) {
  Rows rows = class_rows(counts, names);
  for (size_t i = 0; i < rows.size(); ++i) {
    rows[i].insert(rows[i].begin(), i == 0 ? "step" : fmt::format("{}", step));
  }
  return csv(rows);
}

std::string classes_markdown(const ClassCounts& counts,
                             const ClassNames& names) {
  return markdown(class_rows(counts, names));
}

std::string confusion_csv(const ClassCounts& counts, const ClassNames& names) {
  return csv(confusion_rows(counts, names));
}

std::string confusion_markdown(const ClassCounts& counts,
                               const ClassNames& names) {
  return markdown(confusion_rows(counts, names));
}

}  // namespace braid::train
