// Archives whose frame is good and whose program is not.
#include "io/pt2/hostile.h"

namespace braid::io::pt2 {
namespace {

TEST(Pt2Hostile, graphs_without_order) {
  auto use = [](Json& graph, size_t node, const std::string& name) {
    graph["nodes"][node]["inputs"][0]["arg"] = {
        {"as_tensor", {{"name", name}}}};
  };
  expect_refused({
      {"undefined", in_graph([=](Json& g) { use(g, 2, "nobody"); }),
       "graph_module.graph.nodes[2].inputs[0].arg: 'nobody' is used before"},
      {"cycle", in_graph([=](Json& g) {
         use(g, 1, g["nodes"][2]["outputs"][0]["as_tensor"]["name"]);
       }),
       "is used before it is defined"},
      {"itself", in_graph([=](Json& g) {
         use(g, 1, g["nodes"][1]["outputs"][0]["as_tensor"]["name"]);
       }),
       "is used before it is defined"},
      {"twice", in_graph([](Json& g) {
         g["nodes"][1]["outputs"] = g["nodes"][0]["outputs"];
       }),
       "nodes[1].outputs[0]: 'embedding' is defined twice"},
      {"input twice",
       in_graph([](Json& g) { g["inputs"][1] = g["inputs"][0]; }),
       "is defined twice"},
      {"list as an input", in_graph([](Json& g) {
         g["inputs"][0] = {{"as_tensors", Json::array()}};
       }),
       "graph.inputs[0]: a list or a graph as an input of a graph"},
      {"undefined output", in_graph([](Json& g) {
         g["outputs"][0] = {{"as_tensor", {{"name", "zzz"}}}};
       }),
       "graph.outputs[0]: 'zzz' is used before it is defined"},
      {"no meta",
       in_graph([](Json& g) { g["tensor_values"].erase("embedding"); }),
       "'embedding' has no tensor_values"},
      {"tensor as scalar", in_graph([](Json& g) {
         g["nodes"][0]["inputs"][0]["arg"] = {
             {"as_sym_int", {{"as_name", "x"}}}};
       }),
       "'x' is used as a scalar, but it is a tensor"},
      {"constant result", in_graph([](Json& g) {
         g["nodes"][0]["outputs"][0] = {{"as_int", 1}};
       }),
       "a constant as the result of a node"},
      {"no name", in_graph([](Json& g) {
         g["nodes"][0]["outputs"][0] = {{"as_tensor", {{"name", ""}}}};
       }),
       "a value without a name"},
  });
}

TEST(Pt2Hostile, inner_graphs_see_only_their_inputs) {
  TestArchive archive(fixtures("branch_")[0]);
  archive.change_json(kModel, [](Json& json) {
    for (Json& node : json["graph_module"]["graph"]["nodes"]) {
      if (node["target"] != "torch.ops.higher_order.cond") continue;
      Json& inner = node["inputs"][2]["arg"]["as_graph"]["graph"];
      inner["nodes"][0]["inputs"][0]["arg"]["as_tensor"]["name"] = "gt";
    }
  });
  std::string text = refusal(archive.file());
  expect_contains(text,
                  "as_graph.graph.nodes[0].inputs[0].arg: 'gt' is used "
                  "before it is defined");
}

TEST(Pt2Hostile, graphs_of_wrong_form) {
  expect_refused({
      {"no nodes", in_graph([](Json& g) { g.erase("nodes"); }), "no 'nodes'"},
      {"nodes as text", in_graph([](Json& g) { g["nodes"] = "x"; }),
       "graph.nodes: expected a list, found string"},
      {"target as number",
       in_graph([](Json& g) { g["nodes"][0]["target"] = 1; }),
       "nodes[0].target: expected a text, found number"},
      {"empty target", in_graph([](Json& g) { g["nodes"][0]["target"] = ""; }),
       "an empty target"},
      {"two kinds at once", in_graph([](Json& g) {
         g["nodes"][0]["inputs"][0]["arg"]["as_int"] = 1;
       }),
       "expected one member, found 2"},
      {"no kind", in_graph([](Json& g) {
         g["nodes"][0]["inputs"][0]["arg"] = Json::object();
       }),
       "expected one member, found 0"},
      {"integer beyond 64 bits", in_graph([](Json& g) {
         g["nodes"][0]["inputs"][0]["arg"] = {{"as_int", ~uint64_t{0}}};
       }),
       "does not fit into 64 bits"},
      {"number as text", in_graph([](Json& g) {
         g["nodes"][0]["inputs"][0]["arg"] = {{"as_float", "much"}};
       }),
       "arg.as_float: expected a number, found string"},
      {"no graph",
       in_json(kModel, [](Json& j) { j["graph_module"].erase("graph"); }),
       "graph_module: no 'graph'"},
      {"empty range",
       in_json(
           kModel,
           [](Json& j) {
             j["range_constraints"]["s0"] = {{"min_val", 4}, {"max_val", 2}};
           }),
       "the empty range 4 to 2"},
  });
}

TEST(Pt2Hostile, metas_of_wrong_sizes) {
  auto meta = [](const std::function<void(Json&)>& change) {
    return in_graph([=](Json& g) { change(g["tensor_values"]["embedding"]); });
  };
  auto size = [=](Json value) {
    return meta([=](Json& m) { m["sizes"][0] = value; });
  };
  expect_refused({
      {"negative", size({{"as_int", -1}}),
       "tensor_values.embedding.sizes[0]: the negative size or stride -1"},
      {"overflow", size({{"as_int", INT64_MAX}}),
       "embedding: the product of the sizes is too large"},
      {"negative stride", meta([](Json& m) {
         m["strides"][0] = {{"as_int", -4}};
       }),
       "the negative size or stride -4"},
      {"negative offset", meta([](Json& m) {
         m["storage_offset"] = {{"as_int", -4}};
       }),
       "the negative offset -4"},
      {"too few strides", meta([](Json& m) { m["strides"].erase(0); }),
       "3 sizes and 2 strides"},
      {"many dimensions", meta([](Json& m) {
         m["sizes"] = m["strides"] = Json(65, {{"as_int", 1}});
       }),
       "65 dimensions, the limit is 64"},
      {"negative hint",
       size({{"as_expr", {{"expr_str", "s0"}, {"hint", {{"as_int", -7}}}}}}),
       "the negative size or stride -7"},
      {"unknown form", size({{"as_magic", 1}}), "'as_int' or 'as_expr'"},
      {"no dtype", meta([](Json& m) { m.erase("dtype"); }), "no 'dtype'"},
  });
}

TEST(Pt2Hostile, signatures_that_do_not_fit) {
  expect_refused({
      {"other input", in_signature([](Json& s) {
         s["input_specs"][0]["parameter"]["arg"]["name"] = "x";
       }),
       "'x' is not input 0 of the graph, 'p_emb_weight'"},
      {"constant for a tensor", in_signature([](Json& s) {
         s["input_specs"][0] = {
             {"constant_input", {{"name", "x"}, {"value", {{"as_int", 1}}}}}};
       }),
       "is not input 0 of the graph"},
      {"too few inputs",
       in_signature([](Json& s) { s["input_specs"].erase(0); }),
       "input_specs, the graph has"},
      {"too many outputs", in_signature([](Json& s) {
         s["output_specs"].push_back(s["output_specs"][0]);
       }),
       "2 output_specs, the graph has 1"},
      {"no such buffer", in_signature([](Json& s) {
         s["output_specs"][0] = {{"buffer_mutation",
                                  {{"arg", {{"name", "cross_entropy_loss"}}},
                                   {"buffer_name", "nobody"}}}};
       }),
       "changes 'nobody', which is no buffer"},
      {"one name twice", in_signature([](Json& s) {
         s["input_specs"][1]["parameter"]["parameter_name"] = "emb.weight";
       }),
       "'emb.weight' is an input twice"},
      {"not stored", in_signature([](Json& s) {
         s["input_specs"][0]["parameter"]["parameter_name"] = "nobody";
       }),
       "input 'nobody': not in data/weights"},
      {"another shape", in_graph([](Json& g) {
         g["tensor_values"]["p_head_bias"]["sizes"][0]["as_int"] = 4;
       }),
       "input 'head.bias': f32[4] in the graph, f32[5] in data/weights"},
  });
}

TEST(Pt2Hostile, weights_that_leave_their_bytes) {
  auto meta = [](const std::string& key, Json value) {
    return in_weight([=](Json& w) { w["tensor_meta"][key] = value; });
  };
  auto sizes = [](int64_t value) { return Json{{{"as_int", value}}}; };
  expect_refused({
      {"pickled", in_weight([](Json& w) { w["use_pickle"] = true; }),
       "config.head.bias: weights are pickled"},
      {"hint", in_weight([](Json& w) { w["use_pickle"] = true; }),
       "HINT: Braid never unpickles"},
      {"larger", meta("sizes", sizes(6)),
       "needs 24 bytes, 'data/weights/weight_"},
      {"stride", meta("strides", sizes(2)), "needs 36 bytes"},
      {"offset", meta("storage_offset", {{"as_int", 1}}), "needs 24 bytes"},
      {"offset overflow", meta("storage_offset", {{"as_int", INT64_MAX}}),
       "the storage span is too large"},
      {"stride overflow", meta("strides", sizes(INT64_MAX / 2)),
       "the storage span is too large"},
      {"wider type", meta("dtype", 8), "needs 40 bytes"},
      {"unknown type", meta("dtype", 99), "unknown dtype number 99"},
      {"sparse", meta("layout", 1), "a sparse tensor"},
      {"symbolic", meta("sizes", {{{"as_expr", {{"expr_str", "s0"}}}}}),
       "symbolic sizes"},
      {"no meta", meta("sizes", nullptr), "expected a list, found null"},
      {"path out of the archive",
       in_weight([](Json& w) { w["path_name"] = "../../../etc/passwd"; }),
       "there is no file 'data/weights/../../../etc/passwd'"},
      {"shared with another type",
       in_json(kWeights,
               [](Json& j) {
                 j["config"]["emb.weight"]["tensor_meta"]["dtype"] = 4;
               }),
       "shared by tensors of dtype numbers 4 and 7"},
      {"short bytes", set("data/weights/weight_1", "abc"), "has 3"},
      {"constant", set("data/constants/tensor_0", ""), "has 0"},
  });
}

}  // namespace
}  // namespace braid::io::pt2
