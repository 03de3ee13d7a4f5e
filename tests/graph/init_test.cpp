#include "braid/graph/init.h"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>

#include "thrown.h"

namespace braid {
namespace {

using Kind = Init::Kind;

std::string problem_of(const std::string& text) {
  return thrown_by([&] { parse_init(text); });
}

TEST(Init, TextGoesThereAndBack) {
  EXPECT_EQ(parse_init("xavier_uniform"), (Init{Kind::kXavierUniform, 1}));
  EXPECT_EQ(parse_init("normal(std=0.02)"), (Init{Kind::kNormal, 0, 0.02}));
  EXPECT_EQ(parse_init("trunc_normal(b=3)"),
            (Init{Kind::kTruncNormal, 0, 1, -2, 3}));
  EXPECT_EQ(parse_init("kaiming_normal(fan_out=1)"),
            (Init{Kind::kKaimingNormal, 0, 1}));
  for (const InitKind& kind : init_kinds()) {
    Init init = parse_init(signature_text(kind));
    EXPECT_EQ(init.kind, kind.kind);
    EXPECT_EQ(init, parse_init(kind.name));
    EXPECT_EQ(parse_init(init_text(init)), init);
    EXPECT_FALSE(kind.summary.empty());
  }
}

// Numbers that nothing can be drawn by.
TEST(Init, ValuesThatMeanNothingAreRefused) {
  EXPECT_EQ(problem_of("normal(std=-1)"),
            "[init] normal(mean=0,std=-1) needs std >= 0");
  EXPECT_EQ(problem_of("uniform(low=1,high=0)"),
            "[init] uniform(low=1,high=0) needs low <= high");
  EXPECT_EQ(problem_of("trunc_normal(std=0)"),
            "[init] trunc_normal(mean=0,std=0,a=-2,b=2) needs a <= b and "
            "std > 0");
  EXPECT_EQ(problem_of("xavier_normal(gain=-1)"),
            "[init] xavier_normal(gain=-1) needs gain >= 0");
  EXPECT_EQ(problem_of("normal(std=inf)"),
            "[init] normal(mean=0,std=inf) needs finite numbers");
  for (const char* fine : {"normal(std=0)", "uniform(low=2,high=2)",
                           "constant(value=inf)", "orthogonal(gain=-1)"}) {
    EXPECT_EQ(problem_of(fine), "") << fine;
  }
}

TEST(Init, MistakesNameTheNearest) {
  EXPECT_EQ(problem_of("xavier_unifrom"),
            "[init] unknown initialiser 'xavier_unifrom'\n"
            "HINT: did you mean 'xavier_uniform'?");
  EXPECT_EQ(problem_of("orthogonal(gian=2)"),
            "[init] orthogonal has no value 'gian'\n"
            "HINT: did you mean 'gain'?");
  EXPECT_EQ(problem_of("eye(gain=2)"), "[init] eye has no value 'gain'");
  EXPECT_EQ(problem_of("orthogonal(gain=[2])"),
            "[init] orthogonal: 'gain' is one number");
  EXPECT_EQ(problem_of("orthogonal(gain=nan)"),
            "[init] orthogonal: 'gain' is one number");
}

TEST(Init, SomeNeedAShape) {
  auto problem = [](const char* text, Shape shape) {
    return init_problem(parse_init(text), shape);
  };
  EXPECT_EQ(problem("xavier_uniform", {4}),
            "xavier_uniform does not fit the shape [4]");
  EXPECT_EQ(problem("xavier_uniform", {4, 3}), "");
  EXPECT_NE(problem("orthogonal", {}), "");
  EXPECT_NE(problem("kaiming_normal", {2}), "");
  EXPECT_NE(problem("eye", {2, 2, 2}), "");
  EXPECT_NE(problem("dirac", {2, 2}), "");
  EXPECT_EQ(problem("dirac", {2, 2, 3}), "");
  EXPECT_EQ(problem("normal", {}), "");
  EXPECT_NE(init_problem({Kind::kTruncNormal, 0, 1, 2, 1}, {3}), "");
  EXPECT_NE(init_problem({Kind::kTruncNormal, 0, 0, -2, 2}, {3}), "");
  EXPECT_NE(init_problem({Kind::kNormal, 0, -1}, {3}), "");
}

// _calculate_fan_in_and_fan_out of torch.nn.init.
TEST(Init, FansAreThoseOfTorch) {
  EXPECT_EQ(fans_of({8, 3}).in, 3);
  EXPECT_EQ(fans_of({8, 3}).out, 8);
  EXPECT_EQ(fans_of({8, 3, 5, 7}).in, 3 * 35);
  EXPECT_EQ(fans_of({8, 3, 5, 7}).out, 8 * 35);
}

TEST(Init, NamedOnesBecomePlainOnes) {
  auto of = [](const char* text) { return resolved(parse_init(text), {8, 4}); };
  EXPECT_EQ(of("xavier_uniform(gain=2)").kind, Kind::kUniform);
  EXPECT_DOUBLE_EQ(of("xavier_uniform(gain=2)").b, 2 * std::sqrt(6 / 12.0));
  EXPECT_DOUBLE_EQ(of("xavier_normal(gain=2)").b, 2 * std::sqrt(2 / 12.0));
  EXPECT_DOUBLE_EQ(of("kaiming_uniform").b, std::sqrt(6 / 4.0));
  EXPECT_DOUBLE_EQ(of("kaiming_uniform(fan_out=1)").b, std::sqrt(6 / 8.0));
  EXPECT_DOUBLE_EQ(of("kaiming_normal(a=2)").b, std::sqrt(2 / 5.0 / 4));
  // The default of torch.nn.Linear and the convolutions.
  EXPECT_DOUBLE_EQ(of("kaiming_uniform(a=2.23606797749979)").b, 0.5);
  EXPECT_EQ(of("orthogonal").kind, Kind::kOrthogonal);
}

}  // namespace
}  // namespace braid
