// Strides of views against a map of elements made by brute force.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>

#include "one_node.h"

namespace braid {
namespace {

using Random = std::mt19937_64;

int64_t below(Random& random, int64_t limit) {
  return std::uniform_int_distribution<int64_t>(0, limit - 1)(random);
}

// Where every element lies, in row-major order.
std::vector<int64_t> element_map(const Shape& shape, const Strides& strides,
                                 int64_t offset) {
  std::vector<int64_t> map{offset};
  for (size_t d = 0; d < shape.size(); ++d) {
    std::vector<int64_t> next;
    for (int64_t at : map) {
      for (int64_t i = 0; i < shape[d]; ++i)
        next.push_back(at + i * strides[d]);
    }
    map = std::move(next);
  }
  return map;
}

// A dense value of up to 5 dimensions, permuted, sliced and expanded.
struct Layout5 {
  Shape shape;
  Strides strides;
};

Layout5 random_layout(Random& random) {
  Layout5 made;
  auto rank = static_cast<size_t>(below(random, 6));
  const int64_t sizes[] = {1, 1, 2, 3, 4};
  for (size_t d = 0; d < rank; ++d)
    made.shape.push_back(sizes[below(random, 5)]);
  made.strides = contiguous_strides(made.shape);
  for (size_t d = 0; d < rank; ++d) {
    if (below(random, 4) == 0) {  // a slice of something larger
      for (size_t e = 0; e < d; ++e) made.strides[e] *= 2;
    }
    if (below(random, 6) == 0) made.strides[d] = 0;  // expanded
    if (made.shape[d] == 1) made.strides[d] = below(random, 9);
  }
  if (rank > 1 && below(random, 3) == 0) {  // permuted
    auto a = static_cast<size_t>(below(random, static_cast<int64_t>(rank)));
    std::swap(made.shape[0], made.shape[a]);
    std::swap(made.strides[0], made.strides[a]);
  }
  return made;
}

// Sizes whose product is `count`, with ones between them.
Shape random_shape(Random& random, int64_t count) {
  Shape shape;
  while (count > 1) {
    int64_t factor = 2 + below(random, 6);
    if (count % factor == 0 || below(random, 8) == 0) {
      int64_t size = count % factor == 0 ? factor : count;
      shape.push_back(size);
      count /= size;
    }
    if (below(random, 4) == 0) shape.push_back(1);
  }
  std::shuffle(shape.begin(), shape.end(), random);
  return shape;
}

// The strides that `target` must have over this map, if any do.
std::optional<Strides> brute_strides(const std::vector<int64_t>& map,
                                     const Shape& target) {
  Strides steps = contiguous_strides(target), strides(target.size(), 0);
  for (size_t d = 0; d < target.size(); ++d) {
    if (target[d] > 1) strides[d] = map[static_cast<size_t>(steps[d])] - map[0];
  }
  if (element_map(target, strides, map[0]) != map) return std::nullopt;
  return strides;
}

std::optional<View> view_of(const Graph& graph) {
  const Node& node = graph.node(0);
  return node.op->view(NodeView(graph, node));
}

TEST(ViewTest, ReshapeIsAViewExactlyWhereOneExists) {
  Random random(1);
  int views = 0, copies = 0;
  for (int round = 0; round < 20000; ++round) {
    Layout5 from = random_layout(random);
    int64_t offset = below(random, 5);
    Shape target = random_shape(random, num_elements(from.shape));
    Graph graph = one_node("reshape", {f32(from.shape)}, {{"shape", target}});
    Value& x = graph.value(graph.inputs()[0]);
    x.strides = from.strides;
    x.offset = offset;
    auto map = element_map(from.shape, from.strides, offset);
    std::optional<View> view = view_of(graph);
    SCOPED_TRACE(shape_text(from.shape) + shape_text(from.strides) + " to " +
                 shape_text(target));
    ASSERT_EQ(view.has_value(), brute_strides(map, target).has_value());
    (view ? views : copies)++;
    if (!view) continue;
    ASSERT_EQ(view->strides.size(), target.size());
    ASSERT_EQ(element_map(target, view->strides, view->offset), map);
  }
  EXPECT_GT(views, 2000);
  EXPECT_GT(copies, 2000);
}

TEST(ViewTest, ReshapeOfNothingIsAView) {
  Graph graph = one_node("reshape", {f32({0, 3})}, {{"shape", Ints{2, 0}}});
  graph.value(graph.inputs()[0]).strides = {1, 9};
  ASSERT_TRUE(view_of(graph));
  EXPECT_EQ(view_of(graph)->strides.size(), 2u);
}

TEST(ViewTest, PermuteReordersElements) {
  Graph graph =
      one_node("permute", {f32({2, 3, 4})}, {{"dims", Ints{2, 0, 1}}});
  View view = *view_of(graph);
  EXPECT_EQ(view.strides, (Strides{1, 12, 4}));
  EXPECT_EQ(view.offset, 0);
}

TEST(ViewTest, ExpandRepeatsWithStrideZero) {
  Graph graph = one_node("expand", {f32({3, 1})}, {{"shape", Ints{2, 3, 5}}});
  graph.value(graph.inputs()[0]).offset = 4;
  View view = *view_of(graph);
  EXPECT_EQ(view.strides, (Strides{0, 1, 0}));
  EXPECT_EQ(view.offset, 4);
}

// Places that x[start:end:step] of 5 elements takes in Python, times 10.
std::vector<int64_t> python_slice(int64_t start, int64_t end, int64_t step) {
  auto clamp = [](int64_t at) {
    return std::clamp<int64_t>(at < 0 ? at + 5 : at, 0, 5);
  };
  std::vector<int64_t> places;
  for (int64_t i = clamp(start); i < clamp(end); i += step) {
    places.push_back(10 * i);
  }
  return places;
}

TEST(ViewTest, SliceTakesWhatPythonTakes) {
  for (int64_t start = -7; start <= 7; ++start) {
    for (int64_t end = -7; end <= 7; ++end) {
      for (int64_t step = 1; step <= 4; ++step) {
        Graph graph = one_node("slice", {f32({5})},
                               {{"dim", int64_t{0}},
                                {"start", start},
                                {"end", end},
                                {"step", step}});
        graph.value(graph.inputs()[0]).strides = {10};
        View view = *view_of(graph);
        const Shape& shape = graph.value(graph.node(0).outputs[0]).type.shape;
        EXPECT_EQ(element_map(shape, view.strides, view.offset),
                  python_slice(start, end, step))
            << start << ":" << end << ":" << step;
      }
    }
  }
}

TEST(ViewTest, HugeStepsDoNotOverflow) {
  Graph graph = one_node("slice", {f32({9, 2})},
                         {{"dim", int64_t{0}},
                          {"start", int64_t{4}},
                          {"end", int64_t{9}},
                          {"step", std::numeric_limits<int64_t>::max()}});
  View view = *view_of(graph);
  EXPECT_EQ(view.offset, 8);
  EXPECT_GE(view.strides[0], 0);
}

// Attention writes heads last, so that joining them is a view.
TEST(ViewTest, HeadsOfAttentionJoinWithoutACopy) {
  Graph graph =
      one_node("scaled_dot_product_attention",
               {f32({2, 3, 4, 5}), f32({2, 3, 6, 5}), f32({2, 3, 6, 7})},
               {{"is_causal", false}});
  const Node& node = graph.node(0);
  Strides strides = node.op->strides(NodeView(graph, node));
  Shape joined{2, 4, 3, 7};
  Strides permuted{strides[0], strides[2], strides[1], strides[3]};
  EXPECT_TRUE(is_contiguous(joined, permuted));
}

}  // namespace
}  // namespace braid
