#include "braid/compile/program_cache.h"

namespace braid::compile {

std::shared_ptr<const ProgramSet> ProgramCache::get(const std::string& key,
                                                    const Compile& compile) {
  std::promise<std::shared_ptr<const ProgramSet>> made;
  std::unique_lock lock(mutex_);
  auto [known, is_new] = sets_.emplace(key, Shared());
  if (is_new) known->second = made.get_future().share();
  Shared set = known->second;
  lock.unlock();
  if (!is_new) return set.get();
  try {
    made.set_value(std::make_shared<const ProgramSet>(compile()));
  } catch (...) {
    lock.lock();
    sets_.erase(key);
    made.set_exception(std::current_exception());
  }
  return set.get();
}

}  // namespace braid::compile
