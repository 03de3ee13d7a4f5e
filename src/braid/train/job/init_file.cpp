#include "braid/train/job/init_file.h"

#include <algorithm>
#include <cstring>
#include <set>

#include "braid/base/error.h"
#include "braid/base/narrow_float.h"
#include "braid/base/printable.h"
#include "braid/base/rng.h"
#include "braid/base/text.h"
#include "braid/train/job/init_hint.h"
#include "braid/train/job/model_state.h"

namespace braid::train {
namespace {

using Names = std::vector<std::string>;
using Found = std::vector<const io::TensorBytes*>;

Names all_names(const Slot& slot) {
  Names names{slot.name};
  names.insert(names.end(), slot.aliases.begin(), slot.aliases.end());
  return names;
}

std::string type_text(DType dtype, const Shape& shape) {
  return fmt::format("{}{}", dtype_name(dtype), shape_text(shape));
}

std::string type_text(const io::TensorBytes& tensor) {
  return type_text(tensor.dtype, tensor.shape);
}

bool fits_any(const Names& names, const Names& patterns) {
  return std::ranges::any_of(names, [&](const std::string& name) {
    return std::ranges::any_of(patterns, [&](const std::string& pattern) {
      return fits_pattern(name, pattern);
    });
  });
}

std::string renamed(const std::string& name,
                    const std::map<std::string, std::string>& rename) {
  const std::pair<const std::string, std::string>* best = nullptr;
  for (const auto& entry : rename) {
    bool is_longer = !best || entry.first.size() > best->first.size();
    if (name.starts_with(entry.first) && is_longer) best = &entry;
  }
  if (!best) return name;
  return best->second + name.substr(best->first.size());
}

// A pattern that fits no name is a mistake.
void check_patterns(const char* key, const Names& patterns,
                    const Names& names) {
  for (const std::string& pattern : patterns) {
    if (std::ranges::any_of(names, [&](const std::string& name) {
          return fits_pattern(name, pattern);
        })) {
      continue;
    }
    fail_usage(
        "[init] {}: no tensor of the model fits '{}'\nHINT: did you mean '{}'?",
        key, pattern, nearest_name(pattern, names));
  }
}

bool has_other_shape(const Found& found, const Slot& slot) {
  return std::ranges::any_of(found, [&](const io::TensorBytes* tensor) {
    return tensor->shape != slot.shape;
  });
}

// Whether every number of the one type is one of the other.
bool is_wider(DType to, DType from) {
  bool is_narrow = from == DType::kFloat16 || from == DType::kBFloat16;
  return (to == DType::kFloat32 && is_narrow) ||
         (to == DType::kFloat64 && (is_narrow || from == DType::kFloat32));
}

template <class T>
void write_numbers(const io::TensorBytes& tensor, std::vector<std::byte>& out) {
  auto item = static_cast<size_t>(item_bytes(tensor.dtype));
  for (size_t i = 0; i < out.size() / sizeof(T); ++i) {
    T value =
        static_cast<T>(number_at(tensor.bytes.data() + i * item, tensor.dtype));
    std::memcpy(out.data() + i * sizeof(T), &value, sizeof(T));
  }
}

std::vector<std::byte> widened(const io::TensorBytes& tensor, DType to) {
  std::vector<std::byte> out(
      static_cast<size_t>(num_elements(tensor.shape) * item_bytes(to)));
  if (to == DType::kFloat32) {
    write_numbers<float>(tensor, out);
  } else {
    write_numbers<double>(tensor, out);
  }
  return out;
}

// Of tensors that have the shape of the slot.
std::string problem_of(const Found& found, const Slot& slot) {
  for (const io::TensorBytes* tensor : found) {
    bool has_type =
        tensor->dtype == slot.dtype || is_wider(slot.dtype, tensor->dtype);
    if (!has_type || tensor->shape != slot.shape) {
      return fmt::format("{}: expected {}, got {}", printable(tensor->name),
                         type_text(slot.dtype, slot.shape), type_text(*tensor));
    }
    bool is_equal = tensor->dtype == found[0]->dtype &&
                    std::ranges::equal(tensor->bytes, found[0]->bytes);
    if (!is_equal) {
      return fmt::format("{}: tied to {}, but not equal",
                         printable(tensor->name), printable(found[0]->name));
    }
  }
  return {};
}

// ", 6 missing in the file (head.0.weight, head.0.bias, head.1.weight, ...)"
std::string counted(const Names& names, const char* what) {
  if (names.empty()) return "";
  constexpr size_t kShown = 3;
  std::string shown;
  for (size_t i = 0; i < std::min(names.size(), kShown); ++i) {
    shown += (i == 0 ? "" : ", ") + printable(names[i]);
  }
  return fmt::format(", {} {} ({}{})", names.size(), what, shown,
                     names.size() > kShown ? ", ..." : "");
}

std::string listed(const Names& names) {
  std::string text;
  for (const std::string& name : names) {
    text += (text.empty() ? "" : ", ") + printable(name);
  }
  return text;
}

// Goes through all tensors of a model, then through those of a file.
class Review {
 public:
  explicit Review(const InitPatterns& allowed) : allowed_(allowed) {}

  void add_slot(const Slot& slot, const Found& found) {
    Names names = all_names(slot);
    misfit_.known.insert(misfit_.known.end(), names.begin(), names.end());
    known_.insert(names.begin(), names.end());
    if (found.empty()) return add_missing(slot, names);
    bool is_reshaped = has_other_shape(found, slot);
    if (is_reshaped && fits_any(names, allowed_.reshaped)) {
      fit_.reshaped.push_back(slot.name);
      return;
    }
    if (is_reshaped) misfit_.reshaped.push_back(slot.name);
    std::string problem = problem_of(found, slot);
    if (!problem.empty()) problems_.add(problem);
    fit_.taken.push_back(slot.name);
    if (found[0]->dtype != slot.dtype) fit_.widened.push_back(slot.name);
  }

  // `name` is what the model would call it.
  void add_tensor(const std::string& name, const io::TensorBytes& tensor) {
    if (known_.contains(name)) return;
    if (fits_any({tensor.name}, allowed_.extra)) {
      fit_.extra.push_back(tensor.name);
      return;
    }
    misfit_.extra.push_back(tensor.name);
    problems_.add(fmt::format("{}: not a tensor of the model, {}",
                              printable(tensor.name), type_text(tensor)));
  }

  InitFit result(const std::string& file) const {
    check_patterns("missing", allowed_.missing, misfit_.known);
    check_patterns("reshaped", allowed_.reshaped, misfit_.known);
    if (problems_.empty()) return fit_;
    fail_usage("[init] {} does not fit the model:{}{}", file, problems_.text(),
               init_hint(misfit_));
  }

 private:
  void add_missing(const Slot& slot, const Names& names) {
    if (fits_any(names, allowed_.missing)) {
      fit_.missing.push_back(slot.name);
      return;
    }
    misfit_.missing.push_back(slot.name);
    problems_.add(fmt::format("{}: missing, expected {}", printable(slot.name),
                              type_text(slot.dtype, slot.shape)));
  }

  const InitPatterns& allowed_;
  InitFit fit_;
  InitMisfit misfit_;
  std::set<std::string> known_;
  Listing problems_;
};

}  // namespace

std::string InitFit::summary(const std::string& file) const {
  return fmt::format("first weights of {}: {} of {} tensors taken{}{}{}{}",
                     file, taken.size(),
                     taken.size() + missing.size() + reshaped.size(),
                     counted(widened, "of them of a narrower type"),
                     counted(missing, "missing in the file"),
                     counted(reshaped, "of another shape"),
                     counted(extra, "of the file left"));
}

std::vector<std::string> InitFit::details() const {
  std::vector<std::string> lines;
  auto add = [&](const char* what, const Names& names) {
    if (!names.empty())
      lines.push_back(fmt::format("{}: {}", what, listed(names)));
  };
  add("taken", taken);
  add("of a narrower type in the file", widened);
  add("missing in the file", missing);
  add("of another shape in the file", reshaped);
  add("left in the file", extra);
  return lines;
}

InitFile::InitFile(const std::filesystem::path& path, InitPatterns allowed)
    : InitFile(path.string(), io::SafetensorsFile::open(path),
               std::move(allowed)) {}

InitFile::InitFile(std::string name, io::SafetensorsFile file,
                   InitPatterns allowed)
    : name_(std::move(name)),
      allowed_(std::move(allowed)),
      file_(std::move(file)) {
  for (size_t i = 0; i < file_.tensors().size(); ++i) {
    const std::string& own = file_.tensors()[i].name;
    std::string model = renamed(own, allowed_.rename);
    auto [there, is_new] = tensors_.emplace(model, i);
    if (is_new) continue;
    fail_usage("[init] rename: {} and {} of {} both become {}",
               printable(file_.tensors()[there->second].name), printable(own),
               name_, printable(model));
  }
}

// The tensors that a file has for a slot, under any of its names.
std::vector<const io::TensorBytes*> InitFile::tensors_for(
    const Slot& slot) const {
  Found found;
  for (const std::string& name : all_names(slot)) {
    auto there = tensors_.find(name);
    if (there == tensors_.end()) continue;
    found.push_back(&file_.tensors()[there->second]);
  }
  return found;
}

InitFit InitFile::check(const std::vector<Slot>& slots,
                        const std::string& prefix, int64_t member) const {
  Review review(allowed_);
  for (const Slot& any : slots) {
    auto slot = own_slot(any, member, prefix);
    if (slot) review.add_slot(*slot, tensors_for(*slot));
  }
  for (const auto& [name, i] : tensors_) {
    review.add_tensor(name, file_.tensors()[i]);
  }
  return review.result(name_);
}

void InitFile::apply(runtime::State& state, int64_t member,
                     const std::string& prefix) const {
  for (size_t i = 0; i < state.slots().size(); ++i) {
    auto slot = own_slot(state.slots()[i], member, prefix);
    if (!slot) continue;
    Found found = tensors_for(*slot);
    if (found.empty() || has_other_shape(found, *slot)) continue;
    auto id = static_cast<SlotId>(i);
    if (found[0]->dtype == slot->dtype) {
      state.write_member(id, member, found[0]->bytes);
    } else {
      state.write_member(id, member, widened(*found[0], slot->dtype));
    }
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

}  // namespace braid::train
