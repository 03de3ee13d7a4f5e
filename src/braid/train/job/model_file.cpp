#include "braid/train/job/model_file.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/graph/copy.h"
#include "braid/graph/text.h"
#include "braid/models/models.h"
#include "braid/passes/names.h"
#include "braid/passes/rewrite/dead_code.h"
#include "braid/passes/rewrite/eval_form.h"
#include "braid/passes/step/label_smoothing.h"

namespace braid::train {
namespace {

using models::Model;

const Model* find_model(const std::string& text) {
  for (const Model& model : models::all_models()) {
    if (model.name == text.substr(0, text.find('('))) return &model;
  }
  return nullptr;
}

// An input as a model declares it: "x[batch, features] float".
struct Declared {
  std::string name;
  std::vector<std::string> dims;
};

std::vector<Declared> declared_inputs(std::string_view words) {
  std::vector<Declared> inputs;
  while (!words.empty()) {
    size_t open = words.find('['), close = words.find(']');
    if (open == words.npos || close == words.npos) break;
    Declared input{std::string(words.substr(0, open)), {}};
    std::string_view dims = words.substr(open + 1, close - open - 1);
    while (!dims.empty()) {
      size_t end = std::min(dims.find(", "), dims.size());
      input.dims.emplace_back(dims.substr(0, end));
      dims.remove_prefix(std::min(dims.size(), end + 2));
    }
    inputs.push_back(std::move(input));
    size_t next = words.find(", ", close);
    words = next == words.npos ? "" : words.substr(next + 2);
  }
  return inputs;
}

// Sizes that the inputs tell; the first to speak counts, and what does not
// fit together is found when the inputs are checked.
models::Sizes told_sizes(const Model& model, const ModelHints& hints) {
  models::Sizes sizes;
  for (const Declared& input : declared_inputs(model.inputs)) {
    auto given = hints.inputs.find(input.name);
    if (given == hints.inputs.end()) continue;
    const Shape& shape = given->second.shape;
    if (shape.size() != input.dims.size()) continue;
    for (size_t d = 0; d < input.dims.size(); ++d) {
      if (!model.has_size(input.dims[d])) continue;
      sizes.emplace(input.dims[d], static_cast<double>(shape[d]));
    }
  }
  for (const auto& [input, classes] : hints.classes) {
    for (const char* size : {"classes", "vocab"}) {
      if (model.has_size(size)) sizes[size] = static_cast<double>(classes);
    }
  }
  return sizes;
}

std::optional<DType> told_dtype(const ModelHints& hints) {
  for (const auto& [name, type] : hints.inputs) {
    if (type.dtype == DType::kFloat32 || type.dtype == DType::kFloat64) {
      return type.dtype;
    }
  }
  return std::nullopt;
}

// Whether "mlp(hidden=8)" says that size.
bool says(std::string_view text, std::string_view size) {
  for (size_t at = text.find('('); at != text.npos; at = text.find(',', at)) {
    at = std::min(text.find_first_not_of(' ', at + 1), text.size());
    std::string_view item = text.substr(at);
    if (!item.starts_with(size)) continue;
    item.remove_prefix(size.size());
    item.remove_prefix(std::min(item.find_first_not_of(' '), item.size()));
    if (item.starts_with('=')) return true;
  }
  return false;
}

// "mlp(hidden=8)" -> "mlp(batch=4,hidden=8)": what is said counts.
std::string with_sizes(const std::string& text, const models::Sizes& sizes) {
  size_t open = text.find('(');
  bool is_open = open != text.npos && !text.ends_with(')');
  if (sizes.empty() || is_open) return text;
  std::string list;
  for (const auto& [name, size] : sizes) {
    if (says(text, name)) continue;
    list += fmt::format("{}={},", name, static_cast<int64_t>(size));
  }
  if (open == text.npos) return fmt::format("{}({})", text, list);
  return text.substr(0, open + 1) + list + text.substr(open + 1);
}

Graph build_known(const OpTable& ops, const Model& model,
                  const std::string& text, const ModelHints& hints) {
  DType dtype =
      hints.dtype.value_or(told_dtype(hints).value_or(DType::kFloat32));
  return models::build_with_outputs(
      ops, with_sizes(text, told_sizes(model, hints)), dtype);
}

void check_no_dtype(const std::string& path, const ModelHints& hints) {
  if (!hints.dtype) return;
  fail_usage("[model] a dtype is for built-in models; '{}' has its own", path);
}

// Files that people have of a model, and what to do with them instead.
struct OtherFile {
  std::vector<std::string> endings;
  std::string what;  // they are
  std::string hint;
};

const std::vector<OtherFile>& other_files() {
  static const std::string kExport =
      "export the module once and train what comes out (docs/import.md):\n"
      "HINT: python scripts/export_model.py nets.Net --inputs 'x:f32[8,16]' "
      "--dynamic 0 --out net.pt2";
  static const std::vector<OtherFile> files = {
      {{".pt", ".pth", ".ckpt", ".bin", ".pkl"},
       "pickled by PyTorch, which is never read",
       kExport + "\nHINT: weights alone come in by --state of that script"},
      {{".safetensors"},
       "weights without a model",
       "name the model they are of, and begin with them by 'init'\n"
       "HINT: of a module of your own, " +
           kExport},
      {{".py"}, "Python source", kExport},
      {{".onnx"}, "a file of ONNX, which is not read", kExport},
  };
  return files;
}

void refuse_other_file(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension();
  for (const OtherFile& file : other_files()) {
    if (std::ranges::find(file.endings, ending) == file.endings.end()) continue;
    fail_usage("[model] '{}' is {}\nHINT: {}", path, file.what, file.hint);
  }
}

Graph read_graph(const OpTable& ops, const std::string& path,
                 const ModelHints& hints) {
  check_no_dtype(path, hints);
  io::MappedFile file(path);
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                        file.bytes().size());
  try {
    return parse_graph(text, ops);
  } catch (const std::invalid_argument& error) {
    fail_usage("[model] '{}' is no graph: {}", path, error.what());
  }
}

LoadedModel import_model(const ModelFiles& files, const std::string& path,
                         const ModelHints& hints) {
  check_no_dtype(path, hints);
  const ExportedModel& model = files.load(path, {.form = hints.form,
                                                 .inputs = hints.inputs,
                                                 .loss = hints.loss,
                                                 .needs_loss = hints.needs_loss,
                                                 .outputs = hints.outputs});
  return {model.graph, model.contents};
}

// A step that was printed after a later pass cannot be trained again.
void check_forward(const std::string& text, const Graph& graph) {
  auto is_forward = [](const Node& n) { return n.phase == Phase::kForward; };
  auto is_single = [](const Slot& s) { return s.members == 0; };
  if (!std::ranges::all_of(graph.nodes(), is_forward) ||
      !std::ranges::all_of(graph.slots(), is_single)) {
    fail_usage(
        "[model] '{}' is more than the forward of one model\n"
        "HINT: braid inspect MODEL --dump-after forward prints one",
        text);
  }
  ValueId loss = graph.find_output("loss");
  if (loss == kNone) {
    fail_usage("[model] '{}' has no output 'loss'", text);
  }
  const ValueType& type = graph.value(loss).type;
  if (!is_floating(type.dtype) || num_elements(type.shape) != 1) {
    fail_usage("[model] '{}': the loss is {}{}, expected one float", text,
               dtype_name(type.dtype), shape_text(type.shape));
  }
}

// The loss and what else is wanted; a step keeps every output to its end.
void keep_outputs(const std::string& text, Graph& graph,
                  const std::vector<std::string>& wanted) {
  std::vector<std::string> known;
  for (const Output& output : graph.outputs()) known.push_back(output.name);
  for (const std::string& name : wanted) {
    if (std::ranges::find(known, name) != known.end()) continue;
    fail_usage("[model] '{}' has no output '{}'\nHINT: {}", text, name,
               name_hint(name, known));
  }
  std::erase_if(graph.outputs(), [&](const Output& output) {
    return output.name != "loss" &&
           std::ranges::find(wanted, output.name) == wanted.end();
  });
}

}  // namespace

bool is_model_file(const std::string& text) {
  std::error_code ignored;
  if (find_model(text)) return false;
  return text.find('/') != text.npos || text.find('.') != text.npos ||
         std::filesystem::exists(text, ignored);
}

LoadedModel load_with_outputs(const ModelFiles& files, const std::string& text,
                              const ModelHints& hints) {
  const OpTable& ops = files.machine().ops();
  const Model* model = find_model(text);
  if (!model) refuse_other_file(text);
  if (hints.loss) {
    fail_usage("[model] a named loss is for .pt2 files; '{}' has its own",
               text);
  }
  // An unknown word that is no file: the error names the nearest model.
  Graph graph = model ? build_known(ops, *model, text, hints)
                : is_model_file(text)
                    ? read_graph(ops, text, hints)
                    : models::build_model(ops, text, DType::kFloat32);
  check_forward(text, graph);
  if (hints.form == Form::kEval) graph = passes::eval_form(ops, graph);
  return {std::move(graph)};
}

// Values keep their ids, so the graph is made anew without those inputs.
Graph without_unused_inputs(const Graph& graph) {
  std::set<ValueId> used;
  for (const Node& node : graph.nodes()) {
    used.insert(node.inputs.begin(), node.inputs.end());
  }
  GraphCopy copy(graph);
  copy.add_slots();
  for (ValueId id : graph.inputs()) {
    if (used.contains(id)) copy.add_input(id);
  }
  for (const Node& node : graph.nodes()) copy.add(node);
  copy.add_outputs();
  return std::move(copy.to);
}

LoadedModel load_model(const ModelFiles& files, const std::string& text,
                       const ModelHints& hints) {
  bool is_exported = text.ends_with(".pt2");
  LoadedModel model = is_exported ? import_model(files, text, hints)
                                  : load_with_outputs(files, text, hints);
  if (!is_exported) {
    keep_outputs(text, model.graph, hints.outputs);
    passes::remove_dead_code(files.machine().ops(), model.graph);
  }
  model.graph = passes::free_label_smoothing(model.graph);
  return model;
}

// Outputs are asked for by number, so that none is taken for the loss that the
// import may find.
LoadedModel load_outputs(const ModelFiles& files, const std::string& text,
                         ModelHints hints) {
  bool is_exported = text.ends_with(".pt2");
  hints.loss.reset();
  hints.needs_loss = false;
  std::vector<std::string> names;
  if (is_exported) names = files.result_names(text);
  for (size_t i = 0; i < names.size(); ++i) {
    hints.outputs.push_back(std::to_string(i));
  }
  LoadedModel model = is_exported ? import_model(files, text, hints)
                                  : load_with_outputs(files, text, hints);
  Graph& graph = model.graph;
  size_t own = graph.outputs().size() - names.size();
  for (size_t i = 0; i < names.size(); ++i) {
    graph.outputs()[own + i].name = names[i];
  }
  std::erase_if(graph.outputs(),
                [](const Output& output) { return output.name == "loss"; });
  if (graph.outputs().empty()) {
    fail_usage("[model] '{}' has no output besides its loss", text);
  }
  passes::remove_dead_code(files.machine().ops(), graph);
  model.graph = without_unused_inputs(graph);
  return model;
}

LoadedModel load_network(const ModelFiles& files, const std::string& text,
                         ModelHints hints, const std::string& output) {
  bool is_exported = text.ends_with(".pt2");
  hints.needs_loss = false;
  // An exported model counts its outputs; a built-in one names them.
  if (is_exported) hints.outputs = {output.empty() ? "0" : output};
  LoadedModel model = is_exported ? load_model(files, text, hints)
                                  : load_with_outputs(files, text, hints);
  Graph& graph = model.graph;
  ValueId value = kNone;
  for (const Output& o : graph.outputs()) {
    bool fits = o.name == output || (output.empty() && o.name != "loss");
    if (fits && value == kNone) value = o.value;
  }
  if (value == kNone) {
    fail_usage("[model] '{}' has no output '{}' besides its loss", text,
               output);
  }
  graph.outputs() = {{"output", value}};
  passes::remove_dead_code(files.machine().ops(), graph);
  model.graph = without_unused_inputs(graph);
  return model;
}

std::string with_classes(const std::string& text,
                         const std::map<std::string, int64_t>& classes) {
  const Model* model = find_model(text);
  if (!model) return text;
  return with_sizes(text, told_sizes(*model, {.classes = classes}));
}

std::vector<std::string> input_names(const ModelFiles& files,
                                     const std::string& text) {
  std::vector<std::string> names;
  if (const Model* model = find_model(text)) {
    for (const Declared& input : declared_inputs(model->inputs)) {
      names.push_back(input.name);
    }
    return names;
  }
  Graph graph = load_model(files, text, {.needs_loss = false}).graph;
  for (ValueId id : graph.inputs()) {
    const std::string& name = graph.value(id).name;
    if (name != passes::kMicroInput) names.push_back(name);
  }
  return names;
}

std::string inputs_in_words(const std::string& text, const Graph& forward) {
  if (const Model* model = find_model(text)) return model->inputs;
  std::string words;
  for (ValueId id : forward.inputs()) {
    const Value& value = forward.value(id);
    if (value.name == passes::kMicroInput) continue;
    words +=
        fmt::format("{}{}{} {}", words.empty() ? "" : ", ", value.name,
                    shape_text(value.type.shape), dtype_name(value.type.dtype));
  }
  return words;
}

}  // namespace braid::train
