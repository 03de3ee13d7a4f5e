// YAML text as a tree of nodes.
//
// Files are taken as hostile: size, depth and the number of nodes are bounded,
// aliases count as what they repeat. Read are values, lists, maps, anchors and
// aliases; keys are texts and stand once. Tags and further documents are
// refused. Nothing is guessed about types: `no` and `1e-4` stay as written.
#pragma once

#include <string_view>

#include "braid/config/node.h"
#include "braid/config/report.h"

namespace braid::config {

inline constexpr size_t kMostBytes = size_t{1} << 20;
inline constexpr size_t kMostNodes = 100'000;
inline constexpr size_t kMostDepth = 64;
inline constexpr size_t kMostKeys = 4096;  // of one map

// Problems go to the report; after one the tree may lack parts.
Node parse_yaml(std::string_view text, Report& report);

}  // namespace braid::config
