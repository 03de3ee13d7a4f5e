#include "braid/runtime/state.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "braid/base/bytes.h"
#include "braid/base/error.h"
#include "braid/base/narrow_float.h"
#include "braid/runtime/initial_values.h"

namespace braid::runtime {
namespace {

// Most slots begin with zeros: members that enter should not wait for them.
template <class T>
void fill(
    std::vector<std::byte>& content, const Slot& slot, int64_t seed,
    T (*narrow)(double) = [](double v) { return static_cast<T>(v); }) {
  if (slot.init == Init::constant(0)) return;
  InitialValues values = initial_values(slot, seed);
  auto* data = reinterpret_cast<T*>(content.data());
  std::array<double, 256> part;
  size_t size = content.size() / sizeof(T);
  for (size_t first = 0; first < size; first += part.size()) {
    size_t count = std::min(part.size(), size - first);
    values(std::span(part).first(count), first);
    for (size_t i = 0; i < count; ++i) data[first + i] = narrow(part[i]);
  }
}

uint16_t to_f16(double value) { return f16_bits(static_cast<float>(value)); }
uint16_t to_bf16(double value) { return bf16_bits(static_cast<float>(value)); }

}  // namespace

std::vector<std::byte> initial_content(const Slot& slot, int64_t seed) {
  if (slot.content) return *slot.content.bytes;
  auto bytes = num_elements(slot.shape) * item_bytes(slot.dtype);
  std::vector<std::byte> content(static_cast<size_t>(bytes));
  switch (slot.dtype) {
    case DType::kFloat32: fill<float>(content, slot, seed); break;
    case DType::kFloat64: fill<double>(content, slot, seed); break;
    case DType::kInt64: fill<int64_t>(content, slot, seed); break;
    case DType::kInt32: fill<int32_t>(content, slot, seed); break;
    case DType::kUInt8:
    case DType::kBool: fill<uint8_t>(content, slot, seed); break;
    case DType::kInt8: fill<int8_t>(content, slot, seed); break;
    case DType::kInt16: fill<int16_t>(content, slot, seed); break;
    case DType::kFloat16: fill<uint16_t>(content, slot, seed, to_f16); break;
    case DType::kBFloat16: fill<uint16_t>(content, slot, seed, to_bf16); break;
    case DType::kComplex64:
    case DType::kComplex128:
      if (slot.init == Init::constant(0)) break;
      fail_usage("[state] slot '{}': {} slots begin with zeros or a file",
                 slot.name, dtype_name(slot.dtype));
  }
  if (slot.use == SlotUse::kSeed) {
    std::memcpy(content.data(), &seed, sizeof seed);
  }
  return content;
}

State::State(const std::vector<Slot>& slots,
             const std::vector<plan::SlotStorage>& places, Backend& backend,
             const std::filesystem::path& spill_dir)
    : slots_(slots), places_(places), backend_(backend) {
  make_file(spill_dir);
  for (size_t i = 0; i < slots.size(); ++i) {
    const Slot& slot = slots[i];
    ids_.add(slot.name, static_cast<SlotId>(i));
    members_ = std::max(members_, slot.members);
    if (!slot.owners.empty()) {
      members_ = std::max(members_, slot.owners.back() + 1);
    }
    int64_t bytes = plan::slot_bytes(slot);
    device_.push_back(places[i].device ? Memory(backend, Memory::Where::kDevice,
                                                bytes, "slot " + slot.name)
                                       : Memory());
    host_.push_back(places[i].host ? Memory(backend, Memory::Where::kHost,
                                            bytes, "slot " + slot.name)
                                   : Memory());
    if (places[i].disk) continue;  // the file is new
    write(static_cast<SlotId>(i),
          std::vector<std::byte>(static_cast<size_t>(slot.bytes())));
  }
}

// Slots that do not lie there have areas of no bytes.
void State::make_file(const std::filesystem::path& folder) {
  std::vector<SpillArea> areas;
  int64_t bytes = 0;
  for (size_t i = 0; i < slots_.size(); ++i) {
    auto id = static_cast<SlotId>(i);
    SpillArea area{.name = slots_[i].name, .parts = parts(id)};
    if (places_[i].disk) area.bytes = slots_[i].bytes();
    bytes += area.bytes;
    areas.push_back(std::move(area));
  }
  auto is_there = [](const plan::SlotStorage& place) { return place.disk; };
  if (std::ranges::none_of(places_, is_there)) return;
  if (folder.empty()) {
    fail_usage(
        "[spill] the plan keeps {} in a file, and no folder is named for it\n"
        "HINT: --spill-dir DIR, or spill_dir in the job, names one on a local "
        "disk",
        bytes_text(bytes));
  }
  file_ = std::make_unique<SpillFile>(folder, std::move(areas));
}

void State::initialise(std::span<const int64_t> seeds) {
  int64_t count = std::max<int64_t>(members_, 1);
  if (static_cast<int64_t>(seeds.size()) != count) {
    fail_usage("[state] expected {} seeds, got {}", count, seeds.size());
  }
  for (size_t i = 0; i < slots_.size(); ++i) {
    auto id = static_cast<SlotId>(i);
    int64_t first = std::max<int64_t>(slots_[i].owner(), 0);
    for (int64_t m = first; m < first + parts(id); ++m) {
      write_part(id, m,
                 initial_content(slots_[i].of_member(m),
                                 seeds[static_cast<size_t>(m)]));
    }
  }
}

SlotId State::find(std::string_view name) const { return ids_.find(name); }

SlotId State::find(std::string_view own_name, int64_t member) const {
  SlotId all = find(own_name);
  bool has =
      all != kNone && slots_[static_cast<size_t>(all)].belongs_to(member);
  return has ? all : find(member_prefix(member) + std::string(own_name));
}

std::byte* State::device(SlotId slot) const {
  return device_[static_cast<size_t>(slot)].data();
}

std::byte* State::host(SlotId slot) const {
  return host_[static_cast<size_t>(slot)].data();
}

void State::read_file(SlotId slot, std::byte* to) const {
  auto size = static_cast<size_t>(slots_[static_cast<size_t>(slot)].bytes());
  file_->read(static_cast<size_t>(slot), 0, {to, size});
}

void State::write_file(SlotId slot, const std::byte* from) {
  auto size = static_cast<size_t>(slots_[static_cast<size_t>(slot)].bytes());
  file_->write(static_cast<size_t>(slot), 0, {from, size});
}

std::vector<std::byte> State::read_parts(SlotId slot, int64_t first,
                                         int64_t count) const {
  int64_t size = slots_[static_cast<size_t>(slot)].bytes() / parts(slot);
  int64_t begin = first * size;
  std::vector<std::byte> content(static_cast<size_t>(count * size));
  if (is_in_file(slot)) {
    backend_.synchronize();
    file_->read(static_cast<size_t>(slot), first, content);
  } else if (host(slot)) {
    backend_.synchronize();  // copies and updates may be under way
    std::memcpy(content.data(), host(slot) + begin, content.size());
  } else {
    backend_.read(content.data(), device(slot) + begin, count * size);
  }
  return content;
}

std::vector<std::byte> State::read(SlotId slot) const {
  return read_parts(slot, 0, parts(slot));
}

void State::write(SlotId slot, std::span<const std::byte> content) {
  check_size(slot, content.size(), slots_[static_cast<size_t>(slot)].bytes());
  write_parts(slot, 0, content);
}

std::vector<std::byte> State::read_member(SlotId slot, int64_t member) const {
  check_member(slot, member);
  return read_parts(slot, parts(slot) == 1 ? 0 : member, 1);
}

void State::write_member(SlotId slot, int64_t member,
                         std::span<const std::byte> content) {
  check_member(slot, member);
  write_part(slot, member, content);
}

// Places of members that do not have the slot are there all the same.
void State::write_part(SlotId slot, int64_t member,
                       std::span<const std::byte> content) {
  int64_t whole = slots_[static_cast<size_t>(slot)].bytes();
  check_size(slot, content.size(), whole / parts(slot));
  write_parts(slot, parts(slot) == 1 ? 0 : member, content);
}

void State::write_parts(SlotId slot, int64_t first,
                        std::span<const std::byte> content) {
  ++version_;
  int64_t size = slots_[static_cast<size_t>(slot)].bytes() / parts(slot);
  int64_t begin = first * size;
  if (is_in_file(slot)) {
    backend_.synchronize();
    file_->write(static_cast<size_t>(slot), first, content);
  }
  if (host(slot)) {
    backend_.synchronize();
    std::memcpy(host(slot) + begin, content.data(), content.size());
  }
  if (device(slot)) {
    backend_.write(device(slot) + begin, content.data(),
                   static_cast<int64_t>(content.size()));
  }
}

// Members that have a part of their own; a constant is one for all.
int64_t State::parts(SlotId slot) const {
  return std::max<int64_t>(slots_[static_cast<size_t>(slot)].members, 1);
}

void State::check_member(SlotId slot, int64_t member) const {
  int64_t count = std::max<int64_t>(members_, 1);
  if (member < 0 || member >= count) {
    fail_usage("[state] there is no member {}; there are {}", member, count);
  }
  const Slot& which = slots_[static_cast<size_t>(slot)];
  if (which.belongs_to(member)) return;
  fail_usage("[state] member {} has no slot '{}'", member, which.name);
}

void State::check_size(SlotId slot, size_t given, int64_t expected) const {
  if (static_cast<int64_t>(given) == expected) return;
  fail_usage("[state] slot '{}' takes {} bytes, got {}",
             slots_[static_cast<size_t>(slot)].name, expected, given);
}

}  // namespace braid::runtime
