#include "braid/graph/signature.h"

#include <gtest/gtest.h>

#include "braid/graph/text.h"
#include "fake_rules.h"

namespace braid {
namespace {

const std::string kBase = R"(braid-graph 1
slot "fc.weight" f32[5, 3] parameter uniform(-0.25, 0.25)
slot "hyper/drop.p" f32[] hyper constant(0.5)
slot "mask" f32[5, 3] constant constant(1.0)
input %0 "x" f32[4, 3]
%1: f32[5, 3] = read "fc.weight" @"fc"
%2: f32[4, 5] = linear(%0, %1, _) {eps=1.0} @"fc"
%3: f32[4, 5] = dropout(%2) @"drop" rng=0x12ab
output "loss" %3
)";

std::string signature(const std::string& text) {
  static const FakeRules rules;
  return graph_signature(parse_graph(text, rules));
}

// The base with one piece of text replaced.
std::string with(const std::string& what, const std::string& by) {
  std::string text = kBase;
  size_t at = text.find(what);
  EXPECT_NE(at, text.npos) << what;
  return text.replace(at, what.size(), by);
}

TEST(Signature, LeavesOutWhatIsEachMembersOwn) {
  std::string base = signature(kBase);
  EXPECT_EQ(signature(with("uniform(-0.25, 0.25)", "normal(0.0, 1.0)")), base);
  EXPECT_EQ(signature(with("constant(0.5)", "constant(0.1)")), base);
}

TEST(Signature, HoldsWhatMembersHaveInCommon) {
  std::string base = signature(kBase);
  const std::pair<const char*, const char*> changes[] = {
      {"eps=1.0", "eps=2.0"},
      {"@\"fc\"\n%2", "@\"other\"\n%2"},
      {"rng=0x12ab", "rng=0x12ac"},
      {"dropout(%2)", "relu(%2)"},
      {"input %0 \"x\"", "input %0 \"y\""},
      {"output \"loss\"", "output \"top\""},
      {"uniform(-0.25, 0.25)", "uniform(-0.25, 0.25) frozen"},
      {"uniform(-0.25, 0.25)", "uniform(-0.25, 0.25) alias=\"tied\""},
      {"parameter uniform", "buffer uniform"},
      {"constant constant(1.0)", "constant constant(2.0)"},
      {"hyper/drop.p", "hyper/other.p"}};
  for (const auto& [what, by] : changes) {
    EXPECT_NE(signature(with(what, by)), base) << by;
  }
}

TEST(Signature, HoldsShapesAndTypes) {
  std::string small = kBase, wide = kBase;
  for (size_t at = 0; (at = wide.find("[4, ", at)) != wide.npos; ++at) {
    wide.replace(at, 4, "[6, ");
  }
  EXPECT_NE(signature(wide), signature(small));
}

// Names in profiles of other days.
TEST(Signature, DigestsAreStable) {
  EXPECT_EQ(digest_text(""), "cbf29ce484222325");
  EXPECT_EQ(digest_text("a"), "af63dc4c8601ec8c");
  EXPECT_NE(digest_text(signature(kBase)),
            digest_text(signature(with("eps=1.0", "eps=2.0"))));
}

}  // namespace
}  // namespace braid
