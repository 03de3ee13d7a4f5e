// Arithmetic on sizes, as Python does it.
#include "braid/io/pt2/scalars.h"

#include <limits>

#include "io/scratch.h"

namespace braid::io::pt2 {
namespace {

using Scalars = std::vector<Scalar>;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

Scalar whole(int64_t value) { return value; }

// The result, which must be of this type.
template <class T>
T result(const std::string& target, const Scalars& arguments) {
  std::optional<Scalar> found = scalar_result(target, arguments);
  if (!found || !std::holds_alternative<T>(*found)) {
    ADD_FAILURE() << target << ": none, or of another type";
    return {};
  }
  return std::get<T>(*found);
}

int64_t ints(const std::string& target, int64_t a, int64_t b) {
  return result<int64_t>("_operator." + target, {a, b});
}

double reals(const std::string& target, Scalar a, Scalar b) {
  return result<double>("_operator." + target, {a, b});
}

TEST(Pt2Scalars, whole_numbers_stay_whole) {
  EXPECT_EQ(ints("add", 2, 3), 5);
  EXPECT_EQ(ints("sub", 2, 3), -1);
  EXPECT_EQ(ints("mul", -4, 3), -12);
  EXPECT_EQ(result<int64_t>("_operator.neg", {whole(4)}), -4);
  EXPECT_EQ(result<int64_t>("_operator.pos", {whole(4)}), 4);
  EXPECT_EQ(reals("add", whole(2), 0.5), 2.5);
  EXPECT_EQ(reals("mul", 0.5, whole(3)), 1.5);
  EXPECT_EQ(result<double>("_operator.neg", {0.5}), -0.5);
  EXPECT_EQ(result<int64_t>("_operator.add", {true, whole(2)}), 3);
}

TEST(Pt2Scalars, floor_division_rounds_down) {
  EXPECT_EQ(ints("floordiv", 7, 2), 3);
  EXPECT_EQ(ints("floordiv", -7, 2), -4);
  EXPECT_EQ(ints("floordiv", 7, -2), -4);
  EXPECT_EQ(ints("floordiv", -7, -2), 3);
  EXPECT_EQ(ints("floordiv", -6, 2), -3);
  EXPECT_EQ(ints("floordiv", kMost, 2), kMost / 2);
  EXPECT_EQ(reals("floordiv", 7.5, whole(2)), 3.0);
  EXPECT_EQ(reals("floordiv", -7.5, whole(2)), -4.0);
}

TEST(Pt2Scalars, a_remainder_has_the_sign_of_the_divisor) {
  EXPECT_EQ(ints("mod", 7, 3), 1);
  EXPECT_EQ(ints("mod", -7, 3), 2);
  EXPECT_EQ(ints("mod", 7, -3), -2);
  EXPECT_EQ(ints("mod", -7, -3), -1);
  EXPECT_EQ(ints("mod", -6, 3), 0);
  EXPECT_EQ(reals("mod", 7.5, whole(2)), 1.5);
  EXPECT_EQ(reals("mod", -7.5, whole(2)), 0.5);
}

TEST(Pt2Scalars, true_division_gives_a_real_number) {
  EXPECT_EQ(reals("truediv", whole(6), whole(3)), 2.0);
  EXPECT_EQ(reals("truediv", whole(1), whole(4)), 0.25);
}

TEST(Pt2Scalars, powers_of_whole_numbers_are_exact) {
  EXPECT_EQ(ints("pow", 2, 10), 1024);
  EXPECT_EQ(ints("pow", -3, 3), -27);
  EXPECT_EQ(ints("pow", 0, 0), 1);
  EXPECT_EQ(ints("pow", 3, 39), 4052555153018976267);
  EXPECT_EQ(ints("pow", 1, kMost), 1);
  EXPECT_EQ(ints("pow", -1, kMost), -1);
  EXPECT_EQ(reals("pow", whole(2), whole(-1)), 0.5);
  EXPECT_EQ(reals("pow", 2.25, 0.5), 1.5);
}

TEST(Pt2Scalars, the_larger_and_the_smaller) {
  EXPECT_EQ(result<int64_t>("torch.sym_max", {whole(3), whole(5)}), 5);
  EXPECT_EQ(result<int64_t>("torch.sym_max", {whole(5), whole(3)}), 5);
  EXPECT_EQ(result<int64_t>("torch.sym_min", {whole(3), whole(5)}), 3);
  EXPECT_EQ(result<int64_t>("torch.sym_min", {whole(5), whole(3)}), 3);
  EXPECT_EQ(result<int64_t>("torch.sym_max", {whole(kMost - 1), whole(kMost)}),
            kMost);
  // As torch: with a real number the result is one.
  EXPECT_EQ(result<double>("torch.sym_max", {whole(3), 2.5}), 3.0);
  EXPECT_EQ(result<double>("torch.sym_min", {whole(3), 2.5}), 2.5);
}

TEST(Pt2Scalars, comparisons_are_exact) {
  EXPECT_TRUE(result<bool>("_operator.lt", {whole(2), whole(3)}));
  EXPECT_FALSE(result<bool>("_operator.lt", {whole(3), whole(3)}));
  EXPECT_TRUE(result<bool>("_operator.le", {whole(3), whole(3)}));
  EXPECT_TRUE(result<bool>("_operator.gt", {3.5, whole(3)}));
  EXPECT_FALSE(result<bool>("_operator.ge", {2.5, whole(3)}));
  EXPECT_TRUE(result<bool>("_operator.eq", {whole(3), 3.0}));
  EXPECT_FALSE(result<bool>("_operator.eq", {whole(kMost), whole(kMost - 1)}));
  EXPECT_TRUE(result<bool>("_operator.ne", {whole(kMost), whole(kMost - 1)}));
}

TEST(Pt2Scalars, logic_conversions_and_rounding) {
  EXPECT_FALSE(result<bool>("_operator.and_", {true, false}));
  EXPECT_TRUE(result<bool>("_operator.or_", {true, false}));
  EXPECT_TRUE(result<bool>("torch.sym_not", {false}));
  EXPECT_EQ(result<int64_t>("torch.sym_ite", {true, whole(4), whole(5)}), 4);
  EXPECT_EQ(result<int64_t>("torch.sym_ite", {false, whole(4), whole(5)}), 5);
  EXPECT_EQ(result<int64_t>("torch.sym_int", {-2.75}), -2);
  EXPECT_EQ(result<double>("torch.sym_float", {whole(2)}), 2.0);
  EXPECT_EQ(result<int64_t>("math.ceil", {2.25}), 3);
  EXPECT_EQ(result<int64_t>("math.floor", {-2.25}), -3);
  EXPECT_EQ(result<int64_t>("math.trunc", {-2.75}), -2);
}

TEST(Pt2Scalars, others_are_not_its_business) {
  for (std::string target :
       {"", "add", "_operator.", "_operator.matmul", "torch.sym_sin",
        "torch.ops.aten.add", "torch.ops.add", "numpy.add", "_operator.ADD"}) {
    EXPECT_FALSE(scalar_result(target, {whole(1), whole(2)})) << target;
  }
}

TEST(Pt2Scalars, division_by_zero_is_an_error) {
  for (std::string target : {"truediv", "floordiv", "mod"}) {
    for (const Scalar& zero : {whole(0), Scalar(0.0), Scalar(false)}) {
      expect_contains(error_of<std::invalid_argument>([&] {
                        scalar_result("_operator." + target, {whole(3), zero});
                      }),
                      "divided by zero");
    }
  }
  expect_contains(error_of<std::invalid_argument>([&] {
                    scalar_result("_operator.pow", {whole(0), whole(-1)});
                  }),
                  "divided by zero");
}

TEST(Pt2Scalars, what_is_too_large_is_an_error) {
  struct Case {
    const char* target;
    Scalars arguments;
  };
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  for (const Case& c : std::vector<Case>{
           {"_operator.add", {whole(kMost), whole(1)}},
           {"_operator.sub", {whole(kLeast), whole(1)}},
           {"_operator.mul", {whole(kMost), whole(2)}},
           {"_operator.neg", {whole(kLeast)}},
           {"_operator.floordiv", {whole(kLeast), whole(-1)}},
           {"_operator.pow", {whole(10), whole(19)}},
           {"torch.sym_int", {1e19}},
           {"torch.sym_int", {kNan}},
           {"math.ceil", {kInfinity}},
       }) {
    expect_contains(error_of<std::invalid_argument>(
                        [&] { scalar_result(c.target, c.arguments); }),
                    "too large");
  }
}

TEST(Pt2Scalars, a_missing_argument_is_an_error) {
  for (std::string target : {"_operator.add", "_operator.floordiv",
                             "_operator.lt", "torch.sym_ite"}) {
    expect_contains(error_of<std::invalid_argument>(
                        [&] { scalar_result(target, {whole(1)}); }),
                    "argument");
  }
}

}  // namespace
}  // namespace braid::io::pt2
