#include "braid/plan/program.h"

#include <algorithm>
#include <map>

#include "braid/base/bytes.h"
#include "braid/base/error.h"

namespace braid::plan {
namespace {

// The instruction at which most arena bytes are alive.
int32_t fullest_instruction(const Program& program) {
  std::vector<int64_t> change(program.instructions.size() + 1, 0);
  for (const Allocation& a : program.allocations) {
    if (a.space != Space::kArena) continue;
    change[static_cast<size_t>(a.begin)] += a.bytes;
    change[static_cast<size_t>(a.end) + 1] -= a.bytes;
  }
  int64_t alive = 0, most = -1;
  int32_t best = 0;
  for (size_t i = 0; i < program.instructions.size(); ++i) {
    alive += change[i];
    if (alive > most) {
      most = alive;
      best = static_cast<int32_t>(i);
    }
  }
  return best;
}

}  // namespace

int64_t slot_bytes(const Slot& slot) {
  return align_up(slot.bytes(), kAlignment);
}

int64_t Program::device_slot_bytes() const {
  int64_t sum = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].device) sum += slot_bytes(graph.slots()[i]);
  }
  return sum;
}

int64_t Program::host_slot_bytes() const {
  int64_t sum = 0;
  for (size_t i = 0; i < slots.size(); ++i) {
    if (slots[i].host) sum += slot_bytes(graph.slots()[i]);
  }
  return sum;
}

std::vector<LayerBytes> bytes_by_layer(const Program& program) {
  std::map<std::string, int64_t> sums;
  int32_t at = fullest_instruction(program);
  for (const Allocation& a : program.allocations) {
    if (a.space == Space::kArena && a.begin <= at && at <= a.end) {
      sums[a.path.empty() ? "(step)" : a.path] += a.bytes;
    }
  }
  for (size_t i = 0; i < program.slots.size(); ++i) {
    const Slot& slot = program.graph.slots()[i];
    if (!program.slots[i].device) continue;
    sums[fmt::format("({}s)", role_name(slot.role))] += slot_bytes(slot);
  }
  std::vector<LayerBytes> rows;
  for (auto& [path, bytes] : sums) rows.push_back({path, bytes});
  std::stable_sort(rows.begin(), rows.end(),
                   [](const LayerBytes& a, const LayerBytes& b) {
                     return a.bytes > b.bytes;
                   });
  return rows;
}

std::string limit_report(const Program& program, int64_t limit_bytes) {
  int64_t peak = program.peak_bytes();
  std::string text = fmt::format(
      "[memory] the plan needs {} bytes ({}), the limit is {} bytes ({}): "
      "{} bytes short\n"
      "  slots {} bytes, arena of the step {} bytes; alive at the fullest "
      "moment, by layer:\n",
      peak, bytes_text(peak), limit_bytes, bytes_text(limit_bytes),
      peak - limit_bytes, program.device_slot_bytes(), program.arena_bytes);
  for (const LayerBytes& row : bytes_by_layer(program)) {
    text += fmt::format("  {:>14}  {}\n", row.bytes, row.path);
  }
  text += "HINT: raise the limit, or recompute, offload or spill more segments";
  return text;
}

}  // namespace braid::plan
