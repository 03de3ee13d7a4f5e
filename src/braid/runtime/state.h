// State: the storage of all slots of a model or an array. It outlives
// Programs; each slot lies on the device, on the host, on both, or in a file,
// as the plan says.
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "braid/base/name_index.h"
#include "braid/plan/program.h"
#include "braid/runtime/backend.h"
#include "braid/runtime/spill_file.h"

namespace braid::runtime {

class State {
 public:
  // Takes memory from the backend, which is borrowed, and room for a file in
  // the folder, which may be empty where no slot lies in one. Contents are
  // zero.
  State(const std::vector<Slot>& slots,
        const std::vector<plan::SlotStorage>& places, Backend& backend,
        const std::filesystem::path& spill_dir = {});

  // Fills every slot by its Init; one seed per member, or a single one.
  void initialise(std::span<const int64_t> seeds);

  const std::vector<Slot>& slots() const { return slots_; }
  SlotId find(std::string_view name) const;  // kNone when there is none
  // The slot that a member knows by this name: its own, or the members'.
  SlotId find(std::string_view own_name, int64_t member) const;
  int64_t members() const { return members_; }  // 0: one model
  std::byte* device(SlotId slot) const;
  std::byte* host(SlotId slot) const;
  bool is_in_file(SlotId slot) const {
    return places_[static_cast<size_t>(slot)].disk;
  }
  // All of a slot that lies there; for a step's reads and writes. Block.
  void read_file(SlotId slot, std::byte* to) const;
  void write_file(SlotId slot, const std::byte* from);

  // Whole content in row-major order, [B, ...] in an array. Blocking; no step
  // may run meanwhile.
  std::vector<std::byte> read(SlotId slot) const;
  void write(SlotId slot, std::span<const std::byte> content);

  // The part of one member (member 0 of a single model is all of it); it must
  // be one of the slot's owners.
  std::vector<std::byte> read_member(SlotId slot, int64_t member) const;
  void write_member(SlotId slot, int64_t member,
                    std::span<const std::byte> content);

  // Grows with every write; steps do not count.
  int64_t version() const { return version_; }

 private:
  std::vector<std::byte> read_parts(SlotId slot, int64_t first,
                                    int64_t count) const;
  int64_t parts(SlotId slot) const;
  void make_file(const std::filesystem::path& folder);
  void write_parts(SlotId slot, int64_t first,
                   std::span<const std::byte> content);
  void write_part(SlotId slot, int64_t member,
                  std::span<const std::byte> content);
  void check_member(SlotId slot, int64_t member) const;
  void check_size(SlotId slot, size_t given, int64_t expected) const;

  std::vector<Slot> slots_;
  std::vector<plan::SlotStorage> places_;
  NameIndex ids_;
  Backend& backend_;
  int64_t members_ = 0;
  int64_t version_ = 0;
  std::vector<Memory> device_, host_;  // by slot; empty where it does not lie
  std::unique_ptr<SpillFile> file_;    // null where no slot lies in one
};

// The initial content of one member.
std::vector<std::byte> initial_content(const Slot& slot, int64_t seed);

}  // namespace braid::runtime
