#include "braid/graph/signature.h"

#include <fmt/format.h>

#include "braid/base/rng.h"
#include "braid/graph/text.h"

namespace braid {

std::string graph_signature(const Graph& graph) {
  Graph plain = graph;
  for (size_t i = 0; i < plain.slots().size(); ++i) {
    Slot& slot = plain.slot(static_cast<SlotId>(i));
    if (slot.role != Role::kConstant) slot.init = {};
  }
  return print_graph(plain);
}

std::string digest_text(std::string_view text) {
  return fmt::format("{:016x}", stable_hash(text));
}

}  // namespace braid
