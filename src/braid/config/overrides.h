// Overrides: values from the command line that count over those of a file.
#pragma once

#include <string>
#include <vector>

#include "braid/config/node.h"
#include "braid/config/report.h"

namespace braid::config {

// Puts "optimizer.lr=3e-4" into the tree, before it is read; the checks of
// reading then name the override. An item of a list has its number for a key:
// "phases.0.every=2". A value is taken as it is written; one that begins with
// [ { ' or " is YAML; with none, ~ or null, what the file says is taken back.
void apply_overrides(Node& root, const std::vector<std::string>& overrides,
                     Report& report);

// The same for a value that was read already, such as one of a file, under a
// key with points: "optimizer.lr". With none, what stood there is taken back.
// Problems have the place of the value.
void set_value(Node& root, const std::string& key, Node value, Report& report);

}  // namespace braid::config
