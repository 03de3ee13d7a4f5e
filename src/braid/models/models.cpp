#include "braid/models/models.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/models/families.h"

namespace braid::models {
namespace {

const Model* find_model(std::string_view name) {
  for (const Model& model : all_models()) {
    if (model.name == name) return &model;
  }
  return nullptr;
}

std::string_view name_part(std::string_view text) {
  return text.substr(0, text.find('('));
}

bool fits(Size::Kind kind, double value) {
  bool whole = value == std::floor(value) && value < 0x1.0p62;
  switch (kind) {
    case Size::Kind::kWhole: return whole && value >= 1;
    case Size::Kind::kCount: return whole && value >= 0;
    case Size::Kind::kRate: return value >= 0 && value <= 1;
    case Size::Kind::kFlag: return value == 0 || value == 1;
    case Size::Kind::kFactor: return value >= 0 && std::isfinite(value);
  }
  return false;
}

const Size& find_size(const Model& model, const std::string& key) {
  std::vector<std::string> known;
  for (const Size& size : model.sizes) {
    if (size.name == key) return size;
    known.push_back(size.name);
  }
  fail_usage("[model] {} has no size '{}'\nHINT: {}", model.name, key,
             name_hint(key, known));
}

void set_size(const Model& model, Sizes& sizes, const std::string& key,
              double value) {
  if (!fits(find_size(model, key).kind, value)) {
    fail_usage("[model] {}: '{}' = {} is no size", model.name, key, value);
  }
  sizes[key] = value;
}

std::string_view trimmed(std::string_view text) {
  while (text.starts_with(' ')) text.remove_prefix(1);
  while (text.ends_with(' ')) text.remove_suffix(1);
  return text;
}

double read_value(std::string_view item, size_t equals) {
  double value = 0;
  if (equals != item.npos) {
    std::string_view text = trimmed(item.substr(equals + 1));
    const char* end = text.data() + text.size();
    auto read = std::from_chars(text.data(), end, value);
    if (read.ptr == end && read.ec == std::errc()) return value;
  }
  fail_usage("[model] cannot read size '{}'", item);
}

// "(hidden=64, classes=4)"
void read_sizes(std::string_view text, const Model& model, Sizes& sizes) {
  if (text.empty()) return;
  if (text.front() != '(' || text.back() != ')') {
    fail_usage("[model] cannot read '{}'\nHINT: write {}(name=value,...)", text,
               model.name);
  }
  text = text.substr(1, text.size() - 2);
  std::set<std::string> given;
  while (!text.empty()) {
    std::string_view item = text.substr(0, text.find(','));
    text.remove_prefix(std::min(text.size(), item.size() + 1));
    size_t equals = item.find('=');
    double value = read_value(item, equals);
    std::string key(trimmed(item.substr(0, equals)));
    set_size(model, sizes, key, value);
    if (given.insert(key).second) continue;
    fail_usage("[model] {} has the size '{}' twice", model.name, key);
  }
}

Sizes defaults_of(const Model& model) {
  Sizes sizes;
  for (const Size& size : model.sizes) sizes[size.name] = size.value;
  return sizes;
}

}  // namespace

bool Model::has_size(std::string_view size) const {
  return std::ranges::any_of(sizes,
                             [&](const Size& s) { return s.name == size; });
}

const std::vector<Model>& all_models() {
  static const std::vector<Model> models = [] {
    std::vector<Model> all;
    for (auto rows :
         {mlp_models, lenet_models, resnet_models, mobilenet_models, vit_models,
          pointnet_models, dcgan_models, transformer_lm_models, bert_models,
          gpt2_models, lstm_lm_models, example_models}) {
      std::ranges::move(rows(), std::back_inserter(all));
    }
    return all;
  }();
  return models;
}

bool is_model(std::string_view text) { return find_model(name_part(text)); }

Graph build_with_outputs(const OpTable& ops, std::string_view text, DType dtype,
                         const Sizes& sizes) {
  const Model* model = find_model(name_part(text));
  if (!model) {
    std::vector<std::string> known;
    for (const Model& m : all_models()) known.push_back(m.name);
    fail_usage("[model] unknown model '{}'\nHINT: {}", name_part(text),
               name_hint(name_part(text), known));
  }
  Sizes all = defaults_of(*model);
  read_sizes(text.substr(name_part(text).size()), *model, all);
  for (const auto& [key, value] : sizes) set_size(*model, all, key, value);
  return model->build(ops, dtype, all);
}

Graph build_model(const OpTable& ops, std::string_view name, DType dtype,
                  const Sizes& sizes) {
  Graph graph = build_with_outputs(ops, name, dtype, sizes);
  graph.outputs().resize(1);
  return graph;
}

std::string signature_text(const Model& model) {
  std::string list;
  for (const Size& size : model.sizes) {
    list +=
        fmt::format("{}{}={}", list.empty() ? "" : ",", size.name, size.value);
  }
  return fmt::format("{}({})", model.name, list);
}

Size batch_size(double value) { return {"batch", value, "samples of a step"}; }

Size dropout_size(double value, std::string meaning) {
  return {"dropout", value, std::move(meaning), Size::Kind::kRate};
}

Size feed_size() {
  return {"feed", 0, "units inside a feed-forward part; 0: 4 * width",
          Size::Kind::kCount};
}

int64_t feed_of(const SizeReader& size) {
  return size("feed") > 0 ? size("feed") : 4 * size("width");
}

}  // namespace braid::models
