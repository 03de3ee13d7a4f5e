#include "braid/train/array/learning_rates.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "braid/passes/names.h"

namespace braid::train {
namespace {

using passes::Plateau;

static_assert(sizeof(Plateau) == passes::kPlateauNumbers * sizeof(double));

template <class T>
std::vector<T> read_all(const runtime::State& state, SlotId slot) {
  std::vector<std::byte> bytes = state.read(slot);
  std::vector<T> values(bytes.size() / sizeof(T));
  std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

template <class T>
void write_all(runtime::State& state, SlotId slot,
               const std::vector<T>& values) {
  state.write(slot, std::as_bytes(std::span(values)));
}

}  // namespace

LearningRates::LearningRates(std::vector<passes::Schedule> schedules,
                             runtime::State& state, const std::string& scope)
    : schedules_(std::move(schedules)),
      state_(state),
      step_slot_(state.find(passes::scoped(passes::kStepSlot, scope))),
      plateau_slot_(state.find(passes::scoped(passes::kPlateauSlot, scope))) {
  for (size_t i = 0; i < state.slots().size(); ++i) {
    const Slot& slot = state.slots()[i];
    bool is_own =
        slot.use == SlotUse::kScheduledRate && passes::is_in_scope(slot, scope);
    if (!is_own) continue;
    rates_.push_back({state.find(passes::base_of_rate(slot)),
                      static_cast<SlotId>(i),
                      {},
                      {}});
  }
}

void LearningRates::set_schedule(size_t member, passes::Schedule schedule) {
  schedules_.at(member) = std::move(schedule);
}

void LearningRates::reload() {
  steps_ = read_all<int64_t>(state_, step_slot_);
  for (Rate& rate : rates_) {
    rate.bases = read_all<double>(state_, rate.base_slot);
    rate.written.clear();
  }
  plateaus_.resize(schedules_.size());
  if (plateau_slot_ != kNone) {
    plateaus_ = read_all<Plateau>(state_, plateau_slot_);
  }
}

void LearningRates::before_step(const std::vector<bool>& steps) {
  if (version_ != state_.version()) reload();
  for (Rate& rate : rates_) write(rate, steps);
  version_ = state_.version();
}

void LearningRates::write(Rate& rate, const std::vector<bool>& steps) {
  if (rate.written.empty()) rate.written = read_all<double>(state_, rate.slot);
  std::vector<double> values = rate.written;
  for (size_t k = 0; k < schedules_.size(); ++k) {
    if (!steps.empty() && !steps[k]) continue;
    passes::Moment at{static_cast<double>(steps_[k]), plateaus_[k].reductions};
    values[k] = passes::learning_rate(schedules_[k], rate.bases[k], at);
  }
  if (values == rate.written) return;
  write_all(state_, rate.slot, values);
  rate.written = std::move(values);
}

bool LearningRates::watches_loss() const {
  return std::ranges::any_of(schedules_, passes::watches_loss);
}

double LearningRates::present(size_t member) const {
  if (rates_.empty()) return 0;
  if (!rates_[0].written.empty()) return rates_[0].written[member];
  return read_all<double>(state_, rates_[0].slot)[member];  // of a checkpoint
}

void LearningRates::after_step(const std::vector<double>& losses,
                               const std::vector<bool>& steps) {
  for (size_t k = 0; k < schedules_.size(); ++k) {
    if (!steps.empty() && !steps[k]) continue;
    auto step = static_cast<double>(steps_[k]++);
    if (!passes::watches_loss(schedules_[k])) continue;
    passes::observe(schedules_[k], plateaus_[k], step, losses[k]);
  }
  bool is_known = version_ == state_.version();
  if (watches_loss()) write_all(state_, plateau_slot_, plateaus_);
  if (is_known) version_ = state_.version();
}

}  // namespace braid::train
