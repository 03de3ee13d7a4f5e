#include "braid/io/pt2/tensors.h"

#include "braid/base/error.h"

namespace braid::io::pt2 {

TensorId Tensors::add(Var value) {
  entries_.push_back({kNone, {}, value});
  return static_cast<TensorId>(entries_.size()) - 1;
}

TensorId Tensors::add_slot(Graph& graph, SlotId slot) {
  auto [at, fresh] = slots_.emplace(slot, kNone);
  if (fresh) at->second = add(braid::read(graph, slot));
  return at->second;
}

TensorId Tensors::add_view(TensorId of, ViewStep step) {
  Var value = step.take(read(of));
  entries_.push_back({of, std::move(step), value, base_version(of)});
  return static_cast<TensorId>(entries_.size()) - 1;
}

TensorId Tensors::base_of(TensorId id) const {
  for (;;) {
    TensorId parent = entries_[static_cast<size_t>(id)].parent;
    if (parent == kNone) return id;
    id = parent;
  }
}

int64_t Tensors::base_version(TensorId id) const {
  return entries_[static_cast<size_t>(base_of(id))].version;
}

bool Tensors::is_written(TensorId id) const { return base_version(id) > 0; }

Var Tensors::read(TensorId id) {
  int64_t now = base_version(id);
  if (entry(id).parent == kNone || entry(id).version == now) {
    return entry(id).value;
  }
  Var value = entry(id).step.take(read(entry(id).parent));
  entry(id).value = value;
  entry(id).version = now;
  return value;
}

void Tensors::write(TensorId id, Var value) {
  TensorId parent = entry(id).parent;
  if (parent == kNone) {
    entry(id).value = value;
    ++entry(id).version;
    return;
  }
  if (!entry(id).step.put) {
    fail_usage("a write through this kind of view is not supported");
  }
  write(parent, entry(id).step.put(read(parent), value));
  entry(id).value = value;
  entry(id).version = base_version(id);
}

}  // namespace braid::io::pt2
