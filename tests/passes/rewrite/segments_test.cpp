#include "braid/passes/rewrite/segments.h"

#include <gtest/gtest.h>

#include "passes/text_graphs.h"

namespace braid::passes {
namespace {

using Names = std::vector<std::string>;

// Nodes on the given layer paths, in order; segments by node.
struct Marked {
  Names names;
  std::vector<int32_t> segments;
};

Marked mark(const Names& paths) {
  Graph graph(table());
  ValueId x = graph.add_input("x", {DType::kFloat32, {2}});
  for (const std::string& path : paths) {
    graph.set_path(path);
    x = graph.node(graph.add("relu", {x})).outputs[0];
  }
  Marked marked{mark_segments(graph), {}};
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

TEST(Segments, OfNothingAreNone) {
  Graph graph(table());
  EXPECT_TRUE(mark_segments(graph).empty());
}

}  // namespace
}  // namespace braid::passes
