// ProgramCache: program sets that several arrays of one kind run, so that each
// is compiled, and planned, once.
#pragma once

#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "braid/compile/program_set.h"

namespace braid::compile {

// Thread-safe.
class ProgramCache {
 public:
  using Compile = std::function<ProgramSet()>;

  // The set of that key; who asks first compiles it, and others wait. When that
  // throws, so do they, and the next to ask tries again.
  std::shared_ptr<const ProgramSet> get(const std::string& key,
                                        const Compile& compile);

 private:
  using Shared = std::shared_future<std::shared_ptr<const ProgramSet>>;

  std::mutex mutex_;
  std::map<std::string, Shared> sets_;
};

}  // namespace braid::compile
