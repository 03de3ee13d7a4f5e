#include "braid/passes/array/member_values.h"

#include <vector>

#include "braid/ops/build/functions.h"

namespace braid::passes {

Var MemberValues::of(Var all, int64_t member) {
  if (!all || member == kAllMembers) return all;
  Var& made = made_[{all.id, member}];
  if (!made) made = select(all, 0, member);
  return made;
}

Var sum_of_members(const std::map<int64_t, Var>& by_owner, int64_t members) {
  auto common = by_owner.find(kAllMembers);
  bool has_common = common != by_owner.end();
  if (has_common && by_owner.size() == 1) return common->second;
  Var zero = full_like(by_owner.rbegin()->second, {}, 0);
  std::vector<Var> own;
  for (int64_t member = 0; member < members; ++member) {
    auto at = by_owner.find(member);
    own.push_back(at == by_owner.end() ? zero : at->second);
  }
  Var sum = stack(own, 0);
  return has_common ? add(common->second, sum) : sum;
}

}  // namespace braid::passes
