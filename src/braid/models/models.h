// Built-in models: graphs with their loss, for a given batch.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "braid/base/dtype.h"
#include "braid/ops/op.h"

namespace braid::models {

// Sizes by name, such as {"batch", 64}; what is not given has a default.
using Sizes = std::map<std::string, double>;

struct Model {
  std::string name;
  std::string summary;
  Sizes defaults;
  // Inputs of the forward and how their shapes tell sizes, in words.
  std::string inputs;
  Graph (*build)(const OpTable& ops, DType dtype, const Sizes& sizes);
};

const std::vector<Model>& all_models();

// A model by name, with sizes: "mlp" or "mlp(hidden=64,classes=4)". Unknown
// names and sizes are errors that name the nearest known one.
Graph build_model(const OpTable& ops, std::string_view name, DType dtype,
                  const Sizes& sizes = {});

// Whether `text` names a built-in model (with or without sizes).
bool is_model(std::string_view text);

}  // namespace braid::models
