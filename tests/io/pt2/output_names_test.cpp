#include "braid/io/pt2/output_names.h"

#include <gtest/gtest.h>

namespace braid::io::pt2 {
namespace {

using Names = std::vector<std::string>;

const std::string kLeaf =
    R"({"type": null, "context": null, "children_spec": []})";

std::string node(const std::string& type, const std::string& context,
                 const std::string& children) {
  return R"({"type": ")" + type + R"(", "context": ")" + context +
         R"(", "children_spec": [)" + children + "]}";
}

std::string dict(const std::string& keys, const std::string& children) {
  return node("builtins.dict", keys, children);
}

std::string tree(const std::string& root) { return "[1, " + root + "]"; }

const std::string kTwoKeys = R"([\"loss\", \"size\"])";

TEST(OutputNames, KeysOfADict) {
  EXPECT_EQ(output_names(tree(dict(kTwoKeys, kLeaf + "," + kLeaf))),
            (Names{"loss", "size"}));
}

TEST(OutputNames, ResultsThatAreNoPartOfADictHaveNone) {
  EXPECT_EQ(output_names(tree(kLeaf)), Names{""});
  std::string pair = node("builtins.tuple", "null", kLeaf + "," + kLeaf);
  EXPECT_EQ(output_names(tree(pair)), (Names{"", ""}));
}

TEST(OutputNames, PathsInNestedResults) {
  std::string pair = node("builtins.tuple", "null", kLeaf + "," + kLeaf);
  EXPECT_EQ(output_names(tree(dict(kTwoKeys, kLeaf + "," + pair))),
            (Names{"loss", "size.0", "size.1"}));
  std::string inner = dict(R"([\"a\"])", kLeaf);
  std::string outer = node("builtins.tuple", "null", kLeaf + "," + inner);
  EXPECT_EQ(output_names(tree(outer)), (Names{"", "a"}));
}

TEST(OutputNames, KeysThatDoNotFitAreNoNames) {
  EXPECT_EQ(output_names(tree(dict(kTwoKeys, kLeaf))), Names{""});
  EXPECT_EQ(output_names(tree(dict("[1, 2]", kLeaf + "," + kLeaf))),
            (Names{"", ""}));
  EXPECT_EQ(output_names(tree(dict("no list", kLeaf))), Names{""});
}

TEST(OutputNames, OtherTextsHaveNoNames) {
  for (std::string text : {"", "{}", "[1]", "[1, ", "null"}) {
    EXPECT_EQ(output_names(text), Names{}) << text;
  }
  EXPECT_EQ(output_names(R"([1, {"type": "x", "children_spec": {"a": 1}}])"),
            Names{});
}

}  // namespace
}  // namespace braid::io::pt2
