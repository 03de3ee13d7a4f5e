#include "braid/passes/rewrite/segments.h"

#include <gtest/gtest.h>

#include "passes/text_graphs.h"
#include "thrown.h"

namespace braid::passes {
namespace {

using Names = std::vector<std::string>;

// Nodes on the given layer paths, in order; segments by node.
struct Marked {
  Names names;
  std::vector<int32_t> segments;
};

Marked mark(const Names& paths, const SegmentRules& rules = {}) {
  Graph graph(table());
  ValueId x = graph.add_input("x", {DType::kFloat32, {2}});
  for (const std::string& path : paths) {
    graph.set_path(path);
    x = graph.node(graph.add("relu", {x})).outputs[0];
  }
  Marked marked{mark_segments(graph, rules), {}};
  for (const Node& node : graph.nodes()) {
    marked.segments.push_back(node.segment);
  }
  return marked;
}

TEST(Segments, AreLayersAndNumberedEntriesOfLists) {
  Marked m = mark({"stem", "stem.norm", "blocks.0.fc1", "blocks.0.fc2",
                   "blocks.1.attn.qkv", "blocks.10", "head"});
  EXPECT_EQ(m.names,
            (Names{"stem", "blocks.0", "blocks.1", "blocks.10", "head"}));
  EXPECT_EQ(m.segments, (std::vector<int32_t>{0, 0, 1, 1, 2, 3, 4}));
}

TEST(Segments, NodesOutsideALayerBelongToTheOneBefore) {
  Marked m = mark({"", "a", "", "b", ""});
  EXPECT_EQ(m.names, (Names{"start", "a", "b"}));
  EXPECT_EQ(m.segments, (std::vector<int32_t>{0, 1, 1, 2, 2}));
}

TEST(Segments, ALayerUsedAgainStaysWhereItIsUsed) {
  Marked m = mark({"tok", "body", "tok", "head"});
  EXPECT_EQ(m.names, (Names{"tok", "body", "head"}));
  EXPECT_EQ(m.segments, (std::vector<int32_t>{0, 1, 1, 2}));
}

TEST(Segments, LookInsideAModuleAroundTheModel) {
  Marked m = mark({"model.emb.tok", "model.emb.pos", "model.h.0.attn",
                   "model.h.0.mlp", "model.h.1.attn", "model.head"});
  EXPECT_EQ(m.names,
            (Names{"model.emb", "model.h.0", "model.h.1", "model.head"}));
  EXPECT_EQ(m.segments, (std::vector<int32_t>{0, 0, 1, 1, 2, 3}));
}

TEST(Segments, KnowNumbersDeepInAPathAndInNames) {
  Marked m = mark({"stem", "enc.layers.layer_0.ln", "enc.layers.layer_0.mlp",
                   "enc.layers.layer_1.ln", "enc.norm", "dec.2.fc.0"});
  EXPECT_EQ(m.names, (Names{"stem", "enc.layers.layer_0", "enc.layers.layer_1",
                            "enc", "dec.2"}));
}

TEST(Segments, OfOneLayerIsOne) {
  EXPECT_EQ(mark({"fc", "fc"}).names, (Names{"fc"}));
  EXPECT_EQ(mark({"fc.0", "fc.0"}).names.size(), 1u);
  EXPECT_EQ(mark({"net.fc.0", "net", "net.fc.1"}).names,
            (Names{"net.fc.0", "net.fc.1"}));
}

// Nodes after a layer that was cut out belong to it, as they do to any layer.
TEST(Segments, ARuleCutsALayerOutOfItsSegment) {
  Marked m = mark({"emb", "h.0.attn", "h.0.mlp.fc", "h.0.mlp", "h.0",
                   "h.1.attn", "h.1.mlp.fc", "head"},
                  {.cuts = {"h.*.mlp"}});
  EXPECT_EQ(m.names,
            (Names{"emb", "h.0", "h.0.mlp", "h.1", "h.1.mlp", "head"}));
  EXPECT_EQ(m.segments, (std::vector<int32_t>{0, 1, 2, 2, 2, 3, 4, 5}));
}

TEST(Segments, TheFinestRuleCutsAndNamesOfSegmentsDoNot) {
  Names paths{"emb", "h.0.mlp.fc1", "h.0.mlp.fc2", "h.1.mlp.fc1"};
  EXPECT_EQ(mark(paths, {.cuts = {"emb", "h.0"}}).names,
            (Names{"emb", "h.0", "h.1"}));
  EXPECT_EQ(mark(paths, {.cuts = {"mlp", "h.0.mlp.fc2"}}).names,
            (Names{"emb", "h.0.mlp", "h.0.mlp.fc2", "h.1.mlp"}));
  // A whole segment of that name stands for itself alone.
  EXPECT_EQ(mark({"mlp", "h.0.mlp", "h.1"}, {.cuts = {"mlp"}}).names,
            (Names{"mlp", "h.0", "h.1"}));
}

TEST(Segments, LayersThatFollowEachOtherAreJoined) {
  Names paths{"emb", "h.0", "h.1", "h.2", "h.3", "head"};
  Marked m =
      mark(paths, {.joined = {{"h.0", "h.1"}, {"h.[23]", "h.2", "h.3"}}});
  EXPECT_EQ(m.names, (Names{"emb", "h.0", "h.2", "head"}));
  EXPECT_EQ(m.segments, (std::vector<int32_t>{0, 1, 1, 2, 2, 3}));
  EXPECT_EQ(mark(paths, {.joined = {{"*"}}}).names, (Names{"emb"}));
  EXPECT_EQ(thrown_by([&] {
              mark(paths, {.joined = {{"h.0", "h.2"}}});
            }),
            "[plan] join: 'h.0' and 'h.2' do not follow each other: 'h.1' is "
            "between them");
  EXPECT_TRUE(thrown_by([&] {
                mark(paths, {.joined = {{"h.9"}}});
              }).starts_with("[plan] join: the model has no segment 'h.9'"));
}

TEST(Segments, PatternsNameLayersOnAPath) {
  EXPECT_EQ(layer_length("model.layers.3.mlp.fc1", "layers.*.mlp"), 18u);
  EXPECT_EQ(layer_length("model.layers.3.mlp.fc1", "model"), 5u);
  EXPECT_EQ(layer_length("model.layers.3", "layers.3"), 14u);
  EXPECT_EQ(layer_length("model.layers.30", "layers.3"), 0u);
  EXPECT_EQ(layer_length("model.layers.3", "layer"), 0u);
  EXPECT_EQ(layer_length("a", "*"), 1u);
  EXPECT_EQ(layer_length("", "*"), 0u);
  EXPECT_EQ(layer_length("a", ""), 0u);
}

TEST(Segments, OfNothingAreNone) {
  Graph graph(table());
  EXPECT_TRUE(mark_segments(graph).empty());
}

}  // namespace
}  // namespace braid::passes
