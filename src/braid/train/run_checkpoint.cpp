#include "braid/train/run_checkpoint.h"

#include <nlohmann/json.hpp>

#include "braid/base/error.h"
#include "braid/train/model_state.h"

namespace braid::train {
namespace {

constexpr const char* kStateFile = "state";

bool is_rest(const Slot& slot) { return !is_of_model(slot) && is_saved(slot); }

std::string type_text(const io::TensorBytes& tensor) {
  return fmt::format("{}{}", dtype_name(tensor.dtype),
                     shape_text(tensor.shape));
}

void restore_slot(const io::SafetensorsFile& file, const std::string& name,
                  runtime::State& state, SlotId id,
                  const io::CheckpointDir& checkpoint) {
  const Slot& slot = state.slots()[static_cast<size_t>(id)];
  const io::TensorBytes* tensor = file.find(name);
  if (!tensor || tensor->dtype != slot.dtype || tensor->shape != slot.shape) {
    fail_world(
        "[resume] '{}' is of another job: expected {}{} for '{}', got {}\n"
        "HINT: the model and the optimizer must be those of the checkpoint",
        checkpoint.path.string(), dtype_name(slot.dtype),
        shape_text(slot.shape), name, tensor ? type_text(*tensor) : "none");
  }
  state.write(id, tensor->bytes);
}

}  // namespace

std::string model_file_name(const JobNetwork& network) {
  return network.name.empty() ? "model" : network.name;
}

std::vector<io::OwnedCheckpointFile> checkpoint_files(
    const runtime::State& state, const std::vector<JobNetwork>& networks) {
  std::vector<io::OwnedCheckpointFile> files;
  for (const JobNetwork& network : networks) {
    std::string name = model_file_name(network), prefix = network.prefix();
    files.push_back({name, member_state(state, 0, prefix)});
    if (!network.optimizer.average) continue;
    files.push_back({name + "_ema", member_average(state, 0, prefix)});
  }
  TensorList rest;
  for (size_t i = 0; i < state.slots().size(); ++i) {
    const Slot& slot = state.slots()[i];
    if (!is_rest(slot)) continue;
    rest.add_slot(slot, slot.shape, state.read(static_cast<SlotId>(i)));
  }
  files.push_back({kStateFile, std::move(rest)});
  return files;
}

RunRecord restore(const io::CheckpointDir& checkpoint, runtime::State& state,
                  const std::vector<JobNetwork>& networks) {
  io::SafetensorsFile rest = checkpoint.open(kStateFile);
  for (size_t i = 0; i < state.slots().size(); ++i) {
    const Slot& slot = state.slots()[i];
    if (!is_rest(slot)) continue;
    restore_slot(rest, slot.name, state, static_cast<SlotId>(i), checkpoint);
  }
  for (const JobNetwork& network : networks) {
    io::SafetensorsFile file = checkpoint.open(model_file_name(network));
    std::string prefix = network.prefix();
    for (size_t i = 0; i < state.slots().size(); ++i) {
      const Slot& slot = state.slots()[i];
      if (!is_of_model(slot) || !slot.name.starts_with(prefix)) continue;
      restore_slot(file, slot.name.substr(prefix.size()), state,
                   static_cast<SlotId>(i), checkpoint);
    }
  }
  return read_record(checkpoint.meta());
}

}  // namespace braid::train
