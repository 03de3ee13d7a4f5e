#include "braid/train/job/init_run.h"

#include <nlohmann/json.hpp>

#include "braid/base/error.h"
#include "braid/passes/names.h"
#include "braid/train/run/run_checkpoint.h"
#include "braid/train/run/run_files.h"
#include "braid/train/run/run_record.h"

namespace braid::train {
namespace {

namespace fs = std::filesystem;

int64_t best_step(const io::CheckpointDir& newest, const fs::path& run) {
  Best best = read_record(newest.meta()).best;
  if (!best.value) {
    fail_world("[init] '{}' was never evaluated: it has no best checkpoint",
               run.string());
  }
  return best.step;
}

bool is_optimizer_state(const Slot& slot, const JobNetwork& network) {
  if (slot.use == SlotUse::kUpdateCount) {
    return slot.own_name() == passes::scoped(passes::kUpdateSlot, network.name);
  }
  if (slot.role != Role::kOptimizer) return false;
  std::string name = slot.own_name();  // optimizer/exp_avg/fc1.weight
  size_t kind = name.find('/') + 1;
  return name.substr(name.find('/', kind) + 1).starts_with(network.prefix());
}

io::CheckpointDir find_checkpoint(const InitConfig& init) {
  fs::path root = checkpoints_path(init.run);
  auto newest = io::newest_complete(root).checkpoint;
  if (!newest) {
    fail_world(
        "[init] '{}' holds no run with a checkpoint\n"
        "HINT: init.run is the folder of one run; of a list, that of one job",
        init.run.string());
  }
  if (!init.step && !init.best) return *newest;
  int64_t step = init.best ? best_step(*newest, init.run) : *init.step;
  auto found = io::find_complete(root, step);
  if (found) return *found;
  fail_world(
      "[init] '{}' has no whole checkpoint of step {}\n"
      "HINT: the newest is of step {}",
      init.run.string(), step, newest->step);
}

}  // namespace

const io::CheckpointDir& init_checkpoint(const JobNetwork& network) {
  if (!network.begins) network.begins = find_checkpoint(network.config.init);
  return *network.begins;
}

fs::path init_path(const JobNetwork& network) {
  const InitConfig& init = network.config.init;
  if (init.run.empty()) return init.file;
  return init_checkpoint(network).path /
         (model_file_name(network) + ".safetensors");
}

void take_optimizer_state(const JobNetwork& network, runtime::State& state,
                          int64_t lane) {
  const InitConfig& init = network.config.init;
  if (!init.optimizer) return;
  const io::CheckpointDir& checkpoint = init_checkpoint(network);
  io::SafetensorsFile file = checkpoint.open("state");
  for (size_t i = 0; i < state.slots().size(); ++i) {
    const Slot& slot = state.slots()[i];
    if (!slot.belongs_to(lane) || !is_optimizer_state(slot, network)) continue;
    const io::TensorBytes* tensor = file.find(slot.own_name());
    if (tensor && tensor->dtype == slot.dtype && tensor->shape == slot.shape) {
      state.write_member(static_cast<SlotId>(i), lane, tensor->bytes);
      continue;
    }
    fail_world(
        "[init] '{}' has no state of this optimizer: '{}' is {}\n"
        "HINT: take the optimizer of that run, or leave out init.optimizer",
        init.run.string(), slot.own_name(),
        tensor ? "of another type or shape" : "missing");
  }
  file.check();
}

}  // namespace braid::train
