// What simulators take from next.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

namespace braid::schedule {

template <class T>
using LeastFirst = std::priority_queue<T, std::vector<T>, std::greater<>>;

// A job that waits: the least key first, then the order of the list.
struct Waiting {
  double key;
  int32_t job;
  bool operator>(const Waiting& other) const {
    return std::tie(key, job) > std::tie(other.key, other.job);
  }
};

}  // namespace braid::schedule
