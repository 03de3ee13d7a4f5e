// The keys of a struct as a table for the docs and as --help.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "braid/config/section.h"

namespace braid::config {

struct Row {
  std::string key;      // "optimizer.lr"; NAME and N stand for any
  std::string type;     // "whole number, at least 0"
  std::string initial;  // the default as a file has it; empty: none
  std::string meaning;
};

// The keys of a struct are listed where it first stands; later sections of it
// are "as" that one.
class RowCollector : public Section {
 public:
  using Seen = std::map<std::type_index, std::string>;  // struct -> its key

  // Borrows `seen`.
  RowCollector(std::string prefix, Seen& seen)
      : prefix_(std::move(prefix)), seen_(seen) {}
  std::vector<Row> take() { return std::move(rows_); }

  void bare(Name key) override;
  void rest(Options& options, Name what, Meaning meaning) override;

 protected:
  void value(const Field& field) override;
  void limit(const Limit& limit) override;
  void group(const Group& group) override;
  void groups(const Items& items) override;

 private:
  // A row of its own, and those of its keys unless they were listed before.
  void add_section(Row row, std::type_index type, const std::string& prefix,
                   const Describe& describe);

  std::string bare_key_;
  std::string prefix_;
  Seen& seen_;
  std::vector<Row> rows_;
};

// In the order of the description.
template <class T>
std::vector<Row> rows_of() {
  T config;
  RowCollector::Seen seen;
  RowCollector collector("", seen);
  describe(collector, config);
  return collector.take();
}

// | Key | Type | Default | Meaning |
std::string markdown_table(const std::vector<Row>& rows);

// One key per line, at most 80 columns wide.
std::string help_text(const std::vector<Row>& rows);

}  // namespace braid::config
