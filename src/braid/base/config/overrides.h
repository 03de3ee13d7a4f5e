// Overrides: values from the command line that count over those of a file.
#pragma once

#include <string>
#include <vector>

#include "braid/base/config/node.h"
#include "braid/base/config/report.h"

namespace braid::config {

// Puts "optimizer.lr=3e-4" into the tree, before it is read; the checks of
// reading then name the override. An item of a list has its number for a key:
// "phases.0.every=2". A value is taken as it is written; one that begins with
// [ { ' or " is YAML; with none, ~ or null, what the file says is taken back.
void apply_overrides(Node& root, const std::vector<std::string>& overrides,
                     Report& report);

}  // namespace braid::config
