// A Slot is what outlives a step: a parameter, a buffer, optimizer state, a
// counter, a vector of hyper-parameters. It describes; the bytes belong to
// runtime::State.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "braid/base/dtype.h"
#include "braid/base/shape.h"

namespace braid {

enum class Role {
  kParameter,  // learned
  kBuffer,     // part of the model's state dict, not learned
  kConstant,   // never written, not in the state dict, one for all members
  kOptimizer,  // momenta and the like
  kGradient,   // accumulated over micro-batches
  kCounter,    // seeds and step counts
  kHyper,      // values the user may change between steps
};

std::string_view role_name(Role role);

// What a slot is for, where code asks more than its role. Names are for people
// and files; slot_use.h tells the use of a name that was read.
enum class SlotUse {
  kGeneral,  // its role says it all

  // Hyper-parameters of layers.
  kDropoutRate,
  kLabelSmoothing,

  // Counters.
  kSeed,             // of the member
  kStep,             // steps so far
  kUpdateCount,      // updates so far
  kActiveMask,       // 1, or 0 while a member of an array pauses
  kLossScale,        // the factor that the loss is scaled with besides
  kLossScaleGrowth,  // steps since it changed
  kScheduledRate,    // what a schedule made of a rate for the next step
  kPlateau,          // what a schedule remembers that watches the loss

  // Optimizer state.
  kAverage,  // moving average of a parameter
};

// How a slot begins. Random kinds are keyed by the member's seed and the
// slot's name, never by order of creation. Named kinds are those of
// torch.nn.init.
struct Init {
  enum class Kind {
    kConstant,
    kUniform,
    kNormal,
    kTruncNormal,
    kXavierUniform,
    kXavierNormal,
    kKaimingUniform,
    kKaimingNormal,
    kOrthogonal,
    kEye,
    kDirac,
  };
  Kind kind = Kind::kConstant;
  // Values in the order of the kind's row in init_kinds().
  double a = 0, b = 0, c = 0, d = 0;

  static Init constant(double value) { return {Kind::kConstant, value, 0}; }
  static Init uniform(double bound) { return {Kind::kUniform, -bound, bound}; }
  static Init normal(double std) { return {Kind::kNormal, 0, std}; }
  bool operator==(const Init&) const = default;
};

// Bytes that a constant was given when its graph was made, row-major. Copies
// share them; equal bytes are equal contents.
struct Content {
  std::shared_ptr<const std::vector<std::byte>> bytes = {};  // null: none

  explicit operator bool() const { return bytes != nullptr; }
  bool operator==(const Content& other) const;
};

inline constexpr int64_t kAllMembers = -1;

// "member.3/", with which names of slots of one member alone begin.
std::string member_prefix(int64_t member);

struct Slot {
  std::string name = {};                  // the name in a PyTorch state dict
  std::vector<std::string> aliases = {};  // further names of a tied tensor
  DType dtype = DType::kFloat32;
  Shape shape = {};  // of one member
  Role role = Role::kParameter;
  SlotUse use = SlotUse::kGeneral;
  Init init = {};
  bool trainable = true;  // parameters only
  int64_t members = 0;    // 0: one model; B: a leading axis of B
  // Where members differ: who has the slot, ascending; empty: all. A slot
  // without an axis of B that has an owner belongs to it alone, and its name
  // begins with member_prefix().
  std::vector<int64_t> owners = {};
  std::vector<Init> inits = {};  // by member, where they begin differently
  Content content = {};          // of a constant; counts over `init`

  // [B, ...shape] in an array, shape otherwise.
  Shape stored_shape() const;
  int64_t bytes() const;
  // The member whose alone it is, or kAllMembers.
  int64_t owner() const;
  bool belongs_to(int64_t member) const;
  // The name that its members know it by: without the prefix.
  std::string own_name() const;
  // The slot as that member has it when it is alone.
  Slot of_member(int64_t member) const;
  // Another slot of the same type and members that begins with zeros, such as
  // a momentum; `own_name` is what the members call it.
  Slot beside(const std::string& own_name, Role role,
              SlotUse use = SlotUse::kGeneral) const;
  bool operator==(const Slot&) const = default;
};

}  // namespace braid
