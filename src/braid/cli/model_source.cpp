#include "braid/cli/model_source.h"

#include <algorithm>
#include <filesystem>

#include "braid/base/error.h"
#include "braid/graph/init.h"
#include "braid/graph/text.h"
#include "braid/models/models.h"
#include "braid/ops/update_kinds.h"
#include "braid/passes/names.h"
#include "braid/passes/schedule.h"

namespace braid::cli {
namespace {

using models::Model;

const Model* find_model(const std::string& text) {
  for (const Model& model : models::all_models()) {
    if (model.name == text.substr(0, text.find('('))) return &model;
  }
  return nullptr;
}

// "Models: mlp, lenet"
template <class Row>
std::string words_of(const char* title, const std::vector<Row>& rows) {
  std::string words = fmt::format("{}:", title);
  for (const Row& row : rows) {
    words += fmt::format("{} {}", words.back() == ':' ? "" : ",", row.name);
  }
  return words;
}

// Long text goes on in another line, broken after `end`.
std::string wrapped(std::string text, char end, const char* indent) {
  constexpr size_t kWidth = 72;
  for (size_t begin = 0; text.size() - begin > kWidth;) {
    size_t at = text.rfind(end, begin + kWidth);
    if (at == text.npos || at <= begin) break;
    bool is_space = end == ' ';  // it gives way to the line's end
    text.replace(is_space ? at : at + 1, is_space ? 1 : 0,
                 fmt::format("\n{}", indent));
    begin = at + 2;
  }
  return text;
}

// A signature and below it what it means.
std::string entry_of(std::string signature, const std::string& summary) {
  return fmt::format("\n  {}\n      {}",
                     wrapped(std::move(signature), ',', "    "),
                     wrapped(summary, ' ', "      "));
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

int64_t micro_batch(int64_t batch, int64_t micro_batches) {
  if (batch % micro_batches != 0) {
    fail_usage("[inputs] a batch of {} cannot be cut into {} micro-batches",
               batch, micro_batches);
  }
  return batch / micro_batches;
}

// Sizes that the input tensors tell; the first to speak counts, and what does
// not fit together is found when the inputs are checked.
models::Sizes told_sizes(const Model& model, const ModelHints& hints) {
  models::Sizes sizes;
  if (!hints.inputs) return sizes;
  for (const Declared& input : declared_inputs(model.inputs)) {
    const io::TensorBytes* tensor = hints.inputs->find(input.name);
    if (!tensor || tensor->shape.size() != input.dims.size()) continue;
    for (size_t d = 0; d < input.dims.size(); ++d) {
      const std::string& name = input.dims[d];
      if (!model.has_size(name)) continue;
      int64_t size = tensor->shape[d];
      if (name == "batch") size = micro_batch(size, hints.micro_batches);
      sizes.emplace(name, static_cast<double>(size));
    }
  }
  return sizes;
}

std::optional<DType> told_dtype(const io::SafetensorsFile* file) {
  if (!file) return std::nullopt;
  for (const io::TensorBytes& tensor : file->tensors()) {
    if (tensor.dtype == DType::kFloat32 || tensor.dtype == DType::kFloat64) {
      return tensor.dtype;
    }
  }
  return std::nullopt;
}

// "mlp(hidden=8)" -> "mlp(batch=4,hidden=8)": later sizes count.
std::string with_sizes(const std::string& text, const models::Sizes& sizes) {
  size_t open = text.find('(');
  bool is_open = open != text.npos && !text.ends_with(')');
  if (sizes.empty() || is_open) return text;
  std::string list;
  for (const auto& [name, size] : sizes) {
    list += fmt::format("{}={},", name, static_cast<int64_t>(size));
  }
  if (open == text.npos) return fmt::format("{}({})", text, list);
  return text.substr(0, open + 1) + list + text.substr(open + 1);
}

Graph build_known(const OpTable& ops, const Model& model,
                  const std::string& text, const ModelHints& hints) {
  DType dtype = hints.dtype.value_or(
      told_dtype(hints.inputs)
          .value_or(told_dtype(hints.init).value_or(DType::kFloat32)));
  return models::build_model(ops, with_sizes(text, told_sizes(model, hints)),
                             dtype);
}

Graph read_graph(const OpTable& ops, const std::string& path,
                 const ModelHints& hints) {
  if (hints.dtype) {
    fail_usage("[model] --dtype is for built-in models; '{}' has its own",
               path);
  }
  io::MappedFile file(path);
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                        file.bytes().size());
  try {
    return parse_graph(text, ops);
  } catch (const std::invalid_argument& error) {
    fail_usage("[model] '{}' is no graph: {}", path, error.what());
  }
}

LoadedModel import_model(const OpTable& ops, const std::string& path,
                         const ModelHints& hints) {
  if (hints.dtype) {
    fail_usage("[model] --dtype is for built-in models; '{}' has its own",
               path);
  }
  io::pt2::ImportOptions options{.form = hints.form, .loss = hints.loss};
  for (const io::TensorBytes& tensor : hints.inputs
                                           ? hints.inputs->tensors()
                                           : std::vector<io::TensorBytes>()) {
    ValueType type{tensor.dtype, tensor.shape};
    if (!type.shape.empty()) type.shape[0] /= hints.micro_batches;
    options.inputs[tensor.name] = type;
  }
  ExportedModel model = load_exported(ops, path, options);
  return {std::move(model.graph), std::move(model.contents)};
}

bool is_path(const std::string& text) {
  std::error_code ignored;
  return text.find('/') != text.npos || text.find('.') != text.npos ||
         std::filesystem::exists(text, ignored);
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

}  // namespace

LoadedModel load_model(const OpTable& ops, const std::string& text,
                       const ModelHints& hints) {
  if (text.ends_with(".pt2")) return import_model(ops, text, hints);
  if (hints.loss || hints.form == io::pt2::Form::kEval) {
    fail_usage("[model] --loss and --form eval are for .pt2 files");
  }
  const Model* model = find_model(text);
  // An unknown word that is no file: the error names the nearest model.
  Graph graph = model ? build_known(ops, *model, text, hints)
                : is_path(text)
                    ? read_graph(ops, text, hints)
                    : models::build_model(ops, text, DType::kFloat32);
  check_forward(text, graph);
  return {std::move(graph)};
}

std::string models_in_words() {
  std::string words = "Models:";
  for (const Model& model : models::all_models()) {
    words += entry_of(models::signature_text(model), model.summary);
  }
  return words;
}

std::string optimizers_in_words() {
  return words_of("Optimizers", update_kinds());
}

std::string schedules_in_words() {
  std::string words = "Schedules, any with warmup=N,warmup_factor=0:";
  for (const passes::ScheduleKind& kind : passes::schedule_kinds()) {
    words += entry_of(passes::signature_text(kind), kind.summary);
  }
  return words;
}

std::string initialisers_in_words() {
  std::string words = "Initialisers:";
  for (const InitKind& kind : init_kinds()) {
    words += entry_of(signature_text(kind), kind.summary);
  }
  return words;
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

}  // namespace braid::cli
