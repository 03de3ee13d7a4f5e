// What is wrong with a configuration, gathered so that one error names all of
// it, each with its place.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include "braid/config/node.h"

namespace braid::config {

struct Problem {
  std::string text;       // "optimizer.lr is a number, got 'fast'"
  std::string hint = {};  // what to do, when that is known
};

// What an error says, without who says it.
Problem problem_of(const std::invalid_argument& error);

class Report {
 public:
  // "job", "train.yaml": messages begin "[job] train.yaml line 7: ...".
  Report(std::string who, std::string file)
      : who_(std::move(who)), file_(std::move(file)) {}

  void add(const Place& place, Problem problem);
  // Whether there is a problem at this place of the file or command line.
  bool has(const Place& place) const;
  bool empty() const { return entries_.empty(); }

  struct Entry {
    Place place;
    Problem problem;
  };
  // In the order in which they were added.
  const std::vector<Entry>& entries() const { return entries_; }

  // "train.yaml line 7", "override 'optimizer.lr=3e-4'"
  std::string place_text(const Place& place) const;

  // Throws std::invalid_argument that lists the problems by line.
  void throw_if_any() const;

 private:
  std::string one_text() const;
  std::string all_text() const;

  std::string who_, file_;
  std::vector<Entry> entries_;
};

}  // namespace braid::config
