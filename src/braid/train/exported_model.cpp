#include "braid/train/exported_model.h"

#include <algorithm>

#include "braid/base/rng.h"
#include "braid/base/text.h"
#include "braid/runtime/fold.h"

namespace braid::train {
namespace {

// The end of an archive holds the checksums of everything in it.
uint64_t fingerprint_of(io::Bytes file) {
  constexpr size_t kTail = 1 << 20;
  io::Bytes tail = file.subspan(file.size() - std::min(file.size(), kTail));
  return stable_hash({reinterpret_cast<const char*>(tail.data()), tail.size()});
}

}  // namespace

void FirstContents::add(const Slot& slot, io::pt2::SlotContent content) {
  stored_.emplace_back(slot, std::move(content));
}

void FirstContents::add(const Slot& slot, std::vector<std::byte> bytes) {
  made_.emplace_back(slot, std::move(bytes));
}

void FirstContents::keep(std::shared_ptr<const io::MappedFile> file) {
  file_ = std::move(file);
  fingerprint_ = fingerprint_of(file_->bytes());
}

void FirstContents::apply(runtime::State& state, int64_t member,
                          const std::vector<std::string>& initialised,
                          const std::string& prefix) const {
  auto find = [&](const Slot& slot) {
    return state.find(prefix + slot.name, member);
  };
  for (const auto& [slot, content] : stored_) {
    auto fits = [&](const std::string& pattern) {
      return fits_pattern(slot.name, pattern);
    };
    if (find(slot) == kNone) continue;  // nothing reads it
    if (slot.role == Role::kParameter &&
        std::ranges::any_of(initialised, fits)) {
      continue;
    }
    state.write_member(find(slot), member, io::pt2::packed(content, slot));
  }
  for (const auto& [slot, bytes] : made_) {
    if (find(slot) != kNone) state.write_member(find(slot), member, bytes);
  }
  if (file_) file_->check();
}

ExportedModel load_exported(const runtime::Machine& machine,
                            const std::filesystem::path& path,
                            const io::pt2::ImportOptions& options) {
  const OpTable& ops = machine.ops();
  io::pt2::Imported imported =
      io::pt2::import_pt2(ops, path, machine.foreign(), options);
  std::map<SlotId, const io::pt2::SlotContent*> by_slot;
  for (const auto& content : imported.contents) {
    by_slot[content.slot] = &content;
  }
  runtime::Folded folded =
      runtime::fold_constants(ops, imported.graph, [&](SlotId slot) {
        return io::pt2::packed(*by_slot.at(slot), imported.graph.slot(slot));
      });
  auto contents = std::make_shared<FirstContents>();
  for (size_t i = 0; i < folded.kept.size(); ++i) {
    auto stored = by_slot.find(folded.kept[i]);
    if (stored == by_slot.end()) continue;
    io::pt2::SlotContent content = *stored->second;
    content.slot = static_cast<SlotId>(i);
    const Slot& slot = folded.graph.slot(content.slot);
    contents->add(slot, std::move(content));
  }
  for (auto& [slot, bytes] : folded.made) {
    contents->add(folded.graph.slot(slot), std::move(bytes));
  }
  contents->keep(imported.file);
  imported.file->check();
  return {std::move(folded.graph), std::move(contents)};
}

}  // namespace braid::train
