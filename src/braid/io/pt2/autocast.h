// What torch.autocast did to a node. The exporter writes operators as they were
// called and leaves the casts to the run; but it tells the type of every
// result, and from that follows what was cast. So regions under autocast and
// models that were exported under it need no lists of a device.
#pragma once

#include <optional>

#include "braid/io/pt2/exported.h"

namespace braid::io::pt2 {

struct WorkTypes {
  std::optional<DType> inputs = {};  // of floats narrower than f64, when read
  std::optional<DType> result = {};  // when it is narrower than the work
};

// Nothing where types are as they would be without autocast. A pure function.
WorkTypes work_types(const ExportedNode& node, const ExportedGraph& graph);

}  // namespace braid::io::pt2
