#include "braid/ops/build/named_losses.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "braid/graph/text.h"
#include "braid/ops/build/functions.h"
#include "ops/one_node.h"
#include "thrown.h"

namespace braid {
namespace {

using Build = std::function<Var(Var y, Var target)>;

// The whole graph of a loss over inputs of these types.
std::string graph_text(const ValueType& y, const ValueType& target,
                       const Build& build) {
  Graph graph(table());
  ValueId a = graph.add_input("y", y), b = graph.add_input("t", target);
  Var loss = build({&graph, a}, {&graph, b});
  graph.add_output("loss", loss.id);
  return print_graph(graph);
}

std::string named(const std::string& text, const ValueType& y,
                  const ValueType& target) {
  return graph_text(y, target, parse_loss(text));
}

std::string problem_of(const std::string& text) {
  return thrown_by([&] { parse_loss(text); });
}

TEST(NamedLosses, EachIsItsFunction) {
  const ValueType scores = f32({4, 3}), classes = i64({4});
  ClassLoss smooth;
  smooth.label_smoothing = 0.1;
  smooth.ignore_index = 2;
  ClassLoss ignoring;
  ignoring.ignore_index = -1;
  struct Case {
    std::string text;
    ValueType target;
    Build build;
  };
  const Case cases[] = {
      {"cross_entropy", classes,
       [](Var y, Var t) { return cross_entropy_loss(y, t); }},
      {"cross_entropy(label_smoothing=0.1,ignore_index=2)", classes,
       [&](Var y, Var t) { return cross_entropy_loss(y, t, smooth); }},
      {"nll", classes, [](Var y, Var t) { return nll_loss(y, t); }},
      {"nll(ignore_index=-1)", classes,
       [&](Var y, Var t) { return nll_loss(y, t, ignoring); }},
      {"mse", scores, [](Var y, Var t) { return mse_loss(y, t); }},
      {"l1", scores, [](Var y, Var t) { return l1_loss(y, t); }},
      {"smooth_l1(beta=0.5)", scores,
       [](Var y, Var t) { return smooth_l1_loss(y, t, 0.5); }},
      {"huber(delta=2)", scores,
       [](Var y, Var t) { return huber_loss(y, t, 2); }},
      {"bce", scores, [](Var y, Var t) { return binary_cross_entropy(y, t); }},
      {"bce_with_logits", scores,
       [](Var y, Var t) { return binary_cross_entropy_with_logits(y, t); }},
  };
  std::set<std::string> seen;
  for (const Case& c : cases) {
    EXPECT_EQ(named(c.text, scores, c.target),
              graph_text(scores, c.target, c.build))
        << c.text;
    seen.insert(parse_loss(c.text).kind->name);
  }
  EXPECT_EQ(seen.size(), loss_kinds().size()) << "a kind has no case here";
}

TEST(NamedLosses, DefaultsAreThoseOfTheFunctions) {
  EXPECT_EQ(named("smooth_l1", f32({2}), f32({2})),
            named("smooth_l1(beta=1)", f32({2}), f32({2})));
  EXPECT_NE(named("smooth_l1", f32({2}), f32({2})),
            named("smooth_l1(beta=2)", f32({2}), f32({2})));
  EXPECT_EQ(signature_text(*parse_loss("nll").kind), "nll(ignore_index=-100)");
  EXPECT_EQ(signature_text(*parse_loss("mse").kind), "mse");
}

TEST(NamedLosses, ClassesLieInDimensionOneOrInTheLast) {
  auto plain = [](Var y, Var t) { return cross_entropy_loss(y, t); };
  // PyTorch's [N, C, T] and, where that does not fit, [N, T, C].
  EXPECT_EQ(named("cross_entropy", f32({2, 7, 5}), i64({2, 5})),
            graph_text(f32({2, 7, 5}), i64({2, 5}), plain));
  auto last_first = [](Var y, Var t) {
    return cross_entropy_loss(transpose(y, 2, 1), t);
  };
  EXPECT_EQ(named("cross_entropy", f32({2, 5, 7}), i64({2, 5})),
            graph_text(f32({2, 5, 7}), i64({2, 5}), last_first));
  // Where both would fit it is dimension 1.
  EXPECT_EQ(named("cross_entropy", f32({2, 5, 5}), i64({2, 5})),
            graph_text(f32({2, 5, 5}), i64({2, 5}), plain));
  EXPECT_NO_THROW(named("nll", f32({2, 3, 4, 7}), i64({2, 3, 4})));
}

TEST(NamedLosses, FloatTargetsGetTheTypeOfTheOutput) {
  std::string text = named("mse", f32({2}), f64({2}));
  EXPECT_NE(text.find("f32[2] = to(%1)"), std::string::npos) << text;
  text = named("cross_entropy", f64({4, 3}), f32({4, 3}));
  EXPECT_NE(text.find("f64[4, 3] = to(%1)"), std::string::npos) << text;
}

// A model of one output gives [N, 1], a table's column is [N]. Nothing is
// broadcast: PyTorch would compare each with each.
TEST(NamedLosses, ALastDimensionOfOneCountsForNothing) {
  auto flat = [](Var y, Var t) { return mse_loss(reshape(y, {3}), t); };
  EXPECT_EQ(named("mse", f32({3, 1}), f32({3})),
            graph_text(f32({3, 1}), f32({3}), flat));
  auto flat_target = [](Var y, Var t) { return l1_loss(y, reshape(t, {3})); };
  EXPECT_EQ(named("l1", f32({3}), f32({3, 1})),
            graph_text(f32({3}), f32({3, 1}), flat_target));
  auto plain = [](Var y, Var t) { return mse_loss(y, t); };
  EXPECT_EQ(named("mse", f32({3, 1}), f32({3, 1})),
            graph_text(f32({3, 1}), f32({3, 1}), plain));
}

TEST(NamedLosses, ShapesThatDoNotFitAreErrors) {
  EXPECT_EQ(thrown_by([] {
              named("mse", f32({2, 1}), f32({3}));
            }),
            "[loss] mse compares [2, 1] with [3]");
  EXPECT_EQ(thrown_by([] {
              named("mse", f32({2, 2}), f32({2}));
            }),
            "[loss] mse compares [2, 2] with [2]");
  EXPECT_EQ(thrown_by([] { named("bce", f32({2}), f32({3})); }),
            "[loss] bce compares [2] with [3]");
  EXPECT_NE(thrown_by([] {
              named("cross_entropy", f32({2, 5, 7}), i64({2, 6}));
            }),
            "");
  EXPECT_NE(thrown_by([] { named("nll", f32({2, 3}), f32({2, 3})); }), "");
}

TEST(NamedLosses, WrongTextsAreNamed) {
  EXPECT_EQ(problem_of("mce"),
            "[loss] unknown loss 'mce'\nHINT: did you mean 'mse'?");
  EXPECT_EQ(problem_of("mse(beta=1)"), "[loss] mse has no value 'beta'");
  EXPECT_EQ(problem_of("huber(detla=1)"),
            "[loss] huber has no value 'detla'\nHINT: did you mean 'delta'?");
  EXPECT_EQ(problem_of("huber(delta=[1,2])"),
            "[loss] huber: delta is one number");
  EXPECT_EQ(problem_of("huber(delta="),
            "[loss] cannot read 'huber(delta='\n"
            "HINT: write NAME(value=1,list=[2,3])");
  EXPECT_NE(problem_of(""), "");
}

// A value that the loss has no meaning for.
TEST(NamedLosses, ValuesOutOfRangeAreErrors) {
  EXPECT_EQ(problem_of("huber(delta=0)"),
            "[loss] huber: expected delta above 0, got 0");
  EXPECT_NE(problem_of("smooth_l1(beta=-1)"), "");
  EXPECT_NE(problem_of("cross_entropy(label_smoothing=1.5)"), "");
  EXPECT_NE(problem_of("cross_entropy(ignore_index=0.5)"), "");
  EXPECT_NE(problem_of("huber(delta=nan)"), "");
  EXPECT_EQ(problem_of("smooth_l1(beta=0)"), "");
}

}  // namespace
}  // namespace braid
