// Settings: values by name, from --set and from members files, checked
// against what the optimizer and the model know.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "braid/graph/graph.h"
#include "braid/passes/optimizer.h"

namespace braid::cli {

// A value as it was written, and where: "--set lr=abc", "runs.yaml line 3".
struct Setting {
  std::string name;
  std::string text;
  std::string where;
};

// "lr=1e-3"
Setting parse_setting(const std::string& text);

class KnownValues {
 public:
  // Values of the optimizer, and those of the model: "drop.0.p" for one layer,
  // "dropout" for all of them.
  KnownValues(const passes::Optimizer& optimizer, const Graph& forward);

  // Throws when the name is unknown (naming the nearest, also of
  // `other_names`), or the text no value of its kind and range.
  double read(const Setting& setting,
              const std::vector<std::string>& other_names = {}) const;

  // Whether it belongs to the optimizer rather than the model.
  bool is_of_optimizer(const std::string& name) const;

 private:
  std::vector<std::string> optimizer_names_;
  std::vector<std::string> model_names_;
};

}  // namespace braid::cli
