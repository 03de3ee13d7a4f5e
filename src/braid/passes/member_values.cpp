#include "braid/passes/member_values.h"

#include "braid/ops/functions.h"

namespace braid::passes {

Var MemberValues::of(Var all, int64_t member) {
  if (!all || member == kAllMembers) return all;
  Var& made = made_[{all.id, member}];
  if (!made) made = select(all, 0, member);
  return made;
}

}  // namespace braid::passes
