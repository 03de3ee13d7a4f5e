#include "braid/train/job/loss_expression.h"

#include <gtest/gtest.h>

#include <functional>

#include "braid/base/error.h"
#include "braid/graph/text.h"
#include "braid/ops/build/functions.h"
#include "braid/ops/core/op.h"
#include "op_table.h"
#include "thrown.h"

namespace braid::train {
namespace {

using Kind = Expression::Kind;
using Names = std::vector<std::string>;

// With brackets around every pair: "((a*b)+f(c,k=1))".
std::string text_of(const Expression& e) {
  if (e.kind == Kind::kNumber) return fmt::format("{}", e.number);
  if (e.kind == Kind::kName) return e.name;
  if (e.kind == Kind::kCall) {
    std::string text = e.name + "(";
    for (size_t i = 0; i < e.arguments.size(); ++i) {
      text += i > 0 ? "," : "";
      text += e.keywords[i].empty() ? "" : e.keywords[i] + "=";
      text += text_of(e.arguments[i]);
    }
    return text + ")";
  }
  const char* sign = e.kind == Kind::kAdd        ? "+"
                     : e.kind == Kind::kSubtract ? "-"
                                                 : "*";
  return "(" + text_of(e.arguments[0]) + sign + text_of(e.arguments[1]) + ")";
}

std::string parsed(std::string_view text) {
  return text_of(parse_expression(text));
}

std::string problem_of(std::string_view text) {
  return thrown_by([&] { parse_expression(text); });
}

TEST(LossExpression, ProductsBindTighterAndEqualsGoLeftToRight) {
  EXPECT_EQ(parsed("a"), "a");
  EXPECT_EQ(parsed("a + b * c"), "(a+(b*c))");
  EXPECT_EQ(parsed("a * b + c"), "((a*b)+c)");
  EXPECT_EQ(parsed("a - b - c"), "((a-b)-c)");
  EXPECT_EQ(parsed("a - (b - c)"), "(a-(b-c))");
  EXPECT_EQ(parsed("(a + b) * c"), "((a+b)*c)");
  EXPECT_EQ(parsed(" a\t-\n1 "), "(a-1)");
  EXPECT_EQ(parsed("a-1"), "(a-1)");
}

TEST(LossExpression, CallsHaveArgumentsAndKeywords) {
  EXPECT_EQ(parsed("f()"), "f()");
  EXPECT_EQ(parsed("f(g(x), y)"), "f(g(x),y)");
  EXPECT_EQ(parsed("f(x, beta = 0.5)"), "f(x,beta=0.5)");
  EXPECT_EQ(parsed("f(_x=1)"), "f(_x=1)");
  EXPECT_EQ(parsed("f( x + 1 )"), "f((x+1))");
}

TEST(LossExpression, NumbersMayBeNegativeAndHaveExponents) {
  EXPECT_EQ(parsed("1e-3 * a"), "(0.001*a)");
  EXPECT_EQ(parsed(".5*a"), "(0.5*a)");
  EXPECT_EQ(parsed("-2 * a"), "(-2*a)");
  EXPECT_EQ(parsed("a * -2"), "(a*-2)");
}

TEST(LossExpression, AMinusTurnsAround) {
  EXPECT_EQ(parsed("-a"), "(-1*a)");
  EXPECT_EQ(parsed("-mean(f(x)) + b"), "((-1*mean(f(x)))+b)");
  EXPECT_EQ(parsed("a - -b"), "(a-(-1*b))");
  EXPECT_EQ(parsed("-(a + b)"), "(-1*(a+b))");
}

TEST(LossExpression, NumbersAloneAreCounted) {
  EXPECT_EQ(parsed("2 * 3 * a"), "(6*a)");
  EXPECT_EQ(parsed("a * (1 - 0.25)"), "(a*0.75)");
  EXPECT_EQ(parsed("-(2 + 3)"), "-5");
}

TEST(LossExpression, ErrorsPointAtTheirPlace) {
  EXPECT_EQ(problem_of("a + * b"),
            "[loss] 'a + * b': expected a name or a number at '* b'");
  EXPECT_EQ(problem_of("f(a"), "[loss] 'f(a': expected ')' at 'its end'");
  EXPECT_EQ(problem_of("(a"), "[loss] '(a': expected ')' at 'its end'");
  EXPECT_EQ(problem_of("f(a b)"), "[loss] 'f(a b)': expected ')' at 'b)'");
  EXPECT_EQ(problem_of("a b"), "[loss] 'a b': expected an operator at 'b'");
  EXPECT_EQ(problem_of("a)"), "[loss] 'a)': expected an operator at ')'");
  EXPECT_EQ(problem_of("a / b"),
            "[loss] 'a / b': expected an operator at '/ b'");
  EXPECT_EQ(problem_of(""),
            "[loss] '': expected a name or a number at 'its end'");
  EXPECT_EQ(problem_of("."), "[loss] '.': expected a number at '.'");
  EXPECT_EQ(problem_of("1e999 * a"),
            "[loss] '1e999 * a': expected a number at '1e999 * a'");
  EXPECT_NE(problem_of("f(a,)"), "");
  EXPECT_NE(problem_of("f(a=)"), "");
  EXPECT_NE(problem_of(std::string_view("a\0b", 3)), "");
}

TEST(LossExpression, DeepAndLongTextsAreRefused) {
  auto nested = [](size_t depth) {
    return std::string(depth, '(') + "a" + std::string(depth, ')');
  };
  EXPECT_EQ(parsed(nested(30)), "a");
  EXPECT_NE(problem_of(nested(40)).find("too deep"), std::string::npos);
  EXPECT_NE(problem_of(nested(1 << 20)).find("too deep"), std::string::npos);
  std::string minus(1 << 20, '-');
  EXPECT_NE(problem_of(minus + "a").find("too deep"), std::string::npos);
  std::string sum = "a";  // a tree as deep as it has terms
  for (int i = 0; i < 1 << 20; ++i) sum += "+a";
  EXPECT_NE(problem_of(sum).find("too long"), std::string::npos);
}

TEST(LossExpression, NamesAreListedInOrder) {
  Expression e = parse_expression("bce(d(x), 1) + 2 * l1(g(z), y)");
  EXPECT_EQ(called_names(e), (Names{"bce", "d", "l1", "g"}));
  EXPECT_EQ(plain_names(e), (Names{"x", "z", "y"}));
}

// Inputs x, y [4] and a network "net" that negates.
class BuiltExpression : public testing::Test {
 protected:
  static std::string build(const std::function<Var(Graph&)>& make) {
    Graph graph(table());
    for (const char* name : {"x", "y"}) {
      graph.add_input(name, {DType::kFloat32, {4}});
    }
    graph.add_output("loss", make(graph).id);
    return print_graph(graph);
  }

  static std::string built(const std::string& text) {
    return build([&](Graph& graph) {
      ExpressionContext context{
          .is_network = [](const std::string& name) { return name == "net"; },
          .call = [](const std::string&, const std::vector<Var>& arguments,
                     const Names&) { return neg(arguments.at(0)); },
          .input = [&](const std::string& name) { return input(graph, name); }};
      return build_expression(parse_expression(text), context);
    });
  }

  static Var input(Graph& graph, const std::string& name) {
    ValueId id = graph.find_input(name);
    if (id == kNone) fail_usage("no input {}", name);
    return {&graph, id};
  }

  static std::string build_problem(const std::string& text) {
    return thrown_by([&] { built(text); });
  }
};

TEST_F(BuiltExpression, IsWhatTheFunctionsGive) {
  EXPECT_EQ(built("l1(net(x), y) - 0.5 * mse(x, detach(y))"),
            build([](Graph& g) {
              Var x = input(g, "x"), y = input(g, "y");
              Var left = l1_loss(neg(x), y);
              return sub(left, mul_scalar(mse_loss(x, detach(y)), 0.5));
            }));
  EXPECT_EQ(built("mean(x) * mean(y) + mean(x) * 3"), build([](Graph& g) {
              auto average = [&](const char* name) {
                return mean(reshape(input(g, name), {-1}), {0});
              };
              Var left = average("x");
              Var product = mul(left, average("y"));
              return add(product, mul_scalar(average("x"), 3));
            }));
}

TEST_F(BuiltExpression, ANumberIsATargetForEveryElement) {
  EXPECT_EQ(built("bce(x, 1)"), build([](Graph& g) {
              Var x = input(g, "x");
              return binary_cross_entropy(x, full_like(x, x.shape(), 1));
            }));
}

TEST_F(BuiltExpression, NumbersAreAddedToValues) {
  EXPECT_EQ(built("mean(x) + 1"), build([](Graph& g) {
              Var x = mean(reshape(input(g, "x"), {-1}), {0});
              return add_scalar(x, 1);
            }));
  EXPECT_EQ(built("1 - mean(x)"), build([](Graph& g) {
              Var x = mean(reshape(input(g, "x"), {-1}), {0});
              return add_scalar(mul_scalar(x, -1), 1);
            }));
}

TEST_F(BuiltExpression, KeywordsAreValuesOfTheLoss) {
  EXPECT_EQ(built("smooth_l1(x, y, beta=0.5)"), build([](Graph& g) {
              return smooth_l1_loss(input(g, "x"), input(g, "y"), 0.5);
            }));
  EXPECT_EQ(build_problem("smooth_l1(x, y, betta=1)"),
            "[loss] smooth_l1 has no value 'betta'\n"
            "HINT: did you mean 'beta'?");
  EXPECT_EQ(build_problem("smooth_l1(x, y, beta=x)"),
            "[loss] smooth_l1: 'beta' is a number, got an expression");
}

TEST_F(BuiltExpression, WrongCallsAreNamed) {
  EXPECT_EQ(build_problem("mse(x)"),
            "[loss] mse takes what is compared and a target, got 1");
  EXPECT_EQ(build_problem("mse(x, y, y)"),
            "[loss] mse takes what is compared and a target, got 3");
  EXPECT_EQ(build_problem("detach(x, y)"), "[loss] detach takes one value");
  EXPECT_EQ(build_problem("mean()"), "[loss] mean takes one value");
  EXPECT_EQ(build_problem("mean(dim=x)"), "[loss] mean has no value 'dim'");
  EXPECT_NE(build_problem("nett(x)").find("unknown loss 'nett'"),
            std::string::npos);
  EXPECT_EQ(build_problem("7"),
            "[loss] the number 7 stands where a value is expected");
  EXPECT_EQ(build_problem("mse(1, x)"),
            "[loss] the number 1 stands where a value is expected");
}

}  // namespace
}  // namespace braid::train
