// The small parts of the .pt2 reader.
#include "braid/io/pt2/json_tree.h"
#include "braid/io/pt2/node_metadata.h"
#include "braid/io/pt2/symbol_text.h"
#include "io/scratch.h"

namespace braid::io::pt2 {
namespace {

TEST(SymbolText, writes_expressions_as_people_do) {
  std::string s0 = "Symbol('s0', positive=True, integer=True)";
  EXPECT_EQ(symbol_text(s0), "s0");
  EXPECT_EQ(symbol_text("Integer(-3)"), "-3");
  EXPECT_EQ(symbol_text("Mul(Integer(2), " + s0 + ")"), "2*s0");
  EXPECT_EQ(symbol_text("Add(" + s0 + ", Integer(1))"), "s0 + 1");
  EXPECT_EQ(symbol_text("Mul(Integer(2), Add(" + s0 + ", Integer(-1)))"),
            "2*(s0 + -1)");
  EXPECT_EQ(symbol_text("FloorDiv(" + s0 + ", Integer(2))"), "FloorDiv(s0, 2)");
}

TEST(SymbolText, leaves_other_text_as_it_is) {
  for (std::string text : {"s0", "2*s0", "", "Add(", "Mul(Integer(2)", "x y",
                           "Symbol('a b')", "Float('0.5', precision=53)"}) {
    EXPECT_EQ(symbol_text(text), text);
  }
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += "Add(";
  EXPECT_EQ(symbol_text(deep), deep);
}

TEST(NodeMetadata, takes_the_innermost_module) {
  EXPECT_EQ(layer_of("L__self__,,net.Net"), "");
  EXPECT_EQ(layer_of("L__self__,,net.Net;L__self___a,a,X;L__self___a_0,a.0,Y"),
            "a.0");
  EXPECT_EQ(layer_of("L__self__,L__self__,N;k,L['self'].enc.fc,Y"), "enc.fc");
  EXPECT_EQ(layer_of("L__self__,,N;139714042017872@1,fc@1,Y"), "fc");
  std::string none = "_empty_nn_module_stack_from_metadata_hook";
  EXPECT_EQ(layer_of(none + "," + none + "," + none), "");
  for (std::string odd : {"", ";", ",", ",,", ";;,"}) layer_of(odd);
}

TEST(NodeMetadata, takes_the_innermost_frame_outside_torch) {
  std::string torch =
      "  File \"/v/lib/python3.11/site-packages/torch/nn/modules/linear.py\", "
      "line 134, in forward\n    return F.linear(input)\n";
  std::string outer =
      "File \"run.py\", line 3, in forward\n    y = self.a(x)\n";
  std::string inner = "  File \"net.py\", line 9, in forward\n    h = f(x)\n";
  EXPECT_EQ(source_of(outer + inner + torch),
            "File \"net.py\", line 9, in forward: h = f(x)");
  EXPECT_EQ(source_of(outer + torch),
            "File \"run.py\", line 3, in forward: y = self.a(x)");
  expect_contains(source_of(torch),
                  "linear.py\", line 134, in forward: return");
  EXPECT_EQ(source_of("  File \"net.py\", line 9, in forward"),
            "File \"net.py\", line 9, in forward");
  EXPECT_EQ(source_of(""), "");
  EXPECT_EQ(source_of("\n\nno frame\n"), "");
  EXPECT_EQ(source_of("File \""), "File \"");
  EXPECT_LT(source_of(outer + std::string(5000, 'x')).size(), 300u);
}

TEST(Shown, cuts_long_text_between_characters_and_hides_control_ones) {
  EXPECT_EQ(shown("a\n\x1b\x7f z"), "a\\x0a\\x1b\\x7f z");
  EXPECT_EQ(shown(std::string(100, 'x')), std::string(100, 'x'));
  EXPECT_EQ(shown(std::string(101, 'x')), std::string(100, 'x') + "...");
  EXPECT_EQ(shown(std::string(99, 'x') + "\xc3\xa9"),
            std::string(99, 'x') + "\xc3\xa9");
  EXPECT_EQ(shown(std::string(100, 'x') + "\xc3\xa9"),
            std::string(100, 'x') + "...");
  EXPECT_EQ(shown("\x80"), "\\x80");
}

struct Parsed {
  explicit Parsed(std::string_view text, const JsonLimits& limits = {})
      : document("doc", problems), is_good(document.parse(text, limits)) {}

  std::string error() const {
    return error_of<std::runtime_error>(
        [&] { problems.throw_if_any("x", "f"); });
  }

  Problems problems;
  JsonDocument document;
  bool is_good;
};

TEST(JsonTree, keeps_to_its_limits) {
  EXPECT_TRUE(Parsed("[[1, 2]]", {.depth = 2, .values = 4}).is_good);
  expect_contains(Parsed("[[[]]]", {.depth = 2}).error(), "deeper than 2");
  expect_contains(Parsed("[1, 2, 3]", {.values = 3}).error(),
                  "more than 3 values");
  expect_contains(Parsed("[1, 2, 3]", {.bytes = 8}).error(),
                  "9 bytes, the limit is 8");
}

TEST(JsonTree, refuses_what_is_not_json) {
  for (std::string text : {"", "{", "[1,]", "{\"a\":NaN}", "[1e999]",
                           "\"\xff\"", "{} {}", "{\"a\" 1}", "[Infinity]"}) {
    expect_contains(Parsed(text).error(), "not valid JSON at byte");
  }
  expect_contains(Parsed(std::string("{}\0{}", 5)).error(), "zero byte");
  expect_contains(Parsed(R"({"a": 1, "a": 2})").error(), "the key 'a' twice");
}

TEST(JsonTree, tells_the_path_of_a_problem) {
  Parsed p(R"({"a": [0, {"b": [[true], "x"]}]})");
  JsonPlace list = JsonPlace(p.document).at("a");
  list.each([](const JsonPlace& item) { item.integer(); });
  JsonPlace(p.document).at("c").at("d").integer();
  list.at("e");
  std::string text = p.error();
  expect_contains(text, "3 problems");
  expect_contains(text, "doc: a[1]: expected an integer, found object");
  expect_contains(text, "doc: no 'c'");
  expect_contains(text, "doc: a: expected an object, found array");
}

}  // namespace
}  // namespace braid::io::pt2
