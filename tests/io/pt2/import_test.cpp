// Real archives as graphs of ours. No libtorch here: what it would be asked
// is seen by a stand-in.
#include "braid/io/pt2/import.h"

#include <algorithm>
#include <cstring>

#include "braid/graph/verify.h"
#include "io/pt2/archive.h"
#include "op_table.h"

namespace braid::io::pt2 {
namespace {

// Knows no operator and remembers what it was asked.
class NoForeignOps : public ForeignOps {
 public:
  std::vector<ValueType> infer(const std::string& target,
                               const std::vector<ForeignArg>&,
                               const std::vector<ValueType>&) const override {
    asked.push_back(target);
    throw std::invalid_argument("there is no operator " + target);
  }
  mutable std::vector<std::string> asked;
};

// Says that each operator gives what its first input is.
class SameTypeOps : public ForeignOps {
 public:
  std::vector<ValueType> infer(
      const std::string&, const std::vector<ForeignArg>&,
      const std::vector<ValueType>& inputs) const override {
    return {inputs.at(0)};
  }
};

// Knows the batch norm of decomposed graphs.
class BatchNormOps : public ForeignOps {
 public:
  std::vector<ValueType> infer(
      const std::string& target, const std::vector<ForeignArg>&,
      const std::vector<ValueType>& inputs) const override {
    EXPECT_EQ(target, "aten::_native_batch_norm_legit_functional");
    std::vector<ValueType> types(5, inputs.at(1));
    types[0] = inputs.at(0);
    return types;
  }
};

Imported import_path(const std::filesystem::path& path,
                     const ImportOptions& options = {},
                     const ForeignOps& foreign = NoForeignOps()) {
  Imported imported =
      import_pt2(table(), open_exported(path), foreign, options);
  verify(imported.graph);
  return imported;
}

// A fixture, changed and written to a file.
Imported import_changed(const TestArchive& archive,
                        const ImportOptions& options = {},
                        const ForeignOps& foreign = NoForeignOps()) {
  ScratchDirectory folder(fast_parent());
  write_text(folder.path() / "net.pt2", archive.file());
  return import_path(folder.path() / "net.pt2", options, foreign);
}

std::string problems_of(const std::filesystem::path& path,
                        const ImportOptions& options = {}) {
  return error_of<std::runtime_error>([&] { import_path(path, options); });
}

std::filesystem::path fixture(std::string_view prefix) {
  return fixtures(prefix).at(0);
}

const Slot& slot_of(const Graph& graph, const std::string& name) {
  SlotId id = graph.find_slot(name);
  if (id == kNone) throw std::runtime_error("no slot " + name);
  return graph.slot(id);
}

const ValueType& input_type(const Graph& graph, const std::string& name) {
  return graph.value(graph.find_input(name)).type;
}

const ValueType& output_type(const Graph& graph, const std::string& name) {
  return graph.value(graph.find_output(name)).type;
}

const std::string& name_of(const Node& node) { return node.op->name; }

int64_t count(const Graph& graph, const std::string& op) {
  return std::ranges::count(graph.nodes(), op, name_of);
}

std::vector<std::string> assigned(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    if (node.op->name == "assign") names.push_back(graph.slot(node.slot).name);
  }
  std::ranges::sort(names);
  return names;
}

// The op whose result the loss is, reshapes aside.
std::string producer_of_loss(const Graph& graph) {
  const Node* node =
      &graph.node(graph.value(graph.find_output("loss")).producer);
  while (node->op->name == "reshape" || node->op->name == "copy") {
    node = &graph.node(graph.value(node->inputs[0]).producer);
  }
  return node->op->name;
}

std::vector<float> content(const Imported& imported, const std::string& name) {
  SlotId id = imported.graph.find_slot(name);
  for (const SlotContent& entry : imported.contents) {
    if (entry.slot != id) continue;
    std::vector<std::byte> bytes = packed(entry, imported.graph.slot(id));
    std::vector<float> values(bytes.size() / sizeof(float));
    std::memcpy(values.data(), bytes.data(), bytes.size());
    return values;
  }
  throw std::runtime_error("no content of " + name);
}

const char* const kModel = "models/model.json";
const char* const kWeights = "data/weights/model_weights_config.json";

// The target of the n-th node becomes another.
void set_target(TestArchive& archive, size_t node, const std::string& target) {
  archive.change_json(kModel, [&](nlohmann::json& json) {
    json["graph_module"]["graph"]["nodes"][node]["target"] = target;
  });
}

// A switch among the arguments of the n-th node.
void set_flag(TestArchive& archive, size_t node, const std::string& name,
              bool on) {
  archive.change_json(kModel, [&](nlohmann::json& json) {
    for (auto& in : json["graph_module"]["graph"]["nodes"][node]["inputs"]) {
      if (in["name"] == name) in["arg"]["as_bool"] = on;
    }
  });
}

nlohmann::json& meta_of(nlohmann::json& json, const std::string& name) {
  return json["config"][name]["tensor_meta"];
}

TEST(Pt2Import, tied_weights_are_one_slot_with_two_names) {
  Imported imported = import_path(fixture("tied_"));
  const Graph& graph = imported.graph;
  const Slot& slot = slot_of(graph, "emb.weight");
  EXPECT_EQ(slot.aliases, (std::vector<std::string>{"head.weight"}));
  EXPECT_EQ(slot.shape, (Shape{5, 4}));
  EXPECT_EQ(slot.role, Role::kParameter);
  EXPECT_TRUE(slot.trainable);
  EXPECT_EQ(graph.find_slot("head.weight"), kNone);
  auto is_parameter = [](const Slot& s) { return s.role == Role::kParameter; };
  EXPECT_EQ(std::ranges::count_if(graph.slots(), is_parameter), 2);
  EXPECT_EQ(content(imported, "emb.weight").size(), 20u);
  EXPECT_EQ(output_type(graph, "loss"), (ValueType{DType::kFloat32, {}}));
}

TEST(Pt2Import, buffers_outside_the_state_dict_and_lifted_ones_are_constant) {
  Imported imported = import_path(fixture("tied_"));
  EXPECT_EQ(slot_of(imported.graph, "pos").role, Role::kConstant);
  EXPECT_EQ(slot_of(imported.graph, "pos").dtype, DType::kInt64);
  EXPECT_EQ(slot_of(imported.graph, "lifted_tensor_0").role, Role::kConstant);
  EXPECT_EQ(content(imported, "lifted_tensor_0"),
            (std::vector<float>{1, 2, 3, 4}));
}

TEST(Pt2Import, what_is_made_under_no_grad_is_detached) {
  TestArchive archive(fixture("tied_"));
  // The lifted constant brings a detach of its own.
  int64_t with = count(import_changed(archive).graph, "detach");
  archive.change_json(kModel, [](nlohmann::json& json) {
    auto& region = json["graph_module"]["graph"]["nodes"][6];
    region["inputs"][0]["arg"]["as_bool"] = true;
  });
  EXPECT_EQ(count(import_changed(archive).graph, "detach"), with - 1);
}

TEST(Pt2Import, frozen_parameters_are_not_trainable) {
  TestArchive archive(fixture("tied_"));
  archive.change_json(kWeights, [](nlohmann::json& json) {
    meta_of(json, "head.bias")["requires_grad"] = false;
  });
  Imported imported = import_changed(archive);
  EXPECT_FALSE(slot_of(imported.graph, "head.bias").trainable);
  EXPECT_EQ(slot_of(imported.graph, "head.bias").role, Role::kParameter);
  EXPECT_TRUE(slot_of(imported.graph, "emb.weight").trainable);
}

TEST(Pt2Import, layers_and_nodes_keep_their_paths) {
  Imported imported = import_path(fixture("tied_"));
  auto linear = std::ranges::find(imported.graph.nodes(), "linear", name_of);
  ASSERT_NE(linear, imported.graph.nodes().end());
  EXPECT_EQ(linear->path, "head");
}

TEST(Pt2Import, parts_of_one_storage_are_tensors_of_their_own) {
  Imported imported = import_path(fixture("strided_"));
  EXPECT_EQ(content(imported, "transposed"),
            (std::vector<float>{0, 2, 4, 1, 3, 5}));
  EXPECT_EQ(content(imported, "left"), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(content(imported, "right"), (std::vector<float>{4, 6, 5, 7}));
}

TEST(Pt2Import, parts_of_one_storage_with_one_shape_are_not_tied) {
  TestArchive archive(fixture("strided_"));
  archive.change_json(kModel, [](nlohmann::json& json) {
    auto& values = json["graph_module"]["graph"]["tensor_values"];
    values["p_right"] = values["p_left"];
    values["mul"] = values["p_left"];
  });
  archive.change_json(kWeights, [](nlohmann::json& json) {
    meta_of(json, "right") = meta_of(json, "left");
    meta_of(json, "right")["storage_offset"]["as_int"] = 4;
  });
  Imported imported = import_changed(archive);
  EXPECT_TRUE(slot_of(imported.graph, "left").aliases.empty());
  EXPECT_EQ(content(imported, "left"), (std::vector<float>{0, 1, 2, 3}));
  EXPECT_EQ(content(imported, "right"), (std::vector<float>{4, 5, 6, 7}));
}

TEST(Pt2Import, open_sizes_are_those_of_the_inputs) {
  ImportOptions options;
  for (int64_t batch : {6, 10}) {
    options.inputs["x"] = {DType::kFloat32, {batch, 4}};
    options.outputs = {"clamp"};
    Graph graph = import_path(fixture("dynamic_"), options).graph;
    EXPECT_EQ(input_type(graph, "x").shape, (Shape{batch, 4}));
    EXPECT_EQ(output_type(graph, "clamp").shape, (Shape{batch, 4}));
    EXPECT_EQ(output_type(graph, "loss").shape, Shape{});
  }
  Graph graph = import_path(fixture("dynamic_")).graph;
  EXPECT_EQ(input_type(graph, "x").shape, (Shape{6, 4}));
}

TEST(Pt2Import, fixed_sizes_refuse_others) {
  ImportOptions options;
  options.inputs["x"] = {DType::kInt64, {2, 4}};
  std::string text = problems_of(fixture("tied_"), options);
  expect_contains(text, "input 'x' is [2, 4], the model was exported for");
  expect_contains(text, "[2, 3]\nHINT: export with a dynamic dimension");
  options.inputs["x"] = {DType::kFloat32, {10, 5}};
  expect_contains(problems_of(fixture("dynamic_"), options),
                  "input 'x' is [10, 5]");
  options.inputs["x"] = {DType::kFloat32, {40}};
  expect_contains(problems_of(fixture("dynamic_"), options),
                  "input 'x' is [40]");
}

TEST(Pt2Import, lists_all_problems_and_none_that_follows_from_another) {
  TestArchive archive(fixture("tied_"));
  set_target(archive, 0, "torch.ops.fancy.embed.default");
  set_target(archive, 4, "torch.ops.aten.sparkle.default");
  std::string text =
      error_of<std::runtime_error>([&] { import_changed(archive); });
  expect_contains(text, "[import] ");
  expect_contains(text, "2 problems");
  expect_contains(text, "fancy.embed.default at emb (File \"make_pt2_fix");
  expect_contains(text, "operator of another library");
  expect_contains(text, "HINT: choose an implementation in plain PyTorch");
  expect_contains(text, "aten.sparkle.default");
  expect_contains(text, "there is no operator aten::sparkle");
}

TEST(Pt2Import, lists_every_stored_tensor_that_it_cannot_have) {
  TestArchive archive(fixture("tied_"));
  archive.change_json(kWeights, [](nlohmann::json& json) {
    for (const char* name : {"emb.weight", "head.weight", "head.bias"}) {
      meta_of(json, name)["dtype"] = 28;  // u16
    }
  });
  archive.change_json(kModel, [](nlohmann::json& json) {
    auto& values = json["graph_module"]["graph"]["tensor_values"];
    for (const char* name : {"p_emb_weight", "p_head_weight", "p_head_bias"}) {
      values[name]["dtype"] = 28;
    }
  });
  std::string text =
      error_of<std::runtime_error>([&] { import_changed(archive); });
  expect_contains(text, "3 problems");
  expect_contains(text, "emb.weight: is of a type or layout");
  expect_contains(text, "head.bias: is of a type or layout");
}

TEST(Pt2Import, refuses_control_flow_that_depends_on_data) {
  std::string text = problems_of(fixture("branch_"));
  expect_contains(text, "higher_order.cond");
  expect_contains(text, "control flow that depends on data");
}

// Arguments of the n-th node, as the file has them.
nlohmann::json& inputs_of(nlohmann::json& json, size_t node) {
  return json["graph_module"]["graph"]["nodes"][node]["inputs"];
}

TEST(Pt2Import, refuses_malformed_arguments) {
  TestArchive archive(fixture("dynamic_"));
  archive.change_json(kModel, [](nlohmann::json& json) {
    inputs_of(json, 6)[0]["arg"] = {{"as_tensors", nlohmann::json::array()}};
  });
  expect_contains(
      error_of<std::runtime_error>([&] { import_changed(archive); }),
      "aten.cat.default");
  archive = TestArchive(fixture("dynamic_"));
  archive.change_json(kModel, [](nlohmann::json& json) {
    inputs_of(json, 7)[1]["name"] = "other";
  });
  expect_contains(
      error_of<std::runtime_error>([&] { import_changed(archive); }),
      "argument 'split_size' is missing");
  archive = TestArchive(fixture("dynamic_"));
  set_target(archive, 10, "torch.ops.aten.unbind.int");  // of a number
  archive.change_json(kModel, [](nlohmann::json& json) {
    inputs_of(json, 10)[0]["arg"]["as_tensor"]["name"] = "sum_1";
  });
  expect_contains(
      error_of<std::runtime_error>([&] { import_changed(archive); }),
      "a number has no dimension 0");
}

TEST(Pt2Import, operators_without_a_rule_are_run_by_libtorch) {
  TestArchive archive(fixture("tied_"));
  set_target(archive, 10, "torch.ops.aten.sparkle.Tensor");
  NoForeignOps none;
  error_of<std::runtime_error>([&] { import_changed(archive, {}, none); });
  EXPECT_EQ(none.asked, (std::vector<std::string>{"aten::sparkle.Tensor"}));
  Graph graph = import_changed(archive, {}, SameTypeOps()).graph;
  auto node = std::ranges::find(graph.nodes(), "torch_op", name_of);
  ASSERT_NE(node, graph.nodes().end());
  EXPECT_EQ(node->attrs.text("target"), "aten::sparkle.Tensor");
  EXPECT_EQ(node->inputs.size(), 2u);
}

TEST(Pt2Import, a_rule_must_give_what_the_file_says) {
  TestArchive archive(fixture("tied_"));
  archive.change_json(kModel, [](nlohmann::json& json) {
    auto& linear = json["graph_module"]["graph"]["tensor_values"]["linear"];
    linear["sizes"][2]["as_int"] = 6;
  });
  expect_contains(
      error_of<std::runtime_error>([&] { import_changed(archive); }),
      "gives f32[2, 3, 5], the file says f32[2, 3, 6]");
}

TEST(Pt2Import, buffers_get_new_content_in_training) {
  Graph graph = import_path(fixture("mutation_"), {}, BatchNormOps()).graph;
  EXPECT_EQ(assigned(graph), (std::vector<std::string>{
                                 "count", "norm.num_batches_tracked",
                                 "norm.running_mean", "norm.running_var"}));
  EXPECT_EQ(slot_of(graph, "count").role, Role::kBuffer);
}

TEST(Pt2Import, eval_form_leaves_buffers_alone) {
  TestArchive archive(fixture("mutation_"));
  set_flag(archive, 4, "training", false);
  ImportOptions options{.form = Form::kEval};
  Graph graph = import_changed(archive, options, BatchNormOps()).graph;
  EXPECT_EQ(assigned(graph), std::vector<std::string>{});
}

// Only operators with rules know how to do otherwise.
TEST(Pt2Import, eval_form_refuses_operators_of_libtorch_that_train) {
  ImportOptions options{.form = Form::kEval};
  std::string text = error_of<std::runtime_error>(
      [&] { import_path(fixture("mutation_"), options, BatchNormOps()); });
  expect_contains(text, "_native_batch_norm_legit_functional");
  expect_contains(text, "has no eval form");
  expect_contains(text, "HINT: export without run_decompositions");
}

TEST(Pt2Import, an_input_that_is_written_is_no_loss) {
  TestArchive archive(fixture("mutation_"));
  archive.change_json(kModel, [](nlohmann::json& json) {
    auto& values = json["graph_module"]["graph"]["tensor_values"];
    for (const char* name : {"state", "add_1"}) {
      values[name]["sizes"] = nlohmann::json::array();
      values[name]["strides"] = nlohmann::json::array();
    }
  });
  Graph graph = import_changed(archive, {}, BatchNormOps()).graph;
  EXPECT_EQ(producer_of_loss(graph), "mul");
}

TEST(Pt2Import, outputs_have_names_and_numbers) {
  ImportOptions options;
  options.outputs = {"clamp", "0"};
  Graph graph = import_path(fixture("dynamic_"), options).graph;
  EXPECT_EQ(output_type(graph, "clamp").shape, (Shape{6, 4}));
  EXPECT_EQ(output_type(graph, "0").shape, Shape{});
  options.outputs = {"clmp"};
  std::string text = problems_of(fixture("dynamic_"), options);
  expect_contains(text, "there is no output 'clmp'");
  expect_contains(text, "HINT: did you mean 'clamp'?");
  for (std::string odd : {"2", "-1", "1st", "0x"}) {
    options.outputs = {odd};
    expect_contains(problems_of(fixture("dynamic_"), options),
                    "there is no output '" + odd + "'");
  }
}

TEST(Pt2Import, a_loss_may_be_named_in_addition) {
  ImportOptions options;
  options.inputs = {{"x", {DType::kFloat32, {6, 4}}},
                    {"t", {DType::kFloat32, {6, 4}}}};
  options.loss = NamedLoss{"mse", "clamp", "t"};
  Graph graph = import_path(fixture("dynamic_"), options).graph;
  EXPECT_EQ(input_type(graph, "t"), (ValueType{DType::kFloat32, {6, 4}}));
  EXPECT_EQ(output_type(graph, "loss"), (ValueType{DType::kFloat32, {}}));
  EXPECT_EQ(count(graph, "cat"), 0);  // the model's own loss is not needed
  options.loss->output = "1";
  EXPECT_EQ(import_path(fixture("dynamic_"), options).graph.nodes().size(),
            graph.nodes().size());
  options.loss->kind = "mes";
  expect_contains(problems_of(fixture("dynamic_"), options),
                  "unknown loss 'mes'\nHINT: did you mean 'mse'?");
  options.loss = NamedLoss{"mse", "clamp", "y"};
  expect_contains(problems_of(fixture("dynamic_"), options),
                  "the target 'y' of the loss is not among the inputs");
}

TEST(Pt2Import, a_model_without_a_loss_asks_for_one) {
  TestArchive archive(fixture("dynamic_"));
  archive.change_json(kModel, [](nlohmann::json& json) {
    auto& module = json["graph_module"];
    module["graph"]["outputs"].erase(0);
    module["signature"]["output_specs"].erase(0);
  });
  std::string text =
      error_of<std::runtime_error>([&] { import_changed(archive); });
  expect_contains(text, "no output is a loss");
  expect_contains(text, "HINT: name one, as --loss cross_entropy --target y");
}

}  // namespace
}  // namespace braid::io::pt2
