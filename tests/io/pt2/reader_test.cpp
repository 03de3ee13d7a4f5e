// Real archives: what the reader makes of them.
#include "braid/io/pt2/reader.h"

#include <cmath>
#include <cstring>

#include "io/pt2/archive.h"

namespace braid::io::pt2 {
namespace {

using Kind = Argument::Kind;

struct Program {
  explicit Program(const std::filesystem::path& path)
      : file(path), program(read_exported(file.bytes(), path.string())) {}

  const ExportedNode& node(std::string_view target, size_t skip = 0) const {
    return node_of(program.graph, target, skip);
  }

  static const ExportedNode& node_of(const ExportedGraph& graph,
                                     std::string_view target, size_t skip) {
    for (const ExportedNode& node : graph.nodes) {
      if (node.target == target && skip-- == 0) return node;
    }
    throw std::runtime_error("no node " + std::string(target));
  }

  const StoredTensor& stored(std::string_view name) const {
    for (auto* list : {&program.weights, &program.constants}) {
      for (const StoredTensor& tensor : *list) {
        if (tensor.name == name) return tensor;
      }
    }
    throw std::runtime_error("no tensor " + std::string(name));
  }

  const InputSpec& input(std::string_view name) const {
    for (const InputSpec& spec : program.inputs) {
      if (spec.name == name) return spec;
    }
    throw std::runtime_error("no input " + std::string(name));
  }

  // The elements from the begin of a storage on.
  template <class T>
  std::vector<T> storage(std::string_view name) const {
    const StoredTensor& tensor = stored(name);
    std::vector<T> values(tensor.bytes / sizeof(T));
    std::memcpy(values.data(), file.bytes().data() + tensor.begin,
                values.size() * sizeof(T));
    return values;
  }

  MappedFile file;
  ExportedProgram program;
};

std::vector<int64_t> values_of(const std::vector<Size>& sizes) {
  std::vector<int64_t> values;
  for (const Size& size : sizes) values.push_back(size.value);
  return values;
}

std::vector<int64_t> shape_of(const StoredTensor& tensor) {
  return values_of(tensor.meta.sizes);
}

TEST(Pt2Reader, reads_every_fixture) {
  std::vector<std::filesystem::path> all = fixtures("");
  ASSERT_GE(all.size(), 6u);
  for (const auto& path : all) {
    SCOPED_TRACE(path.filename().string());
    Program p(path);
    EXPECT_EQ(p.program.schema_major, 8);
    EXPECT_GT(p.program.schema_minor, 0);
    EXPECT_EQ(p.program.torch_version.substr(0, 2), "2.");
    EXPECT_FALSE(p.program.graph.nodes.empty());
    EXPECT_EQ(p.program.inputs.size(), p.program.graph.inputs.size());
    EXPECT_EQ(p.program.outputs.size(), p.program.graph.outputs.size());
    for (auto* list : {&p.program.weights, &p.program.constants}) {
      for (const StoredTensor& tensor : *list) {
        EXPECT_LE(tensor.begin + tensor.bytes, p.file.bytes().size());
      }
    }
  }
}

TEST(Pt2Reader, reads_tied_weights_as_two_names_of_one_storage) {
  for (const auto& path : fixtures("tied_")) {
    Program p(path);
    const StoredTensor &emb = p.stored("emb.weight"),
                       &head = p.stored("head.weight");
    EXPECT_EQ(emb.path, head.path);
    EXPECT_EQ(emb.begin, head.begin);
    EXPECT_EQ(shape_of(emb), (std::vector<int64_t>{5, 4}));
    EXPECT_EQ(emb.bytes, 80u);
    EXPECT_TRUE(emb.is_parameter && emb.meta.requires_grad);
    EXPECT_EQ(p.program.weights.size(), 3u);
  }
}

TEST(Pt2Reader, tells_buffers_and_constants_from_parameters) {
  for (const auto& path : fixtures("tied_")) {
    Program p(path);
    const InputSpec& pos = p.input("pos");
    EXPECT_EQ(pos.kind, InputSpec::Kind::kBuffer);
    EXPECT_FALSE(pos.is_persistent);
    EXPECT_EQ(pos.argument.kind, Kind::kTensor);
    EXPECT_EQ(p.storage<int64_t>("pos"), (std::vector<int64_t>{0, 1, 2}));
    const InputSpec& lifted = p.input("lifted_tensor_0");
    EXPECT_EQ(lifted.kind, InputSpec::Kind::kTensorConstant);
    EXPECT_EQ(p.storage<float>("lifted_tensor_0"),
              (std::vector<float>{1, 2, 3, 4}));
    EXPECT_EQ(p.input("head.bias").kind, InputSpec::Kind::kParameter);
    EXPECT_EQ(p.program.user_inputs, (std::vector<std::string>{"x", "y"}));
    const InputSpec& last = p.program.inputs.back();
    EXPECT_EQ(last.kind, InputSpec::Kind::kUser);
    EXPECT_EQ(last.argument.text, "y");
    ASSERT_EQ(p.program.outputs.size(), 1u);
    EXPECT_EQ(p.program.outputs[0].kind, OutputSpec::Kind::kUser);
  }
}

TEST(Pt2Reader, keeps_a_block_without_gradient_as_a_graph) {
  for (const auto& path : fixtures("tied_")) {
    Program p(path);
    const ExportedNode& node =
        p.node("torch.ops.higher_order.wrap_with_set_grad_enabled");
    ASSERT_GE(node.inputs.size(), 3u);
    EXPECT_EQ(node.inputs[0].value.kind, Kind::kBool);
    EXPECT_EQ(node.inputs[0].value.integer, 0);
    EXPECT_EQ(node.inputs[0].name, "");
    const Argument& block = node.inputs[1].value;
    ASSERT_EQ(block.kind, Kind::kGraph);
    const ExportedNode& mean =
        Program::node_of(*block.graph, "torch.ops.aten.mean.dim", 0);
    EXPECT_EQ(mean.inputs[1].name, "dim");
    ASSERT_EQ(mean.inputs[1].value.kind, Kind::kList);
    EXPECT_EQ(mean.inputs[1].value.list[0].integer, -1);
    EXPECT_EQ(block.graph->tensors.at(mean.outputs[0].text).sizes[2].value, 1);
  }
}

TEST(Pt2Reader, says_which_layer_and_line_a_node_comes_from) {
  for (const auto& path : fixtures("tied_")) {
    Program p(path);
    const ExportedNode& linear = p.node("torch.ops.aten.linear.default");
    EXPECT_EQ(linear.layer, "head");
    EXPECT_EQ(linear.name, "linear");
    std::string source = linear.source;
    EXPECT_TRUE(source.starts_with("File \"make_pt2_fixtures.py\", line "))
        << source;
    expect_contains(source, "in forward: return F.cross_entropy(self.head(h)");
    EXPECT_EQ(p.node("torch.ops.aten.sub.Tensor").layer, "");
  }
}

TEST(Pt2Reader, reads_symbolic_sizes) {
  for (const auto& path : fixtures("dynamic_")) {
    Program p(path);
    const Size& batch = p.program.graph.tensors.at("x").sizes[0];
    EXPECT_EQ(batch.value, 6);
    ASSERT_EQ(p.program.ranges.count(batch.symbol), 1u) << batch.symbol;
    EXPECT_EQ(p.program.ranges.at(batch.symbol),
              (std::pair<int64_t, int64_t>{2, 64}));
    const ExportedNode& view = p.node("torch.ops.aten.view.default");
    const Argument& size = view.inputs[1].value;
    ASSERT_EQ(size.kind, Kind::kList);
    ASSERT_EQ(size.list[0].kind, Kind::kSymbol);
    EXPECT_EQ(size.list[1].integer, 2);
    const Size& doubled = p.program.graph.symbols.at(size.list[0].text);
    EXPECT_EQ(doubled.value, 12);
    EXPECT_EQ(doubled.symbol, "2*" + batch.symbol);
    EXPECT_EQ(p.node("_operator.mul").outputs[0].kind, Kind::kSymbol);
  }
}

TEST(Pt2Reader, reads_constant_arguments_lists_and_infinity) {
  for (const auto& path : fixtures("dynamic_")) {
    Program p(path);
    EXPECT_EQ(p.input("scale").kind, InputSpec::Kind::kUser);
    EXPECT_EQ(p.input("scale").argument.kind, Kind::kInteger);
    EXPECT_EQ(p.input("scale").argument.integer, 3);
    EXPECT_EQ(p.input("flag").argument.kind, Kind::kMissing);
    EXPECT_EQ(p.program.user_inputs,
              (std::vector<std::string>{"x", "scale", "flag"}));
    const ExportedNode& split = p.node("torch.ops.aten.split.Tensor");
    ASSERT_EQ(split.outputs.size(), 1u);
    ASSERT_EQ(split.outputs[0].kind, Kind::kList);
    EXPECT_EQ(split.outputs[0].list.size(), 2u);
    EXPECT_EQ(split.outputs[0].list[1].kind, Kind::kTensor);
    const ExportedNode& clamp = p.node("torch.ops.aten.clamp.default");
    const NamedArgument& max = clamp.inputs.back();
    EXPECT_EQ(max.name, "max");
    EXPECT_EQ(max.value.kind, Kind::kNumber);
    EXPECT_TRUE(std::isinf(max.value.number));
    EXPECT_EQ(p.node("torch.ops.aten.linear.default", 1).layer, "layers.fc.0");
  }
}

TEST(Pt2Reader, reads_every_type_of_stored_tensor) {
  for (const auto& path : fixtures("types_")) {
    Program p(path);
    auto type = [&](const char* name) {
      return exported_dtype(p.stored(name).meta.type);
    };
    EXPECT_EQ(type("weight"), DType::kBFloat16);
    EXPECT_EQ(type("frozen"), DType::kFloat64);
    EXPECT_EQ(type("u8"), DType::kUInt8);
    EXPECT_EQ(type("i32"), DType::kInt32);
    EXPECT_EQ(type("i64"), DType::kInt64);
    EXPECT_EQ(type("mask"), DType::kBool);
    EXPECT_EQ(type("f16"), DType::kFloat16);
    EXPECT_EQ(type("c64"), DType::kComplex64);
    EXPECT_EQ(type("u16"), std::nullopt);
    EXPECT_FALSE(p.stored("frozen").meta.requires_grad);
    EXPECT_TRUE(p.stored("frozen").is_parameter);
    EXPECT_FALSE(p.stored("mask").is_parameter);
    EXPECT_EQ(shape_of(p.stored("i64")), std::vector<int64_t>{});
    EXPECT_EQ(shape_of(p.stored("empty")), (std::vector<int64_t>{0, 3}));
    EXPECT_EQ(p.stored("empty").bytes, 0u);
    EXPECT_EQ(p.storage<int32_t>("i32"), (std::vector<int32_t>{-1, 2}));
    EXPECT_EQ(p.storage<float>("c64"), (std::vector<float>{1, 2, 3, -1}));
  }
}

TEST(Pt2Reader, reads_arguments_of_every_scalar_kind) {
  for (const auto& path : fixtures("types_")) {
    Program p(path);
    const ExportedNode& check =
        p.node("torch.ops.aten._assert_tensor_metadata.default");
    auto value = [&](std::string_view name) -> const Argument& {
      for (const NamedArgument& input : check.inputs) {
        if (input.name == name) return input.value;
      }
      throw std::runtime_error("no argument " + std::string(name));
    };
    EXPECT_EQ(value("dtype").kind, Kind::kType);
    EXPECT_EQ(exported_dtype(value("dtype").integer), DType::kFloat32);
    EXPECT_EQ(value("device").kind, Kind::kDevice);
    EXPECT_EQ(value("device").text, "cpu");
    EXPECT_EQ(value("layout").kind, Kind::kLayout);
    EXPECT_TRUE(check.inputs.back().by_keyword);
    EXPECT_FALSE(check.inputs.front().by_keyword);
    EXPECT_TRUE(check.outputs.empty());
    bool has_complex = false;
    for (const ExportedNode& node : p.program.graph.nodes) {
      for (const NamedArgument& input : node.inputs) {
        if (input.value.kind != Kind::kComplex) continue;
        has_complex = true;
        EXPECT_EQ(input.value.number, 1);
        EXPECT_EQ(input.value.imaginary, 2);
      }
    }
    EXPECT_TRUE(has_complex);
  }
}

TEST(Pt2Reader, reads_weights_that_are_views) {
  for (const auto& path : fixtures("strided_")) {
    Program p(path);
    const StoredTensor& transposed = p.stored("transposed");
    EXPECT_EQ(shape_of(transposed), (std::vector<int64_t>{2, 3}));
    EXPECT_EQ(values_of(transposed.meta.strides), (std::vector<int64_t>{1, 2}));
    const StoredTensor &left = p.stored("left"), &right = p.stored("right");
    EXPECT_EQ(left.path, right.path);
    EXPECT_EQ(left.bytes, 32u);
    EXPECT_EQ(right.meta.offset.value, 4);
    EXPECT_EQ(values_of(right.meta.strides), (std::vector<int64_t>{1, 2}));
    EXPECT_EQ(p.storage<float>("right"),
              (std::vector<float>{0, 1, 2, 3, 4, 5, 6, 7}));
  }
}

TEST(Pt2Reader, reads_outputs_that_change_buffers_and_inputs) {
  for (const auto& path : fixtures("mutation_")) {
    Program p(path);
    std::vector<std::string> buffers, inputs;
    for (const OutputSpec& spec : p.program.outputs) {
      using enum OutputSpec::Kind;
      if (spec.kind == kBufferMutation) buffers.push_back(spec.name);
      if (spec.kind == kInputMutation) inputs.push_back(spec.name);
      EXPECT_EQ(spec.argument.kind, Kind::kTensor);
    }
    std::sort(buffers.begin(), buffers.end());
    EXPECT_EQ(buffers, (std::vector<std::string>{
                           "count", "norm.num_batches_tracked",
                           "norm.running_mean", "norm.running_var"}));
    EXPECT_EQ(inputs, std::vector<std::string>{"state"});
  }
}

TEST(Pt2Reader, reads_graphs_inside_graphs) {
  for (const auto& path : fixtures("branch_")) {
    Program p(path);
    const ExportedNode& outer = p.node("torch.ops.higher_order.cond");
    const Argument& yes = outer.inputs[1].value;
    ASSERT_EQ(yes.kind, Kind::kGraph);
    EXPECT_FALSE(yes.text.empty());
    const ExportedNode& inner =
        Program::node_of(*yes.graph, "torch.ops.higher_order.cond", 0);
    ASSERT_EQ(inner.inputs[2].value.kind, Kind::kGraph);
    EXPECT_EQ(inner.inputs[2].value.graph->nodes.size(), 1u);
  }
}

TEST(Pt2Reader, keeps_unknown_kinds_of_arguments_by_name) {
  TestArchive archive(fixtures("tied_")[0]);
  archive.change_json("models/model.json", [](auto& json) {
    auto& module = json["graph_module"];
    auto& node = module["graph"]["nodes"][0];
    node["inputs"].push_back({{"name", "new"},
                              {"arg", {{"as_something_new", {1, 2}}}},
                              {"kind", 2}});
    node["inputs"].push_back(
        {{"name", ""}, {"arg", {{"as_operator", "x.y"}}}, {"kind", nullptr}});
    module["signature"]["output_specs"][0] = {
        {"gradient_to_user_input", {{"arg", {{"name", "x"}}}}}};
  });
  ExportedProgram program = read_text_as_exported(archive.file());
  const std::vector<NamedArgument>& inputs = program.graph.nodes[0].inputs;
  EXPECT_EQ(inputs[2].value.kind, Kind::kOther);
  EXPECT_EQ(inputs[2].value.text, "as_something_new");
  EXPECT_EQ(inputs[3].value.text, "as_operator");
  EXPECT_EQ(program.outputs[0].kind, OutputSpec::Kind::kOther);
  EXPECT_EQ(program.outputs[0].other_kind, "gradient_to_user_input");
}

TEST(Pt2Reader, reads_the_remaining_kinds_of_arguments) {
  TestArchive archive(fixtures("tied_")[0]);
  archive.change_json("models/model.json", [](auto& json) {
    auto& inputs = json["graph_module"]["graph"]["nodes"][0]["inputs"];
    inputs = nlohmann::json::array();
    for (const char* text :
         {R"({"as_none": true})", R"({"as_floats": [1.5, "NaN", 2]})",
          R"({"as_strings": ["a", "b"]})", R"({"as_bools": [true, false]})",
          R"({"as_memory_format": 2})", R"({"as_int_lists": [[1], [2, 3]]})",
          R"({"as_optional_tensors": [{"as_tensor": {"name": "x"}},
                                      {"as_none": true}]})",
          R"({"as_nested_tensors": [[{"name": "x"}], []]})",
          R"({"as_sym_float": {"as_float": 0.5}})",
          R"({"as_sym_bools": [{"as_bool": true}]})",
          R"({"as_device": {"type": "cuda", "index": 1}})",
          R"({"as_int": 9223372036854775807})"}) {
      inputs.push_back({{"name", "n"}, {"arg", nlohmann::json::parse(text)}});
    }
  });
  ExportedProgram program = read_text_as_exported(archive.file());
  std::vector<Argument> a;
  for (auto& input : program.graph.nodes[0].inputs) a.push_back(input.value);
  EXPECT_EQ(a[0].kind, Kind::kMissing);
  EXPECT_EQ(a[1].list[0].number, 1.5);
  EXPECT_TRUE(std::isnan(a[1].list[1].number));
  EXPECT_EQ(a[2].list[1].text, "b");
  EXPECT_EQ(a[3].list[0].integer, 1);
  EXPECT_EQ(a[4].kind, Kind::kMemoryFormat);
  EXPECT_EQ(a[5].list[1].list[1].integer, 3);
  EXPECT_EQ(a[6].list[0].text, "x");
  EXPECT_EQ(a[6].list[1].kind, Kind::kMissing);
  EXPECT_EQ(a[7].list[0].list[0].kind, Kind::kTensor);
  EXPECT_EQ(a[8].number, 0.5);
  EXPECT_EQ(a[9].list[0].kind, Kind::kBool);
  EXPECT_EQ(a[10].text, "cuda:1");
  EXPECT_EQ(a[11].integer, INT64_MAX);
}

}  // namespace
}  // namespace braid::io::pt2
