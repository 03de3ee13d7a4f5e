#include "braid/cli/verbs/step_run.h"

#include <algorithm>
#include <cmath>

#include "braid/base/process.h"
#include "braid/cli/display/display.h"
#include "braid/cli/signals.h"

namespace braid::cli {
namespace {

using Json = nlohmann::json;

// The gradients of one step, by member. `trainer` must take that step while
// this is alive.
class GradientCollector {
 public:
  GradientCollector(train::Trainer& trainer, size_t num_members)
      : trainer_(trainer), lists_(num_members) {
    trainer.executor().tap_gradients(
        [this](SlotId parameter, std::span<const std::byte> bytes) {
          collect(parameter, bytes);
        });
  }
  ~GradientCollector() { trainer_.executor().tap_gradients({}); }
  GradientCollector(const GradientCollector&) = delete;
  GradientCollector& operator=(const GradientCollector&) = delete;

  const std::vector<train::TensorList>& lists() const { return lists_; }

 private:
  void collect(SlotId parameter, std::span<const std::byte> bytes) {
    const Slot& slot = trainer_.state().slots()[static_cast<size_t>(parameter)];
    size_t size = bytes.size() / lists_.size();
    for (size_t k = 0; k < lists_.size(); ++k) {
      auto part = bytes.subspan(k * size, size);
      lists_[k].add(slot.name, slot.dtype, slot.shape,
                    {part.begin(), part.end()});
    }
  }

  train::Trainer& trainer_;
  std::vector<train::TensorList> lists_;
};

Json memory_json(const StepJob& job, const train::Trainer& trainer,
                 runtime::Backend& backend) {
  return {{"limit_bytes", job.has_limit() ? Json(job.limit_bytes) : Json()},
          {"predicted_peak_bytes", trainer.program().peak_bytes()},
          {"measured_peak_bytes", backend.account().peak_bytes()},
          {"process_peak_bytes", process_peak_bytes()}};
}

DisplayState display_state(const StepJob& job, const train::Trainer& trainer,
                           runtime::Backend& backend, int64_t step) {
  DisplayState state;
  state.step = step;
  state.steps = job.steps;
  state.memory_bytes = backend.account().peak_bytes();
  state.limit_bytes = job.has_limit() ? job.limit_bytes : 0;
  for (size_t k = 0; k < trainer.losses().size(); ++k) {
    state.rows.push_back(
        {fmt::format("member-{}", k), trainer.losses()[k], {}, {}});
  }
  return state;
}

bool is_finite(double number) { return std::isfinite(number); }

}  // namespace

StepRun::StepRun(const StepJob& job, train::Trainer& trainer,
                 runtime::Backend& backend, const OutDir& out,
                 const std::optional<io::CheckpointDir>& resumed)
    : job_(job), trainer_(trainer), backend_(backend), out_(out) {
  if (resumed) {
    record_ = restore_run(*resumed, trainer.state());
    saved_step_ = record_.step;
    tidy_checkpoints(out.checkpoints());
  } else {
    record_.losses.resize(job.members.size());
    initialise(job, trainer);
  }
}

bool StepRun::run() {
  Display display(stdout, {.first_step = record_.step});
  while (record_.step < job_.steps && !stop_requested()) {
    record_.step == 0 ? first_step() : step();
    display.update(display_state(job_, trainer_, backend_, record_.step));
    bool due =
        job_.checkpoint_every > 0 && record_.step % job_.checkpoint_every == 0;
    if (due) save();
  }
  display.finish();
  bool done = record_.step == job_.steps;
  if (job_.checkpoint_every > 0 && record_.step > saved_step_) save();
  if (done) write_results();
  return done;
}

void StepRun::step() {
  trainer_.step([this](int64_t micro, ValueId input) {
    return job_.feed.at(micro, input);
  });
  for (size_t k = 0; k < record_.losses.size(); ++k) {
    record_.losses[k].push_back(trainer_.losses()[k]);
  }
  ++record_.step;
}

// Its gradients are on the disk before any checkpoint is: a run that goes on
// finds them there.
void StepRun::first_step() {
  GradientCollector gradients(trainer_, job_.members.size());
  step();
  for (size_t k = 0; k < gradients.lists().size(); ++k) {
    auto folder = out_.member_path(static_cast<int64_t>(k));
    io::write_safetensors(folder / "grads.safetensors",
                          gradients.lists()[k].tensors());
  }
}

void StepRun::save() {
  save_run(out_.checkpoints(), trainer_.state(), record_, job_.arguments);
  saved_step_ = record_.step;
}

bool StepRun::skips_steps(size_t member) const {
  const auto& hyper = job_.trainer.optimizer.hyper;
  auto usual = hyper.find("skip_nonfinite");
  double value = usual == hyper.end() ? 0 : usual->second;
  for (const auto& [name, own] : job_.members[member].values) {
    if (name == "skip_nonfinite") value = own;
  }
  return value != 0;
}

std::string StepRun::failure() const {
  for (size_t k = 0; k < record_.losses.size(); ++k) {
    const std::vector<double>& losses = record_.losses[k];
    auto first = std::ranges::find_if_not(losses, is_finite);
    bool is_left_out = skips_steps(k) && std::ranges::any_of(losses, is_finite);
    if (first == losses.end() || is_left_out) continue;
    return fmt::format("the loss{} is {} at step {}",
                       job_.is_array() ? fmt::format(" of member-{}", k) : "",
                       *first, first - losses.begin() + 1);
  }
  return "";
}

void StepRun::write_results() const {
  std::string memory = memory_json(job_, trainer_, backend_).dump(2) + "\n";
  for (size_t k = 0; k < job_.members.size(); ++k) {
    auto member = static_cast<int64_t>(k);
    auto folder = out_.member_path(member);
    io::write_file_atomically(folder / "memory.json", memory);
    io::write_file_atomically(folder / "losses.json",
                              losses_json(record_.losses[k]).dump() + "\n");
    io::write_safetensors(
        folder / "state.safetensors",
        train::member_state(trainer_.state(), member).tensors());
    if (!job_.trainer.optimizer.average) continue;
    io::write_safetensors(
        folder / "ema.safetensors",
        train::member_average(trainer_.state(), member).tensors());
  }
}

}  // namespace braid::cli
