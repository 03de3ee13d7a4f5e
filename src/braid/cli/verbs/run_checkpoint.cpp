#include "braid/cli/verbs/run_checkpoint.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "braid/base/error.h"
#include "braid/cli/output.h"
#include "braid/train/job/model_state.h"

namespace braid::cli {
namespace {

using Json = nlohmann::json;

constexpr int64_t kCheckpointsKept = 2;
constexpr size_t kMostDifferences = 8;

[[noreturn]] void fail_foreign(const io::CheckpointDir& checkpoint,
                               const std::string& why) {
  fail_usage(
      "[resume] '{}' was made by another run: {}\n"
      "HINT: give the same arguments to go on, or choose another --out",
      checkpoint.path.string(), why);
}

std::string differences(const Json& there, const Json& here) {
  Json old_values = there.flatten(), new_values = here.flatten();
  Json all = old_values;
  all.update(new_values);
  std::string text;
  size_t count = 0;
  auto value = [](const Json& values, const std::string& key) {
    return values.contains(key) ? values[key].dump() : "nothing";
  };
  for (const auto& [key, unused] : all.items()) {
    std::string before = value(old_values, key), now = value(new_values, key);
    if (before == now || ++count > kMostDifferences) continue;
    text += fmt::format("\n  {}: {} there, {} now", key.substr(1), before, now);
  }
  return text;
}

void restore_slot(const io::SafetensorsFile& file, runtime::State& state,
                  SlotId id, const io::CheckpointDir& checkpoint) {
  const Slot& slot = state.slots()[static_cast<size_t>(id)];
  const io::TensorBytes* tensor = file.find(slot.name);
  if (!tensor || tensor->dtype != slot.dtype ||
      tensor->shape != slot.stored_shape()) {
    fail_foreign(checkpoint, fmt::format("no fitting '{}'", slot.name));
  }
  state.write(id, tensor->bytes);
}

std::vector<double> read_losses(const Json& list) {
  std::vector<double> losses;
  for (const Json& loss : list) {
    losses.push_back(loss.is_null() ? NAN : loss.get<double>());
  }
  return losses;
}

}  // namespace

Json losses_json(const std::vector<double>& losses) {
  Json list = Json::array();
  for (double loss : losses) {
    list.push_back(std::isfinite(loss) ? Json(loss) : Json());
  }
  return list;
}

void save_run(const std::filesystem::path& root, const runtime::State& state,
              const RunRecord& record, const Json& arguments) {
  train::TensorList model, rest;
  for (size_t i = 0; i < state.slots().size(); ++i) {
    const Slot& slot = state.slots()[i];
    if (!train::is_saved(slot)) continue;
    (train::is_of_model(slot) ? model : rest)
        .add_slot(slot, slot.stored_shape(),
                  state.read(static_cast<SlotId>(i)));
  }
  Json losses = Json::array();
  for (const auto& of_member : record.losses) {
    losses.push_back(losses_json(of_member));
  }
  io::save_checkpoint(
      root, record.step,
      {{"model", model.tensors()}, {"state", rest.tensors()}},
      {{"step", record.step}, {"losses", losses}, {"arguments", arguments}});
  tidy_checkpoints(root);
}

void tidy_checkpoints(const std::filesystem::path& root) {
  io::remove_litter(root);
  io::keep_last(root, kCheckpointsKept);
}

std::optional<io::CheckpointDir> find_run(const std::filesystem::path& root,
                                          const Json& arguments,
                                          int64_t steps) {
  auto [checkpoint, warnings] = io::newest_complete(root);
  for (const std::string& text : warnings) print_error("{}\n", text);
  if (!checkpoint) return std::nullopt;
  Json meta = checkpoint->meta();
  if (!meta.is_object() || !meta.contains("arguments")) {
    fail_foreign(*checkpoint, "it holds no arguments");
  }
  if (meta["arguments"] != arguments) {
    fail_foreign(*checkpoint, differences(meta["arguments"], arguments));
  }
  if (checkpoint->step > steps) {
    fail_foreign(*checkpoint, fmt::format("it is past --steps {}", steps));
  }
  return checkpoint;
}

RunRecord restore_run(const io::CheckpointDir& checkpoint,
                      runtime::State& state) {
  io::SafetensorsFile model = checkpoint.open("model");
  io::SafetensorsFile rest = checkpoint.open("state");
  for (size_t i = 0; i < state.slots().size(); ++i) {
    const Slot& slot = state.slots()[i];
    if (!train::is_saved(slot)) continue;
    restore_slot(train::is_of_model(slot) ? model : rest, state,
                 static_cast<SlotId>(i), checkpoint);
  }
  RunRecord record{checkpoint.step, {}};
  Json meta = checkpoint.meta();
  for (const Json& list : meta.at("losses")) {
    record.losses.push_back(read_losses(list));
  }
  return record;
}

}  // namespace braid::cli
