#include "braid/graph/slot.h"

#include <gtest/gtest.h>

namespace braid {
namespace {

Slot own_slot() {
  return {.name = "member.2/fc.weight",
          .aliases = {"member.2/tied"},
          .dtype = DType::kFloat64,
          .shape = {4, 3},
          .init = Init::normal(1),
          .owners = {2}};
}

Slot array_slot() {
  return {.name = "hyper/p",
          .role = Role::kHyper,
          .members = 3,
          .owners = {0, 2},
          .inits = {Init::constant(1), Init::constant(2), Init::constant(3)}};
}

TEST(Slot, OfOneMemberHasAnOwnerAndNoAxis) {
  Slot slot = own_slot();
  EXPECT_EQ(slot.owner(), 2);
  EXPECT_EQ(slot.stored_shape(), (Shape{4, 3}));
  EXPECT_TRUE(slot.belongs_to(2));
  EXPECT_FALSE(slot.belongs_to(1));
  EXPECT_EQ(slot.own_name(), "fc.weight");
}

TEST(Slot, OfSomeMembersLiesInTheArray) {
  Slot slot = array_slot();
  EXPECT_EQ(slot.owner(), kAllMembers);
  EXPECT_EQ(slot.stored_shape(), (Shape{3}));
  EXPECT_TRUE(slot.belongs_to(2));
  EXPECT_FALSE(slot.belongs_to(1));
  EXPECT_EQ(slot.own_name(), "hyper/p");
}

TEST(Slot, OfAMemberIsWhatItHasAlone) {
  Slot alone{.name = "fc.weight",
             .aliases = {"tied"},
             .dtype = DType::kFloat64,
             .shape = {4, 3},
             .init = Init::normal(1)};
  EXPECT_EQ(own_slot().of_member(2), alone);
  Slot rate{.name = "hyper/p", .role = Role::kHyper};
  rate.init = Init::constant(3);
  EXPECT_EQ(array_slot().of_member(2), rate);
}

TEST(Slot, BesideAnotherHasItsTypeAndMembers) {
  Slot momentum = own_slot().beside("optimizer/m/fc.weight", Role::kOptimizer);
  EXPECT_EQ(momentum.name, "member.2/optimizer/m/fc.weight");
  EXPECT_EQ(momentum.own_name(), "optimizer/m/fc.weight");
  EXPECT_EQ(momentum.shape, (Shape{4, 3}));
  EXPECT_EQ(momentum.dtype, DType::kFloat64);
  EXPECT_EQ(momentum.init, Init::constant(0));
  EXPECT_TRUE(momentum.aliases.empty());
  Slot of_array = array_slot().beside("x", Role::kOptimizer);
  EXPECT_EQ(of_array.members, 3);
  EXPECT_TRUE(of_array.inits.empty());
}

}  // namespace
}  // namespace braid
