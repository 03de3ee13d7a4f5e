// The keys of a struct as a table for the docs and as --help.
#pragma once

#include <string>
#include <vector>

#include "braid/base/config/section.h"

namespace braid::config {

struct Row {
  std::string key;      // "optimizer.lr"; NAME and N stand for any
  std::string type;     // "whole number, at least 0"
  std::string initial;  // the default as a file has it; empty: none
  std::string meaning;
};

class RowCollector : public Section {
 public:
  explicit RowCollector(std::string prefix = {}) : prefix_(std::move(prefix)) {}
  std::vector<Row> take() { return std::move(rows_); }

  void bare(Name key) override;
  void rest(Options& options, Name what, Meaning meaning) override;

 protected:
  void value(const Field& field) override;
  void limit(const Limit& limit) override;
  void group(const Group& group) override;
  void groups(const Items& items) override;

 private:
  void add_inner(RowCollector& inner);
  std::string bare_key_;
  std::string prefix_;
  std::vector<Row> rows_;
};

// In the order of the description.
template <class T>
std::vector<Row> rows_of() {
  T config;
  RowCollector collector;
  describe(collector, config);
  return collector.take();
}

// | Key | Type | Default | Meaning |
std::string markdown_table(const std::vector<Row>& rows);

// One key per line, at most 80 columns wide.
std::string help_text(const std::vector<Row>& rows);

}  // namespace braid::config
