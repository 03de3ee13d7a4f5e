// Nodes as YAML text.
#pragma once

#include <string>

#include "braid/config/node.h"

namespace braid::config {

// One key per line; lists of values stand in one line. Values are quoted where
// the node says so or YAML needs it, so that the text reads back to the same
// content.
std::string yaml_text(const Node& node);

// The same in one line without spaces between: "[1,2]".
std::string flow_text(const Node& node);

}  // namespace braid::config
