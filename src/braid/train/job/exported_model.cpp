#include "braid/train/job/exported_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "braid/base/error.h"
#include "braid/base/rng.h"
#include "braid/base/text.h"
#include "braid/graph/init.h"
#include "braid/graph/text_tokens.h"
#include "braid/runtime/fold.h"

namespace braid::train {
namespace {

// The end of an archive holds the checksums of everything in it.
uint64_t fingerprint_of(io::Bytes file) {
  constexpr size_t kTail = 1 << 20;
  io::Bytes tail = file.subspan(file.size() - std::min(file.size(), kTail));
  return stable_hash({reinterpret_cast<const char*>(tail.data()), tail.size()});
}

// Equal texts are equal options.
std::string options_text(const io::pt2::ImportOptions& options) {
  std::string text =
      fmt::format(" form={} needs_loss={}", static_cast<int>(options.form),
                  options.needs_loss);
  for (const auto& [name, type] : options.inputs) {
    text += fmt::format(" input {} {}{}", quoted_text(name),
                        dtype_name(type.dtype), shape_text(type.shape));
  }
  if (options.loss) {
    text += fmt::format(" loss {} {} {}", quoted_text(options.loss->kind),
                        quoted_text(options.loss->output),
                        quoted_text(options.loss->target));
  }
  for (const std::string& output : options.outputs) {
    text += " output " + quoted_text(output);
  }
  return text;
}

// An embedding's row of padding stays zero.
void clear_row(runtime::State& state, SlotId slot, int64_t member,
               const Shape& shape, int64_t row) {
  std::vector<std::byte> content = state.read_member(slot, member);
  if (shape.empty() || row < 0 || row >= shape[0]) return;
  size_t bytes = content.size() / static_cast<size_t>(shape[0]);
  std::memset(content.data() + static_cast<size_t>(row) * bytes, 0, bytes);
  state.write_member(slot, member, content);
}

}  // namespace

FirstContents::FirstContents(std::filesystem::path path,
                             io::pt2::Imported& imported)
    : path_(std::move(path)),
      seedless_(imported.seedless.begin(), imported.seedless.end()),
      file_(imported.file),
      fingerprint_(fingerprint_of(imported.file->bytes())) {
  for (io::pt2::Initialiser& made : imported.initialisers) {
    draws_.emplace(made.parameter, std::move(made));
  }
}

void FirstContents::add(const Slot& slot, io::pt2::SlotContent content) {
  const io::pt2::Initialiser* draw = draw_of(slot);
  std::string problem = draw ? init_problem(draw->init, slot.shape) : "";
  if (!problem.empty()) {
    fail_world("[pt2] {}: parameter '{}': {}", path_.string(), slot.name,
               problem);
  }
  stored_.emplace_back(slot, std::move(content));
}

// A tied parameter is drawn as any of its names says.
const io::pt2::Initialiser* FirstContents::draw_of(const Slot& slot) const {
  if (slot.role != Role::kParameter) return nullptr;
  auto found = draws_.find(slot.name);
  for (const std::string& alias : slot.aliases) {
    if (found == draws_.end()) found = draws_.find(alias);
  }
  return found == draws_.end() ? nullptr : &found->second;
}

void FirstContents::apply(runtime::State& state, int64_t member,
                          const FirstWeights& how) const {
  for (const auto& [slot, content] : stored_) {
    SlotId there = state.find(how.prefix + slot.name, member);
    if (there == kNone) continue;  // nothing reads it
    auto fits = [&](const std::string& pattern) {
      return fits_pattern(slot.name, pattern);
    };
    if (slot.role == Role::kParameter &&
        std::ranges::any_of(how.initialised, fits)) {
      continue;
    }
    const io::pt2::Initialiser* draw = how.draws ? draw_of(slot) : nullptr;
    if (!draw) {
      write(state, there, member, slot, content);
    } else if (draw->zero_row) {
      clear_row(state, there, member, slot.shape, *draw->zero_row);
    }
  }
  file_->check();
}

// Each storage is summed up once, however many slots and members it has.
void FirstContents::write(runtime::State& state, SlotId slot, int64_t member,
                          const Slot& own,
                          const io::pt2::SlotContent& content) const {
  bool is_new = false;
  {
    std::lock_guard lock(mutex_);
    is_new = checked_.insert(content.storage.data()).second;
  }
  if (is_new) io::pt2::check_storage(content, path_.string());
  state.write_member(slot, member, io::pt2::packed(content, own));
}

void FirstContents::draw(Graph& graph, const std::string& prefix) const {
  for (const auto& [slot, content] : stored_) {
    const io::pt2::Initialiser* draw = draw_of(slot);
    SlotId there = draw ? graph.find_slot(prefix + slot.name) : kNone;
    if (there != kNone) graph.slot(there).init = draw->init;
  }
}

std::vector<std::string> FirstContents::undrawn() const {
  std::vector<std::string> names;
  for (const auto& [slot, content] : stored_) {
    bool is_random =
        slot.role == Role::kParameter && !seedless_.contains(slot.name);
    if (is_random && !draw_of(slot)) names.push_back(slot.name);
  }
  return names;
}

std::string FirstContents::shared_words() const {
  constexpr size_t kShown = 3;
  std::vector<std::string> shared = undrawn();
  if (shared.empty()) return "";
  std::string which = "all weights";
  if (has_draws()) {
    size_t shown = std::min(shared.size(), kShown);
    which = fmt::format(
        "{} parameters ({}{})", shared.size(),
        fmt::join(shared.begin(),
                  shared.begin() + static_cast<ptrdiff_t>(shown), ", "),
        shown < shared.size() ? ", ..." : "");
  }
  return fmt::format(
      "{} of {} begin as they are in the file, whatever the seed: seeds change "
      "{}order and dropout only",
      which, path_.filename().string(), has_draws() ? "the others, " : "");
}

const io::pt2::ExportedFile& ModelFiles::open(const std::string& path) const {
  auto file = files_.find(path);
  if (file == files_.end()) {
    file = files_.emplace(path, io::pt2::open_exported(path)).first;
  }
  return file->second;
}

std::vector<std::string> ModelFiles::result_names(
    const std::string& path) const {
  std::lock_guard lock(mutex_);
  return io::pt2::result_names(open(path).program);
}

const ExportedModel& ModelFiles::load(
    const std::string& path, const io::pt2::ImportOptions& options) const {
  std::lock_guard lock(mutex_);
  const io::pt2::ExportedFile& file = open(path);
  std::string key = quoted_text(path) + options_text(options);
  auto known = models_.find(key);
  if (known == models_.end()) {
    known = models_.emplace(key, import(file, options)).first;
  }
  return known->second;
}

ExportedModel ModelFiles::import(const io::pt2::ExportedFile& file,
                                 const io::pt2::ImportOptions& options) const {
  const OpTable& ops = machine_.ops();
  const std::filesystem::path& path = file.path;
  io::pt2::Imported imported =
      io::pt2::import_pt2(ops, file, machine_.foreign(), options);
  std::map<SlotId, const io::pt2::SlotContent*> by_slot;
  for (const auto& content : imported.contents) {
    by_slot[content.slot] = &content;
  }
  runtime::Folded folded =
      runtime::fold_constants(ops, imported.graph, [&](SlotId slot) {
        const io::pt2::SlotContent& content = *by_slot.at(slot);
        io::pt2::check_storage(content, path.string());
        return io::pt2::packed(content, imported.graph.slot(slot));
      });
  auto contents = std::make_shared<FirstContents>(path, imported);
  for (size_t i = 0; i < folded.kept.size(); ++i) {
    auto stored = by_slot.find(folded.kept[i]);
    if (stored == by_slot.end()) continue;
    io::pt2::SlotContent content = *stored->second;
    content.slot = static_cast<SlotId>(i);
    const Slot& slot = folded.graph.slot(content.slot);
    contents->add(slot, std::move(content));
  }
  imported.file->check();
  return {std::move(folded.graph), std::move(contents)};
}

}  // namespace braid::train
