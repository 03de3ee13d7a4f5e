// Built-in models: graphs with their loss, for a given batch. all_models() is
// the table that --help and docs/models.md list. A family of models is one
// file here (resnet.cpp) with its rows; layers.h and attention.h are what they
// are written with. Names and initial values are those of the PyTorch
// implementation that people use, so that state dicts exchange.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "braid/base/dtype.h"
#include "braid/ops/core/op.h"

namespace braid::models {

// Sizes by name, such as {"batch", 64}; what is not given has a default.
using Sizes = std::map<std::string, double>;

// A size as the table declares it.
struct Size {
  enum class Kind {
    kWhole,   // 1 or more
    kCount,   // 0 or more
    kRate,    // from 0 to 1
    kFlag,    // 0 or 1
    kFactor,  // any number from 0
  };
  std::string name;
  double value = 0;  // the default
  std::string meaning;
  Kind kind = Kind::kWhole;
};

struct Model {
  std::string name;
  std::string summary;
  // Inputs of the forward and how their shapes tell sizes, in words.
  std::string inputs;
  std::vector<Size> sizes;
  Graph (*build)(const OpTable& ops, DType dtype, const Sizes& sizes);

  bool has_size(std::string_view size) const;
};

const std::vector<Model>& all_models();

// A model by name, with sizes, and its loss as the only output: "mlp" or
// "mlp(hidden=64,classes=4)". Unknown names and sizes are errors that name the
// nearest known one.
Graph build_model(const OpTable& ops, std::string_view name, DType dtype,
                  const Sizes& sizes = {});

// The same with the outputs that the loss is made from, such as "logits",
// after the loss.
Graph build_with_outputs(const OpTable& ops, std::string_view name, DType dtype,
                         const Sizes& sizes = {});

// Whether `text` names a built-in model (with or without sizes).
bool is_model(std::string_view text);

// "mlp(batch=16,hidden=32)": a model with its defaults.
std::string signature_text(const Model& model);

}  // namespace braid::models
