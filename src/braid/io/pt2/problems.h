// Everything that is wrong with a file, told at once.
#pragma once

#include <string>
#include <vector>

namespace braid::io::pt2 {

class Problems {
 public:
  // The same text is told once.
  void add(const std::string& text);
  bool empty() const { return texts_.empty(); }
  // Throws std::invalid_argument with all of them, unless there are none.
  void raise(const std::string& where) const;

 private:
  std::vector<std::string> texts_;
  size_t more_ = 0;  // beyond the limit
};

}  // namespace braid::io::pt2
