#include "braid/models/models_page.h"

#include "braid/models/models.h"

namespace braid::models {
namespace {

constexpr const char* kIntro =
    "# Models\n\n"
    "Made from the table in `src/braid/models` by `make docs`; do not edit.\n\n"
    "A model is named with the sizes that differ from its defaults, which are "
    "those of its paper: `braid inspect 'resnet18(classes=10)'`. Sizes that "
    "the inputs tell (batch, side, length, ...) are taken from their shapes. "
    "The loss is part of the model.\n\n"
    "Parameters and buffers have the names, shapes and initial distributions "
    "of the PyTorch implementation that people use: torchvision for "
    "`resnet18`, `resnet50`, `mobilenet_v3_large` and `vit`, transformers for "
    "`bert` and `gpt2` (whose linear layers store `[inputs, outputs]`), "
    "`torch.nn` and PyTorch's examples for the others. So state dicts load "
    "both ways with `strict=True`: `braid step --init` reads one, "
    "`state.safetensors` is one. Tied tensors are written under all their "
    "names. `tests/models` holds the implementations that every model is "
    "compared with.\n\n"
    "A dropout above 0 is a value of each member, `dropout` for all layers "
    "and `<layer>.p` for one, and may differ in an array; with 0 there are no "
    "such layers.\n\n"
    "- A target of -100 is ignored by a cross entropy.\n"
    "- `bert`: `mask` is 0 where a token is padding; `targets` is -100 where "
    "nothing was masked. The row of the padding token begins as the others "
    "do, as in the paper, not with zeros.\n"
    "- `pointnet_*`: the T-Nets begin with the identity, and the squared "
    "distance of the feature transform from an orthogonal one is part of the "
    "loss, as in the paper.\n"
    "- `dcgan_*`: two models apart; the generator alone learns to paint given "
    "images `x` from given `z`.\n\n";

int64_t num_parameters(const Graph& graph) {
  int64_t count = 0;
  for (const Slot& slot : graph.slots()) {
    if (slot.role == Role::kParameter) count += num_elements(slot.shape);
  }
  return count;
}

// 11689512 -> "11,689,512"
std::string with_commas(int64_t number) {
  std::string text = std::to_string(number);
  for (auto at = static_cast<int64_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<size_t>(at), ",");
  }
  return text;
}

std::string section(const Model& model) {
  std::string text = fmt::format(
      "\n## {}\n\n{}\n\nInputs: `{}`\n\n| Size | Default | Meaning |\n"
      "| --- | --- | --- |\n",
      model.name, model.summary, model.inputs);
  for (const Size& size : model.sizes) {
    text += fmt::format("| `{}` | {} | {} |\n", size.name, size.value,
                        size.meaning);
  }
  return text;
}

}  // namespace

std::string models_page(const OpTable& ops) {
  std::string page = kIntro;
  page += "| Model | | Parameters |\n| --- | --- | ---: |\n";
  for (const Model& model : all_models()) {
    Graph graph = build_model(ops, model.name, DType::kFloat32);
    page += fmt::format("| [`{0}`](#{0}) | {1} | {2} |\n", model.name,
                        model.summary, with_commas(num_parameters(graph)));
  }
  for (const Model& model : all_models()) page += section(model);
  return page;
}

}  // namespace braid::models
