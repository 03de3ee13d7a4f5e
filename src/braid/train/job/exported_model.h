// A .pt2 file as MODEL: its graph with everything known folded, and the first
// contents of its slots.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "braid/io/pt2/import.h"
#include "braid/runtime/machine.h"
#include "braid/runtime/state.h"

namespace braid::train {

// What the slots of a model get that begins from a file.
struct FirstWeights {
  std::string prefix = {};  // of the slots' names
  // Parameters whose names fit one of these patterns, without the prefix, keep
  // what their initialiser gave them;
  std::vector<std::string> initialised = {};
  // so do those that the file tells how to draw.
  bool draws = false;
};

// First contents of slots: they stay in the file until they are written. Once
// it is filled it is thread-safe.
class FirstContents {
 public:
  FirstContents(std::filesystem::path path, io::pt2::Imported& imported);
  void add(const Slot& slot, io::pt2::SlotContent content);

  // Writes into one member of a state that was initialised and that has the
  // slots under their names. Throws std::runtime_error when the file's bytes
  // are damaged.
  void apply(runtime::State& state, int64_t member,
             const FirstWeights& how = {}) const;
  // Slots that the file tells how to draw begin so.
  void draw(Graph& graph, const std::string& prefix = "") const;
  // Whether it does for any.
  bool has_draws() const { return !draws_.empty(); }
  // Parameters with something random in them that cannot be drawn anew.
  std::vector<std::string> undrawn() const;
  // What that means for whoever gives a seed; empty: nothing.
  std::string shared_words() const;
  // Equal files have equal numbers.
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  void write(runtime::State& state, SlotId slot, int64_t member,
             const Slot& own, const io::pt2::SlotContent& content) const;
  const io::pt2::Initialiser* draw_of(const Slot& slot) const;

  std::filesystem::path path_;
  std::vector<std::pair<Slot, io::pt2::SlotContent>> stored_;
  std::map<std::string, io::pt2::Initialiser> draws_;  // by parameter
  std::set<std::string> seedless_;
  std::shared_ptr<const io::MappedFile> file_;
  uint64_t fingerprint_ = 0;
  mutable std::mutex mutex_;                    // of that:
  mutable std::set<const std::byte*> checked_;  // storages
};

struct ExportedModel {
  Graph graph;
  std::shared_ptr<const FirstContents> contents;
};

// Models of .pt2 files: each file is read once, and each form and size of it is
// imported once. Thread-safe. Borrows the machine.
class ModelFiles {
 public:
  // Implicit: a machine alone is models that nobody else wants.
  ModelFiles(const runtime::Machine& machine) : machine_(machine) {}

  const runtime::Machine& machine() const { return machine_; }
  // Throws as open_exported() and import_pt2() do.
  const ExportedModel& load(const std::string& path,
                            const io::pt2::ImportOptions& options) const;
  // Names of what forward returns, see io::pt2::result_names().
  std::vector<std::string> result_names(const std::string& path) const;

 private:
  const io::pt2::ExportedFile& open(const std::string& path) const;
  ExportedModel import(const io::pt2::ExportedFile& file,
                       const io::pt2::ImportOptions& options) const;

  const runtime::Machine& machine_;
  mutable std::mutex mutex_;  // of what follows
  mutable std::map<std::string, io::pt2::ExportedFile> files_;
  mutable std::map<std::string, ExportedModel> models_;
};

}  // namespace braid::train
