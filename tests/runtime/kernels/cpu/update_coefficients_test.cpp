#include "braid/runtime/kernels/cpu/update_coefficients.h"

#include <gtest/gtest.h>

#include <cstring>

namespace braid::runtime {
namespace {

// What a rule would read, so that tests can see it.
UpdateCoefficients copy_of(const UpdateInputs& in) {
  UpdateCoefficients made = {};
  const double kept[] = {in.value[0], in.value[1], in.step, in.extra};
  std::memcpy(made.bytes, kept, sizeof kept);
  return made;
}

double number(const UpdateCoefficients& made, size_t i) {
  double value = 0;
  std::memcpy(&value, made.bytes + i * sizeof value, sizeof value);
  return value;
}

struct Members {
  double rates[2] = {0.1, 0.2}, momenta[2] = {0.8, 0.9}, extra[2] = {3, 4};
  int64_t steps[2] = {0, 7};

  UpdateNumbers numbers() const {
    return {.make = copy_of,
            .values = {rates, momenta},
            .extra = extra,
            .steps = steps,
            .members = 2};
  }
};

TEST(UpdateCoefficients, EachMemberHasItsOwn) {
  Members m;
  SharedCoefficients shared(m.numbers());
  const UpdateCoefficients* made = shared.now();
  EXPECT_EQ(number(made[0], 0), 0.1);
  EXPECT_EQ(number(made[1], 0), 0.2);
  EXPECT_EQ(number(made[1], 1), 0.9);
  EXPECT_EQ(number(made[0], 2), 1);  // steps count from 1
  EXPECT_EQ(number(made[1], 2), 8);
  EXPECT_EQ(number(made[1], 3), 4);
}

TEST(UpdateCoefficients, FollowEveryNumberThatChanges) {
  Members m;
  SharedCoefficients shared(m.numbers());
  shared.now();
  m.rates[1] = 0.5;
  EXPECT_EQ(number(shared.now()[1], 0), 0.5);
  m.momenta[0] = 0.6;
  EXPECT_EQ(number(shared.now()[0], 1), 0.6);
  m.steps[1] = 8;
  EXPECT_EQ(number(shared.now()[1], 2), 9);
  m.extra[0] = 5;
  EXPECT_EQ(number(shared.now()[0], 3), 5);
}

int num_made = 0;

UpdateCoefficients counted(const UpdateInputs& in) {
  ++num_made;
  return copy_of(in);
}

TEST(UpdateCoefficients, AreMadeOnceForAllCallsOfAStep) {
  Members m;
  UpdateNumbers numbers = m.numbers();
  numbers.make = counted;
  CoefficientTable table;
  auto first = table.find(numbers), second = table.find(numbers);
  num_made = 0;
  first->now();
  second->now();
  EXPECT_EQ(num_made, 2);  // members
  ++m.steps[0];
  second->now();
  first->now();
  EXPECT_EQ(num_made, 4);
}

TEST(UpdateCoefficients, OtherNumbersAreNotShared) {
  Members m, others;
  CoefficientTable table;
  auto first = table.find(m.numbers());
  UpdateNumbers decoupled = m.numbers();
  decoupled.decoupled = true;
  EXPECT_NE(table.find(decoupled), first);
  EXPECT_NE(table.find(others.numbers()), first);
  EXPECT_EQ(table.find(m.numbers()), first);
}

}  // namespace
}  // namespace braid::runtime
