#include "braid/cli/exported_model.h"

#include <algorithm>

#include "braid/base/rng.h"
#include "braid/base/text.h"
#include "braid/runtime/fold.h"
#include "braid/runtime/foreign_ops.h"

namespace braid::cli {
namespace {

// The end of an archive holds the checksums of everything in it.
uint64_t fingerprint_of(io::Bytes file) {
  constexpr size_t kTail = 1 << 20;
  io::Bytes tail = file.subspan(file.size() - std::min(file.size(), kTail));
  return stable_hash({reinterpret_cast<const char*>(tail.data()), tail.size()});
}

}  // namespace

void FirstContents::add(SlotId slot, std::vector<std::byte> bytes) {
  made_.emplace_back(slot, std::move(bytes));
}

void FirstContents::keep(std::shared_ptr<const io::MappedFile> file) {
  file_ = std::move(file);
  fingerprint_ = fingerprint_of(file_->bytes());
}

void FirstContents::apply(runtime::State& state, int64_t member,
                          const std::vector<std::string>& initialised) const {
  for (const io::pt2::SlotContent& content : stored_) {
    const Slot& slot = state.slots()[static_cast<size_t>(content.slot)];
    auto fits = [&](const std::string& pattern) {
      return fits_pattern(slot.name, pattern);
    };
    if (slot.role == Role::kParameter &&
        std::ranges::any_of(initialised, fits)) {
      continue;
    }
    state.write_member(content.slot, member, io::pt2::packed(content, slot));
  }
  for (const auto& [slot, bytes] : made_) {
    state.write_member(slot, member, bytes);
  }
}

ExportedModel load_exported(const OpTable& ops,
                            const std::filesystem::path& path,
                            const io::pt2::ImportOptions& options) {
  auto foreign = runtime::torch_foreign_ops();
  io::pt2::Imported imported =
      io::pt2::import_pt2(ops, path, *foreign, options);
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
    contents->add(std::move(content));
  }
  for (auto& [slot, bytes] : folded.made) contents->add(slot, std::move(bytes));
  contents->keep(imported.file);
  return {std::move(folded.graph), std::move(contents)};
}

}  // namespace braid::cli
