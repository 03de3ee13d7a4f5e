#include "braid/train/run/run_context.h"

#include <algorithm>

namespace braid::train {

MemberList RunContext::with_state(MemberState state) const {
  MemberList found;
  for (const auto& member : members) {
    if (member->state == state) found.push_back(member.get());
  }
  return found;
}

bool RunContext::is_over() const {
  return std::ranges::all_of(
      members, [](const auto& member) { return has_ended(member->state); });
}

}  // namespace braid::train
