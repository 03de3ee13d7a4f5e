#include "braid/graph/slot.h"

#include <fmt/format.h>

#include <algorithm>

namespace braid {

std::string_view role_name(Role role) {
  switch (role) {
    case Role::kParameter: return "parameter";
    case Role::kBuffer: return "buffer";
    case Role::kConstant: return "constant";
    case Role::kOptimizer: return "optimizer";
    case Role::kGradient: return "gradient";
    case Role::kCounter: return "counter";
    case Role::kHyper: return "hyper";
  }
  return "";
}

bool Content::operator==(const Content& other) const {
  if (bytes == other.bytes) return true;
  return bytes && other.bytes && *bytes == *other.bytes;
}

Shape Slot::stored_shape() const {
  if (members == 0) return shape;
  Shape stored{members};
  stored.insert(stored.end(), shape.begin(), shape.end());
  return stored;
}

int64_t Slot::bytes() const {
  return num_elements(stored_shape()) * item_bytes(dtype);
}

std::string member_prefix(int64_t member) {
  return fmt::format("member.{}/", member);
}

int64_t Slot::owner() const {
  return members == 0 && !owners.empty() ? owners[0] : kAllMembers;
}

bool Slot::belongs_to(int64_t member) const {
  return owners.empty() || std::ranges::find(owners, member) != owners.end();
}

std::string Slot::own_name() const {
  if (owner() == kAllMembers) return name;
  return name.substr(member_prefix(owner()).size());
}

Slot Slot::of_member(int64_t member) const {
  Slot own = *this;
  if (owner() != kAllMembers) {
    size_t prefix = member_prefix(owner()).size();
    own.name.erase(0, prefix);
    for (std::string& alias : own.aliases) alias.erase(0, prefix);
  }
  if (!inits.empty()) own.init = inits[static_cast<size_t>(member)];
  own.members = 0;
  own.owners.clear();
  own.inits.clear();
  return own;
}

Slot Slot::beside(const std::string& own_name, Role of_role,
                  SlotUse of_use) const {
  Slot other = *this;
  other.name = own_name;
  if (owner() != kAllMembers) other.name = member_prefix(owner()) + own_name;
  other.aliases.clear();
  other.role = of_role;
  other.use = of_use;
  other.init = Init::constant(0);
  other.inits.clear();
  other.content = {};
  return other;
}

}  // namespace braid
