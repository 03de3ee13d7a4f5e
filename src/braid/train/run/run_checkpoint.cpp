#include "braid/train/run/run_checkpoint.h"

#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "braid/base/error.h"
#include "braid/passes/names.h"
#include "braid/train/array/array.h"
#include "braid/train/job/model_state.h"

namespace braid::train {
namespace {

constexpr const char* kModelFile = "model";
constexpr const char* kStateFile = "state";
constexpr int64_t kAllLanes = -1;

// What a job alone keeps besides its networks. In an array rates have slots
// that a job without a schedule does not have.
bool is_rest(const Slot& slot, const std::vector<JobNetwork>& networks) {
  if (is_of_model(slot) || !is_of_member(slot)) return false;
  bool is_plateau = slot.use == SlotUse::kPlateau;
  if (!is_plateau && slot.use != SlotUse::kScheduledRate) return true;
  for (const JobNetwork& network : networks) {
    if (!passes::is_in_scope(slot, network.name)) continue;
    return network.schedule &&
           (!is_plateau || passes::watches_loss(*network.schedule));
  }
  return true;
}

std::string type_text(const io::TensorBytes& tensor) {
  return fmt::format("{}{}", dtype_name(tensor.dtype),
                     shape_text(tensor.shape));
}

// Slots that the file of that name keeps, for all members.
std::vector<SlotId> whole_slots(const runtime::State& state,
                                const std::string& file) {
  std::vector<SlotId> slots;
  for (size_t i = 0; i < state.slots().size(); ++i) {
    const Slot& slot = state.slots()[i];
    bool is_there = is_of_model(slot) == (file == kModelFile);
    if (is_saved(slot) && is_there) slots.push_back(static_cast<SlotId>(i));
  }
  return slots;
}

void restore_slot(const io::SafetensorsFile& file, const std::string& name,
                  runtime::State& state, SlotId id, int64_t lane,
                  const io::CheckpointDir& checkpoint) {
  const Slot& slot = state.slots()[static_cast<size_t>(id)];
  bool is_whole = lane == kAllLanes;
  const Shape shape = is_whole ? slot.stored_shape() : slot.shape;
  const io::TensorBytes* tensor = file.find(name);
  if (!tensor || tensor->dtype != slot.dtype || tensor->shape != shape) {
    fail_world(
        "[resume] '{}' is of another job: expected {}{} for '{}', got {}\n"
        "HINT: the model and the optimizer must be those of the checkpoint",
        checkpoint.path.string(), dtype_name(slot.dtype), shape_text(shape),
        name, tensor ? type_text(*tensor) : "none");
  }
  is_whole ? state.write(id, tensor->bytes)
           : state.write_member(id, lane, tensor->bytes);
}

}  // namespace

std::string model_file_name(const JobNetwork& network) {
  return network.name.empty() ? kModelFile : network.name;
}

std::vector<std::string> checkpoint_file_names(
    const std::vector<JobNetwork>& networks) {
  std::vector<std::string> names{kStateFile};
  for (const JobNetwork& network : networks) {
    names.push_back(model_file_name(network));
    if (network.optimizer.average) names.push_back(names.back() + "_ema");
  }
  return names;
}

std::vector<io::OwnedCheckpointFile> checkpoint_files(
    const runtime::State& state, const std::vector<JobNetwork>& networks,
    int64_t lane) {
  std::vector<io::OwnedCheckpointFile> files;
  for (const JobNetwork& network : networks) {
    std::string name = model_file_name(network), prefix = network.prefix();
    files.push_back({name, member_state(state, lane, prefix)});
    if (!network.optimizer.average) continue;
    files.push_back({name + "_ema", member_average(state, lane, prefix)});
  }
  TensorList rest;
  for (size_t i = 0; i < state.slots().size(); ++i) {
    const Slot& slot = state.slots()[i];
    if (!is_rest(slot, networks) || !slot.belongs_to(lane)) continue;
    rest.add_slot(slot.of_member(lane), slot.shape,
                  state.read_member(static_cast<SlotId>(i), lane));
  }
  files.push_back({kStateFile, std::move(rest)});
  return files;
}

void restore_state(const io::CheckpointDir& checkpoint, runtime::State& state,
                   const std::vector<JobNetwork>& networks, int64_t lane,
                   const std::string& file_prefix) {
  io::SafetensorsFile rest = checkpoint.open(file_prefix + kStateFile);
  for (size_t i = 0; i < state.slots().size(); ++i) {
    const Slot& slot = state.slots()[i];
    if (!is_rest(slot, networks) || !slot.belongs_to(lane)) continue;
    restore_slot(rest, slot.own_name(), state, static_cast<SlotId>(i), lane,
                 checkpoint);
  }
  rest.check();
  for (const JobNetwork& network : networks) {
    io::SafetensorsFile file =
        checkpoint.open(file_prefix + model_file_name(network));
    std::string prefix = network.prefix();
    for (size_t i = 0; i < state.slots().size(); ++i) {
      const Slot& slot = state.slots()[i];
      std::string name = slot.own_name();
      bool is_own = slot.belongs_to(lane) && name.starts_with(prefix);
      if (!is_of_model(slot) || !is_own) continue;
      restore_slot(file, name.substr(prefix.size()), state,
                   static_cast<SlotId>(i), lane, checkpoint);
    }
    file.check();
  }
}

std::vector<io::OwnedCheckpointFile> whole_files(const runtime::State& state) {
  std::vector<io::OwnedCheckpointFile> files;
  for (const char* name : {kModelFile, kStateFile}) {
    TensorList& list = files.emplace_back(name, TensorList{}).tensors;
    for (SlotId id : whole_slots(state, name)) {
      const Slot& slot = state.slots()[static_cast<size_t>(id)];
      list.add_slot(slot, slot.stored_shape(), state.read(id));
    }
  }
  return files;
}

void restore_whole(const io::CheckpointDir& checkpoint, runtime::State& state) {
  for (const char* name : {kModelFile, kStateFile}) {
    io::SafetensorsFile file = checkpoint.open(name);
    for (SlotId id : whole_slots(state, name)) {
      const Slot& slot = state.slots()[static_cast<size_t>(id)];
      restore_slot(file, slot.name, state, id, kAllLanes, checkpoint);
    }
    file.check();
  }
}

io::NewestCheckpoint newest_checkpoint(const std::filesystem::path& root) {
  io::NewestCheckpoint found = io::newest_complete(root);
  if (found.checkpoint || found.warnings.empty()) return found;
  fail_world(
      "[resume] no checkpoint is whole\n  {}\n"
      "HINT: delete '{}' to start over",
      fmt::join(found.warnings, "\n  "), root.string());
}

void tidy_checkpoints(const MemberRun& member) {
  std::filesystem::path root = checkpoints_path(member.out());
  io::remove_litter(root);
  if (!member.is_at_end()) return;
  io::keep_last(root, member.job().config().checkpoint.keep,
                member.best_steps());
}

}  // namespace braid::train
