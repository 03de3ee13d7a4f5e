// `braid inspect DIR --stats PATTERN`: what the numbers of a run look like, its
// weights at the newest checkpoint and their gradients on the batch that comes
// next. Nothing in the folder changes.
#pragma once

#include <string>
#include <vector>

namespace braid::cli {

struct InspectStatsOptions {
  std::vector<std::string> words;  // the folder of a run, and values of its job
  std::string pattern;             // of names
  bool json = false;               // instead of a table
};

void inspect_stats(const InspectStatsOptions& options);

}  // namespace braid::cli
