// A .pt2 file as MODEL: its graph with everything known folded, and the first
// contents of its slots.
#pragma once

#include <filesystem>
#include <memory>

#include "braid/io/pt2/import.h"
#include "braid/runtime/state.h"

namespace braid::cli {

// First contents of slots: weights that stay in the file until they are
// written, and constants that were made on import.
class FirstContents {
 public:
  void add(io::pt2::SlotContent content) {
    stored_.push_back(std::move(content));
  }
  void add(SlotId slot, std::vector<std::byte> bytes);
  void keep(std::shared_ptr<const io::MappedFile> file);

  // Writes into one member of a state that was initialised. Parameters whose
  // names fit one of the patterns keep what their initialiser gave them.
  void apply(runtime::State& state, int64_t member,
             const std::vector<std::string>& initialised = {}) const;
  // Equal files have equal numbers.
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  std::vector<io::pt2::SlotContent> stored_;
  std::vector<std::pair<SlotId, std::vector<std::byte>>> made_;
  std::shared_ptr<const io::MappedFile> file_;
  uint64_t fingerprint_ = 0;
};

struct ExportedModel {
  Graph graph;
  std::shared_ptr<const FirstContents> contents;
};

ExportedModel load_exported(const OpTable& ops,
                            const std::filesystem::path& path,
                            const io::pt2::ImportOptions& options);

}  // namespace braid::cli
