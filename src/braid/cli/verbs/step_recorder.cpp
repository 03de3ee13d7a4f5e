#include "braid/cli/verbs/step_recorder.h"

#include <algorithm>
#include <cmath>

#include "braid/base/error.h"
#include "braid/base/process.h"
#include "braid/cli/output.h"
#include "braid/io/file/file.h"
#include "braid/train/job/model_state.h"
#include "braid/train/run/run_checkpoint.h"

namespace braid::cli {
namespace {

using Json = nlohmann::json;

constexpr int64_t kCheckpointsKept = 2;
constexpr size_t kMostDifferences = 8;

bool is_finite(double number) { return std::isfinite(number); }

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

// What the checkpoint says, if the same run can go on from it.
Json checked_meta(const io::CheckpointDir& checkpoint, const StepJob& job) {
  Json meta = checkpoint.meta();
  if (!meta.is_object() || !meta.contains("arguments")) {
    fail_foreign(checkpoint, "it holds no arguments");
  }
  if (meta["arguments"] != job.arguments) {
    fail_foreign(checkpoint, differences(meta["arguments"], job.arguments));
  }
  if (checkpoint.step > job.first().num_steps()) {
    fail_foreign(checkpoint,
                 fmt::format("it is past --steps {}", job.first().num_steps()));
  }
  return meta;
}

// A loss that is no number is null in JSON.
Json losses_json(const std::vector<double>& losses) {
  Json list = Json::array();
  for (double loss : losses) {
    list.push_back(std::isfinite(loss) ? Json(loss) : Json());
  }
  return list;
}

std::vector<double> read_losses(const Json& list) {
  std::vector<double> losses;
  for (const Json& loss : list) {
    losses.push_back(loss.is_null() ? NAN : loss.get<double>());
  }
  return losses;
}

Json memory_json(const StepJob& job, train::Array& array, double step_s) {
  const auto& limit = job.first().config().memory_limit;
  const auto& host_limit = job.first().config().host_limit;
  return {{"limit_bytes", limit ? Json(*limit) : Json()},
          {"host_limit_bytes", host_limit ? Json(*host_limit) : Json()},
          {"predicted_host_bytes", array.programs().set().host_bytes},
          {"predicted_step_s", array.programs().set().step_s},
          {"measured_step_s", step_s},
          {"predicted_peak_bytes", array.programs().program(0).peak_bytes()},
          {"measured_peak_bytes", array.peak_bytes()},
          {"process_peak_bytes", process_peak_bytes()}};
}

}  // namespace

StepRecorder::StepRecorder(const StepJob& job, OutDir& out,
                           std::function<void()> on_ready)
    : job_(job),
      out_(out),
      on_ready_(std::move(on_ready)),
      checkpoints_(out.checkpoints(), kCheckpointsKept),
      losses_(job.members.size()) {}

void StepRecorder::read(train::RunContext& run, const train::Reporter&) {
  io::NewestCheckpoint found = io::newest_complete(out_.checkpoints());
  for (const std::string& text : found.warnings) print_error("{}\n", text);
  if (!found.checkpoint) return;
  source_ = *found.checkpoint;
  Json meta = checked_meta(*source_, job_);
  saved_step_ = source_->step;
  for (size_t k = 0; k < run.members.size(); ++k) {
    losses_[k] = read_losses(meta.at("losses").at(k));
    train::RunRecord record = run.members[k]->record();
    record.step = saved_step_;
    record.position = {saved_step_, 0};  // an epoch is a step
    run.members[k]->take(std::move(record));
  }
}

// The results of a run that had ended are written again.
void StepRecorder::tidy(train::RunContext& run) {
  for (const auto& member : run.members) {
    member->state = train::MemberState::kWaiting;
  }
}

void StepRecorder::create(train::RunContext& run) {
  on_ready_();
  out_.create();
  if (source_) {
    io::remove_litter(out_.checkpoints());
    io::keep_last(out_.checkpoints(), kCheckpointsKept);
  } else {
    tap_gradients(*run.array);
  }
  clock_.begin(saved_step_);
}

// All of them, once the last has its lane.
void StepRecorder::restore(train::MemberRun&, train::Array& array) {
  bool are_all = array.size() == array.num_lanes();
  if (source_ && are_all) train::restore_whole(*source_, array.state());
}

void StepRecorder::tap_gradients(train::Array& array) {
  tapped_ = &array.programs().executor(0);
  tapped_->tap_gradients(
      [this, &state = std::as_const(array).state()](
          SlotId parameter, std::span<const std::byte> bytes) {
        gradients_[parameter] = {state.slots()[static_cast<size_t>(parameter)],
                                 {bytes.begin(), bytes.end()}};
      });
}

// They are on the disk before any checkpoint is: a run that goes on finds them
// there.
void StepRecorder::write_gradients() {
  tapped_->tap_gradients({});
  tapped_ = nullptr;
  for (size_t k = 0; k < job_.members.size(); ++k) {
    io::TensorList of_member;
    for (const auto& [id, gradient] : gradients_) {
      const auto& [slot, bytes] = gradient;
      size_t size = bytes.size() / job_.members.size();
      auto part = std::span(bytes).subspan(k * size, size);
      of_member.add(slot.name, slot.dtype, slot.shape,
                    {part.begin(), part.end()});
    }
    auto folder = out_.member_path(static_cast<int64_t>(k));
    io::write_safetensors(folder / "grads.safetensors", of_member.tensors());
  }
  gradients_.clear();
}

void StepRecorder::add_loss(const train::MemberRun& member, size_t, int64_t,
                            double loss) {
  if (tapped_) clock_.leave_out([&] { write_gradients(); });
  clock_.note(member.record().step, job_.first().num_steps());
  losses_[member.number].push_back(loss);
}

void StepRecorder::save(train::RunContext& run, const train::Reporter&,
                        const train::MemberList& due) {
  int64_t step = due[0]->record().step;
  bool keeps = job_.first().config().checkpoint.every > 0;
  if (keeps && step > saved_step_) {
    Json losses = Json::array();
    for (const auto& of_member : losses_) {
      losses.push_back(losses_json(of_member));
    }
    clock_.leave_out([&] {
      checkpoints_.save(
          step, train::whole_files(run.array->state()),
          {{"step", step}, {"losses", losses}, {"arguments", job_.arguments}});
    });
    saved_step_ = step;
  }
  if (step == job_.first().num_steps()) write_results(*run.array);
}

void StepRecorder::write_results(train::Array& array) const {
  double step_s = clock_.seconds(job_.first().num_steps());
  std::string memory = memory_json(job_, array, step_s).dump(2) + "\n";
  for (size_t k = 0; k < losses_.size(); ++k) {
    auto lane = static_cast<int64_t>(k);
    auto folder = out_.member_path(lane);
    io::write_file_atomically(folder / "memory.json", memory);
    io::write_file_atomically(folder / "losses.json",
                              losses_json(losses_[k]).dump() + "\n");
    io::write_safetensors(folder / "state.safetensors",
                          train::member_state(array.state(), lane).tensors());
    if (!job_.first().model().networks()[0].optimizer.average) continue;
    io::write_safetensors(folder / "ema.safetensors",
                          train::member_average(array.state(), lane).tensors());
  }
}

std::string StepRecorder::failure() const {
  for (size_t k = 0; k < losses_.size(); ++k) {
    auto first = std::ranges::find_if_not(losses_[k], is_finite);
    bool is_left_out =
        job_.skips[k] && std::ranges::any_of(losses_[k], is_finite);
    if (first == losses_[k].end() || is_left_out) continue;
    return fmt::format("the loss{} is {} at step {}",
                       job_.is_array ? fmt::format(" of member-{}", k) : "",
                       *first, first - losses_[k].begin() + 1);
  }
  return "";
}

}  // namespace braid::cli
