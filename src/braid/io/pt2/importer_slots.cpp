// What an imported graph begins with: its inputs and slots.
#include <algorithm>

#include "braid/base/error.h"
#include "braid/io/pt2/importer.h"
#include "braid/io/pt2/overlap.h"

namespace braid::io::pt2 {
namespace {

using Kind = Argument::Kind;

// Tensors with equal places are one tensor with several names.
std::string place_of(const InputSpec& spec, const StoredTensor& tensor) {
  Shape strides;
  for (const Size& stride : tensor.meta.strides) {
    strides.push_back(stride.value);
  }
  bool is_weight = tensor.is_parameter || spec.is_persistent;
  return fmt::format("{}/{}/{}/{}/{}", is_weight ? "w" : "c", tensor.path,
                     shape_text(sizes_of(tensor.meta)), shape_text(strides),
                     tensor.meta.offset.value);
}

}  // namespace

void Importer::add_placeholders() {
  for (const InputSpec& spec : program_.inputs) {
    if (spec.kind == InputSpec::Kind::kUser) add_input(spec);
  }
  if (!anchor_) fail_usage("the model takes no tensor as input");
  for (const InputSpec& spec : program_.inputs) {
    if (spec.kind == InputSpec::Kind::kOther) {
      problems_->add("", fmt::format("an input of kind '{}'", spec.other_kind));
    } else if (spec.kind != InputSpec::Kind::kUser) {
      add_slot(spec);
    }
  }
}

void Importer::add_input(const InputSpec& spec) {
  if (spec.argument.kind != Kind::kTensor) return;  // a constant of the export
  const std::string& name = spec.argument.text;
  Var value = input(graph_, name, input_type(name));
  scope_.names[name] = tensors_.add(value);
  if (!anchor_) anchor_ = value;
}

ValueType Importer::input_type(const std::string& name) const {
  const TensorMeta& meta = program_.graph.tensors.at(name);
  std::optional<DType> dtype = exported_dtype(meta.type);
  if (!dtype) fail_usage("input '{}' is of type number {}", name, meta.type);
  auto given = options_.inputs.find(name);
  ValueType type{*dtype, sizes_of(meta)};
  if (given == options_.inputs.end()) {
    for (const Size& size : meta.sizes) {
      if (!size.symbol.empty() && size.value < 0) {
        fail_usage("input '{}': its size {} is open and not given", name,
                   size.symbol);
      }
    }
    return type;
  }
  const Shape& shape = given->second.shape;
  bool fits = shape.size() == meta.sizes.size();
  for (size_t d = 0; fits && d < shape.size(); ++d) {
    bool open = !meta.sizes[d].symbol.empty();
    fits = open || shape[d] == meta.sizes[d].value;
  }
  if (!fits) {
    fail_usage(
        "input '{}' is {}, the model was exported for {}\nHINT: export with "
        "a dynamic dimension, or with inputs of this size",
        name, shape_text(shape), shape_text(type.shape));
  }
  return {*dtype, shape};
}

void Importer::add_slot(const InputSpec& spec) {
  auto lose = [&](const char* why) {
    lost_.insert(spec.argument.text);
    problems_->add(spec.name, why);
  };
  for (const auto* list : {&program_.weights, &program_.constants}) {
    auto tensor = std::ranges::find(*list, spec.name, &StoredTensor::name);
    if (tensor == list->end()) continue;
    if (!exported_dtype(tensor->meta.type) || !tensor->meta.is_strided) {
      return lose("is of a type or layout that is not supported");
    }
    SlotId slot = slot_of(spec, *tensor);
    slot_by_name_[spec.name] = slot;
    scope_.names[spec.argument.text] = Pending{slot};
    return;
  }
  lose("has no content in the file");
}

// A slot that shares a part of its storage would not see what training writes
// to the other.
void Importer::check_overlaps(const std::set<SlotId>& written) {
  struct Part {
    uint64_t storage;
    std::pair<int64_t, int64_t> extent;
    SlotId slot;
    auto operator<=>(const Part&) const = default;
  };
  std::set<Part> parts;
  for (auto [slot, tensor] : stored_) {
    parts.insert({tensor->begin, extent(tensor->meta), slot});
  }
  auto changes = [&](SlotId id) {
    const Slot& slot = graph_.slot(id);
    bool trains = slot.role == Role::kParameter && slot.trainable;
    return trains || written.contains(id);
  };
  for (auto a = parts.begin(); a != parts.end(); ++a) {
    for (auto b = std::next(a); b != parts.end(); ++b) {
      bool is_near = a->storage == b->storage &&
                     b->extent.first < a->extent.second &&
                     !problems_->is_full();
      if (!is_near) break;
      if (!changes(a->slot) && !changes(b->slot)) continue;
      if (overlap(*stored_.at(a->slot), *stored_.at(b->slot))) {
        add_overlap(a->slot, b->slot);
      }
    }
  }
}

void Importer::add_overlap(SlotId a, SlotId b) {
  problems_->add(graph_.slot(b).name,
                 fmt::format("shares a part of its memory with '{}'\nHINT: "
                             "keep the whole as one parameter and slice it in "
                             "forward",
                             graph_.slot(a).name));
}

// Tied tensors have one slot with several names.
SlotId Importer::slot_of(const InputSpec& spec, const StoredTensor& tensor) {
  std::string place = place_of(spec, tensor);
  auto known = slot_by_path_.find(place);
  if (!tensor.path.empty() && known != slot_by_path_.end()) {
    graph_.slot(known->second).aliases.push_back(spec.name);
    return known->second;
  }
  bool is_constant =
      spec.kind == InputSpec::Kind::kTensorConstant ||
      (spec.kind == InputSpec::Kind::kBuffer && !spec.is_persistent);
  Role role = spec.kind == InputSpec::Kind::kParameter ? Role::kParameter
              : is_constant                            ? Role::kConstant
                                                       : Role::kBuffer;
  SlotId slot = graph_.add_slot({.name = spec.name,
                                 .dtype = *exported_dtype(tensor.meta.type),
                                 .shape = sizes_of(tensor.meta),
                                 .role = role,
                                 .trainable = tensor.meta.requires_grad});
  slot_by_path_[place] = slot;
  stored_[slot] = &tensor;
  return slot;
}

}  // namespace braid::io::pt2
