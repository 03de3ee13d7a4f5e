// A .pt2 file as MODEL: its graph with everything known folded, and the first
// contents of its slots.
#pragma once

#include <filesystem>
#include <memory>

#include "braid/io/pt2/import.h"
#include "braid/runtime/machine.h"
#include "braid/runtime/state.h"

namespace braid::train {

// First contents of slots: weights that stay in the file until they are
// written, and constants that were made on import.
class FirstContents {
 public:
  void add(const Slot& slot, io::pt2::SlotContent content);
  void add(const Slot& slot, std::vector<std::byte> bytes);
  void keep(std::shared_ptr<const io::MappedFile> file);

  // Writes into one member of a state that was initialised and that has the
  // slots under their names, behind `prefix`. Parameters whose names fit one
  // of the patterns keep what their initialiser gave them.
  void apply(runtime::State& state, int64_t member,
             const std::vector<std::string>& initialised = {},
             const std::string& prefix = "") const;
  // Equal files have equal numbers.
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  std::vector<std::pair<Slot, io::pt2::SlotContent>> stored_;
  std::vector<std::pair<Slot, std::vector<std::byte>>> made_;
  std::shared_ptr<const io::MappedFile> file_;
  uint64_t fingerprint_ = 0;
};

struct ExportedModel {
  Graph graph;
  std::shared_ptr<const FirstContents> contents;
};

ExportedModel load_exported(const runtime::Machine& machine,
                            const std::filesystem::path& path,
                            const io::pt2::ImportOptions& options);

}  // namespace braid::train
