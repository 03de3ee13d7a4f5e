// Settings: values by name, from --set and from members files, checked
// against what the optimizer and the model know.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "braid/graph/graph.h"
#include "braid/passes/step/optimizer.h"

namespace braid::cli {

// A value as it was written, and where, as errors about it begin:
// "[set] --set lr=abc", "[members] runs.yaml line 3".
struct Setting {
  std::string name;
  std::string text;
  std::string where;
};

// "lr=1e-3"
Setting parse_setting(const std::string& text);

// "*.bias: weight_decay=0, lr=1e-4"
struct GroupSetting {
  std::string pattern;
  std::vector<Setting> values;
};
GroupSetting parse_group(const std::string& text);

// "*.weight=orthogonal(gain=2)"
struct InitSetting {
  std::string pattern;
  Init init;
};
InitSetting parse_init_setting(const std::string& text);

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

  // Whether it is true or false, and then the same for all members.
  bool is_switch(const std::string& name) const;

 private:
  std::vector<std::string> numbers_;   // of the optimizer
  std::vector<std::string> switches_;  // of the optimizer
  std::map<std::string, SlotUse> model_numbers_;
};

}  // namespace braid::cli
