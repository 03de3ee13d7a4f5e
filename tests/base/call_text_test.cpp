#include "braid/base/call_text.h"

#include <gtest/gtest.h>

#include <stdexcept>

#include "thrown.h"

namespace braid {
namespace {

std::string problem_of(const std::string& text) {
  return thrown_by([&] { parse_call(text, "[part]"); });
}

TEST(CallText, ReadsNamesNumbersAndLists) {
  EXPECT_EQ(parse_call("cosine", ""), (CallText{"cosine"}));
  EXPECT_EQ(parse_call("cosine()", ""), (CallText{"cosine"}));
  CallText expected{"f", {{"a", {0.5}}, {"b", {1, 2}, true}, {"c", {}, true}}};
  EXPECT_EQ(parse_call("f(a=0.5,b=[1,2],c=[])", ""), expected);
  EXPECT_EQ(parse_call(" f ( a = 5e-1 , b = [ 1 , 2 ], c=[ ] ) ", ""),
            expected);
}

TEST(CallText, PrintsWhatItReads) {
  for (const char* text :
       {"cosine", "f(a=0.1)", "f(a=1e-05,b=[30,80.5],c=[],d=-inf)"}) {
    EXPECT_EQ(call_text(parse_call(text, "")), text);
  }
}

TEST(CallText, ReadsPercentagesWhereTheyAreTaken) {
  CallText expected{"f",
                    {{"a", {5}, false, true}, {"b", {50, 7.5}, true, true}}};
  const char* text = "f(a=5%,b=[50%,7.5%])";
  EXPECT_EQ(parse_call(text, "", Percents::kTaken), expected);
  EXPECT_EQ(call_text(expected), text);
  EXPECT_EQ(problem_of("f(a=5%)"), "[part] '5%' is no number, in 'f(a=5%)'");
  auto problem = [](const char* mixed) {
    return thrown_by([&] { parse_call(mixed, "[part]", Percents::kTaken); });
  };
  EXPECT_EQ(problem("f(a=[1,5%])"),
            "[part] 'f(a=[1,5%])' has numbers and percentages in one list");
  for (const char* wrong : {"f(a=%)", "f(a=5%%)", "f(a=5 %)", "f(a=x%)"}) {
    EXPECT_NE(problem(wrong), "") << wrong;
  }
}

TEST(CallText, RefusesTheRest) {
  for (const char* text :
       {"", "(a=1)", "f(", "f)", "f(a)", "f(a=)", "f(=1)", "f(a=1", "f(a=1))",
        "f(a=1,)", "f(a=[1)", "f(a=1]", "f(a=1)x", "f(a=[1,])"}) {
    EXPECT_NE(problem_of(text), "") << text;
  }
  EXPECT_EQ(problem_of("f(a=two)"), "[part] 'two' is no number, in 'f(a=two)'");
  EXPECT_EQ(problem_of("f(a=1,a=2)"),
            "[part] 'f(a=1,a=2)' has the value 'a' twice");
}

}  // namespace
}  // namespace braid
