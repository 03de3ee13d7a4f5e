// The model's part of a State (parameters and buffers) by PyTorch names; a tied
// tensor stands there under each of its names.
#pragma once

#include <optional>
#include <string>

#include "braid/graph/graph.h"
#include "braid/io/format/tensor_list.h"
#include "braid/runtime/state.h"

namespace braid::train {

using io::TensorList;

// Whether a slot is part of a PyTorch state dict.
bool is_of_model(const Slot& slot);

// Whether a checkpoint keeps a slot: gradients of micro-batches are written
// anew by every step, constants come with the model.
bool is_saved(const Slot& slot);

// Sets a hyper-parameter of a member: "lr", or "dropout" for all its dropout
// layers, "label_smoothing" for all its losses. Unknown names are errors.
void set_hyper(runtime::State& state, int64_t member, const std::string& name,
               double value);

// The slot as the network of a member itself knows it; nothing when it is not
// its. Of several networks that whose slots begin with the prefix.
std::optional<Slot> own_slot(const Slot& slot, int64_t member,
                             const std::string& prefix);

// Parameters and buffers of one member; of several networks that whose slots
// begin with the prefix, under its own names.
TensorList member_state(const runtime::State& state, int64_t member,
                        const std::string& prefix = "");

// The same with averaged weights where there are some: parameters that are not
// trained, and buffers, are as they are.
TensorList member_average(const runtime::State& state, int64_t member,
                          const std::string& prefix = "");

}  // namespace braid::train
