#include "braid/ops/core/foreign.h"

#include <gtest/gtest.h>

#include "braid/graph/text.h"

namespace braid {
namespace {

TEST(ForeignArgs, ReadAndPrintAsTheSameText) {
  for (const char* text :
       {"", "$0", "$0, 2, -1.5, true, none", "$1, [1, -1], [], [$0, none]",
        "\"same\", f32, c128, nan, inf, 1e-20", "$0, dim=[0, 1], keepdim=true",
        "[[1, 2], [3]]"}) {
    EXPECT_EQ(print_foreign_args(parse_foreign_args(text)), text);
  }
}

TEST(ForeignArgs, RefuseWhatIsNoArgument) {
  for (const char* text :
       {"$", "$-1", "[", "[1", "1,", "dim=", "dim=1, 2", "x", "[x]", "1 2",
        "[[[[[[1]]]]]]", "\"open", "99999999999999999999"}) {
    EXPECT_THROW(parse_foreign_args(text), std::invalid_argument) << text;
  }
}

TEST(ForeignTypes, ReadAndPrintAsTheSameText) {
  for (const char* text : {"f32[]", "f32[4, 2] i64[4] c64[0]"}) {
    EXPECT_EQ(print_types(parse_types(text)), text);
  }
  for (const char* text : {"", "f31[2]", "f32", "f32[-1]", "f32[2],f32[2]"}) {
    EXPECT_THROW(parse_types(text), std::invalid_argument) << text;
  }
}

std::string node_with(const std::string& attrs) {
  return "braid-graph 1\ninput %0 \"x\" f32[2]\n%1: f32[2] = torch_op(%0) {" +
         attrs + "}\noutput \"y\" %1\n";
}

TEST(TorchOp, StandsInGraphText) {
  OpTable ops = standard_ops();
  std::string text =
      node_with(R"(args="$0", target="aten::sinc", types="f32[2]")");
  EXPECT_EQ(print_graph(parse_graph(text, ops)), text);
}

TEST(TorchOp, RefusesInputsItDoesNotHave) {
  OpTable ops = standard_ops();
  for (const char* attrs :
       {R"(args="$1", target="aten::sinc", types="f32[2]")",
        R"(args="[none, [$7]]", target="aten::sinc", types="f32[2]")",
        R"(args="$0", target="aten::sinc", types="f32[3]")",
        R"(args="$0", target="aten::sinc", types="")",
        R"(args="$0", types="f32[2]")", R"(target="aten::sinc")"}) {
    EXPECT_THROW(parse_graph(node_with(attrs), ops), std::invalid_argument)
        << attrs;
  }
}

}  // namespace
}  // namespace braid
