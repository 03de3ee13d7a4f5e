// Names of what forward returns: the keys of dicts, which torch.export keeps
// in the description of the result's tree.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace braid::io::pt2 {

// One per leaf of the tree, in order: "loss", "heads.0"; empty for results
// that are no part of a dict. Nothing when the text is no such description.
std::vector<std::string> output_names(std::string_view tree);

}  // namespace braid::io::pt2
