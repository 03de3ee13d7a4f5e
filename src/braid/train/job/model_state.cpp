#include "braid/train/job/model_state.h"

#include <algorithm>
#include <optional>
#include <set>
#include <span>

#include "braid/base/error.h"
#include "braid/base/printable.h"
#include "braid/base/rng.h"
#include "braid/base/text.h"
#include "braid/passes/names.h"

namespace braid::train {
namespace {

std::vector<std::string> all_names(const Slot& slot) {
  std::vector<std::string> names{slot.name};
  names.insert(names.end(), slot.aliases.begin(), slot.aliases.end());
  return names;
}

// Under which name a value of a layer is set for all layers at once.
std::string common_name(const Slot& slot) {
  if (slot.use == SlotUse::kDropoutRate) return "dropout";
  return slot.use == SlotUse::kLabelSmoothing ? "label_smoothing" : "";
}

std::string type_text(DType dtype, const Shape& shape) {
  return fmt::format("{}{}", dtype_name(dtype), shape_text(shape));
}

// The tensors that a file has for a slot, under any of its names.
std::vector<const io::TensorBytes*> tensors_for(const io::SafetensorsFile& file,
                                                const Slot& slot) {
  std::vector<const io::TensorBytes*> found;
  for (const std::string& name : all_names(slot)) {
    if (const io::TensorBytes* tensor = file.find(name)) {
      found.push_back(tensor);
    }
  }
  return found;
}

std::string problem_of(const io::SafetensorsFile& file, const Slot& slot) {
  auto found = tensors_for(file, slot);
  std::string expected = type_text(slot.dtype, slot.shape);
  if (found.empty()) {
    return fmt::format("{}: missing, expected {}", printable(slot.name),
                       expected);
  }
  for (const io::TensorBytes* tensor : found) {
    if (tensor->dtype != slot.dtype || tensor->shape != slot.shape) {
      return fmt::format("{}: expected {}, got {}", printable(tensor->name),
                         expected, type_text(tensor->dtype, tensor->shape));
    }
    if (!std::ranges::equal(tensor->bytes, found[0]->bytes)) {
      return fmt::format("{}: tied to {}, but not equal",
                         printable(tensor->name), printable(found[0]->name));
    }
  }
  return {};
}

// The slot as the network of a member itself knows it; nothing when it is not
// its.
std::optional<Slot> own_slot(const Slot& slot, int64_t member,
                             const std::string& prefix) {
  if (!is_of_model(slot) || !slot.belongs_to(member)) return {};
  Slot own = slot.of_member(member);
  if (!own.name.starts_with(prefix)) return {};
  own.name.erase(0, prefix.size());
  for (std::string& alias : own.aliases) alias.erase(0, prefix.size());
  return own;
}

// The model's tensors, each with the content of the slot that stands for it.
template <class Source>
TensorList collect(const runtime::State& state, int64_t member,
                   const std::string& prefix, const Source& source) {
  TensorList list;
  for (size_t i = 0; i < state.slots().size(); ++i) {
    auto slot = own_slot(state.slots()[i], member, prefix);
    if (!slot) continue;
    list.add_slot(*slot, slot->shape,
                  state.read_member(source(static_cast<SlotId>(i)), member));
  }
  return list;
}

}  // namespace

bool is_of_model(const Slot& slot) {
  return slot.role == Role::kParameter || slot.role == Role::kBuffer;
}

bool is_saved(const Slot& slot) {
  return slot.role != Role::kGradient && slot.role != Role::kConstant;
}

void set_hyper(runtime::State& state, int64_t member, const std::string& name,
               double value) {
  std::vector<std::string> known;
  bool found = false;
  for (size_t i = 0; i < state.slots().size(); ++i) {
    const Slot& slot = state.slots()[i];
    if (slot.role != Role::kHyper || !slot.belongs_to(member)) continue;
    std::string own = slot.own_name();
    known.push_back(own.substr(passes::hyper_slot("").size()));
    std::string common = common_name(slot);
    if (!common.empty()) known.push_back(common);
    if (name != known.back() && own != passes::hyper_slot(name)) continue;
    state.write_member(static_cast<SlotId>(i), member,
                       std::as_bytes(std::span(&value, 1)));
    found = true;
  }
  if (found) return;
  fail_usage("[member] no value '{}' can be set\nHINT: {}", name,
             name_hint(name, known));
}

InitFile::InitFile(const std::filesystem::path& path)
    : name_(path.string()), file_(io::SafetensorsFile::open(path)) {}

void InitFile::check(const std::vector<Slot>& slots, const std::string& prefix,
                     int64_t member) const {
  Listing problems;
  std::set<std::string> known;
  for (const Slot& any : slots) {
    auto slot = own_slot(any, member, prefix);
    if (!slot) continue;
    std::string problem = problem_of(file_, *slot);
    if (!problem.empty()) problems.add(problem);
    for (const std::string& name : all_names(*slot)) known.insert(name);
  }
  for (const std::string& name : file_.names()) {
    if (known.contains(name)) continue;
    problems.add(fmt::format("{}: not a tensor of the model", printable(name)));
  }
  if (!problems.empty()) {
    fail_usage("[init] {} does not fit the model:{}", name_, problems.text());
  }
}

void InitFile::apply(runtime::State& state, int64_t member,
                     const std::string& prefix) const {
  for (size_t i = 0; i < state.slots().size(); ++i) {
    auto slot = own_slot(state.slots()[i], member, prefix);
    if (!slot) continue;
    state.write_member(static_cast<SlotId>(i), member,
                       tensors_for(file_, *slot).at(0)->bytes);
  }
  file_.check();
}

uint64_t InitFile::fingerprint() const {
  uint64_t sum = 0;
  for (const io::TensorBytes& tensor : file_.tensors()) {
    std::string_view text(reinterpret_cast<const char*>(tensor.bytes.data()),
                          tensor.bytes.size());
    sum = mix_bits(mix_bits(sum, stable_hash(tensor.name)), stable_hash(text));
  }
  return sum;
}

TensorList member_state(const runtime::State& state, int64_t member,
                        const std::string& prefix) {
  return collect(state, member, prefix, [](SlotId slot) { return slot; });
}

TensorList member_average(const runtime::State& state, int64_t member,
                          const std::string& prefix) {
  return collect(state, member, prefix, [&](SlotId slot) {
    const Slot& weights = state.slots()[static_cast<size_t>(slot)];
    SlotId average = state.find(passes::state_slot("ema", weights));
    return average == kNone ? slot : average;
  });
}

}  // namespace braid::train
