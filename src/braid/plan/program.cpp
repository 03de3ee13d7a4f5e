#include "braid/plan/program.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "braid/base/bytes.h"
#include "braid/base/error.h"

namespace braid::plan {

std::vector<int64_t> live_bytes(const Program& program) {
  std::vector<int64_t> alive(program.instructions.size() + 1, 0);
  for (const Allocation& a : program.allocations) {
    if (a.space != Space::kArena) continue;
    alive[static_cast<size_t>(a.begin)] += a.bytes;
    alive[static_cast<size_t>(a.end) + 1] -= a.bytes;
  }
  alive.pop_back();
  std::partial_sum(alive.begin(), alive.end(), alive.begin());
  return alive;
}

namespace {

int64_t& moved_bytes(Unit& unit, const Instruction& i) {
  if (i.opcode == Opcode::kDiskRead) return unit.bytes_read;
  if (i.opcode == Opcode::kDiskWrite) return unit.bytes_written;
  return i.stream == Stream::kHostToDevice ? unit.bytes_in : unit.bytes_out;
}

// Of the slots that lie there.
int64_t slot_bytes_in(const Program& program, bool SlotStorage::*place) {
  int64_t sum = 0;
  for (size_t i = 0; i < program.slots.size(); ++i) {
    if (program.slots[i].*place) sum += slot_bytes(program.graph.slots()[i]);
  }
  return sum;
}

}  // namespace

void measure_units(Program& program) {
  std::vector<int64_t> alive = live_bytes(program);
  for (Unit& unit : program.units) {
    unit.bytes_in = unit.bytes_out = unit.live_bytes = 0;
    unit.bytes_read = unit.bytes_written = 0;
    for (int32_t n = unit.begin; n < unit.end; ++n) {
      auto at = static_cast<size_t>(n);
      const Instruction& i = program.instructions[at];
      unit.live_bytes = std::max(unit.live_bytes, alive[at]);
      if (!i.moves_bytes()) continue;
      moved_bytes(unit, i) += program.allocation(i.source).bytes;
    }
  }
}

size_t Program::num_micro_units() const {
  auto is_micro = [&](const Unit& unit) { return unit.begin < update_begin; };
  return static_cast<size_t>(std::ranges::count_if(units, is_micro));
}

std::string loss_output(int64_t micro) { return fmt::format("loss@{}", micro); }

int64_t slot_bytes(const Slot& slot) {
  return align_up(slot.bytes(), kAlignment);
}

int64_t Program::device_slot_bytes() const {
  return slot_bytes_in(*this, &SlotStorage::device);
}

int64_t Program::host_slot_bytes() const {
  return slot_bytes_in(*this, &SlotStorage::host);
}

int64_t Program::disk_bytes() const {
  return slot_bytes_in(*this, &SlotStorage::disk);
}

std::vector<LayerBytes> bytes_by_layer(const Program& program) {
  std::map<std::string, int64_t> sums;
  std::vector<int64_t> alive = live_bytes(program);
  auto at =
      static_cast<int32_t>(std::ranges::max_element(alive) - alive.begin());
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

std::string limit_report(const Program& program, int64_t limit_bytes,
                         int64_t other_bytes, std::string_view hint) {
  int64_t peak = program.peak_bytes() + other_bytes;
  std::string text = fmt::format(
      "[memory] the plan needs {} bytes ({}), the limit is {} bytes ({}): "
      "{} bytes short\n"
      "  slots {} bytes, arena of the step {} bytes; alive at the fullest "
      "moment, by layer:\n",
      peak, bytes_text(peak), limit_bytes, bytes_text(limit_bytes),
      peak - limit_bytes, program.device_slot_bytes() + other_bytes,
      program.arena_bytes);
  for (const LayerBytes& row : bytes_by_layer(program)) {
    text += fmt::format("  {:>14}  {}\n", row.bytes, row.path);
  }
  return fmt::format("{}HINT: {}", text, hint);
}

}  // namespace braid::plan
