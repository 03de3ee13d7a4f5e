#include "braid/train/array/array.h"

#include <algorithm>
#include <iterator>

#include "braid/base/error.h"
#include "braid/passes/names.h"
#include "braid/train/job/model_state.h"

namespace braid::train {
namespace {

// Losses that wait to be taken.
constexpr int64_t kMostSettled = 1 << 16;

}  // namespace

bool is_of_member(const Slot& slot) {
  return is_saved(slot) && slot.use != SlotUse::kActiveMask;
}

Array::Array(std::vector<const Job*> kinds, runtime::Backend& backend,
             ArrayOptions options)
    : backend_(&backend),
      options_(std::move(options)),
      kinds_(std::move(kinds)) {
  if (capacity() < 0) {
    fail_usage("[array] expected a capacity from 0, got {}", capacity());
  }
  lanes_.resize(static_cast<size_t>(std::max<int64_t>(capacity(), 1)));
  compile();
}

int64_t Array::size() const {
  return std::ranges::count_if(
      lanes_, [](const Lane& lane) { return lane.job != nullptr; });
}

std::vector<MemberId> Array::members() const {
  std::vector<MemberId> ids;
  for (const Lane& lane : lanes_) {
    if (lane.job) ids.push_back(lane.member);
  }
  return ids;
}

bool Array::has(MemberId member) const {
  return std::ranges::any_of(lanes_, [&](const Lane& lane) {
    return lane.job && lane.member == member;
  });
}

size_t Array::at(MemberId member) const {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    if (lanes_[i].job && lanes_[i].member == member) return i;
  }
  fail_usage("[array] there is no member {}", member);
}

int64_t Array::lane(MemberId member) const {
  return static_cast<int64_t>(at(member));
}

size_t Array::lane_for(const Job& job) const {
  for (size_t i = 0; i < lanes_.size(); ++i) {
    bool fits = !is_partial() || kinds_[i] == &job;
    if (!lanes_[i].job && fits) return i;
  }
  fail_usage(
      "[array.add] all {} lanes are taken\n"
      "HINT: drop a member, or resize the array",
      lanes_.size());
}

MemberId Array::add(const Job& job) {
  admit(job);
  size_t lane = lane_for(job);
  occupy(lane, job);
  return lanes_[lane].member;
}

bool Array::is_free(int64_t lane, const Job& job) const {
  if (lane < 0 || lane >= num_lanes()) return false;
  auto at = static_cast<size_t>(lane);
  return !lanes_[at].job && (!is_partial() || kinds_[at] == &job);
}

MemberId Array::add(const Job& job, int64_t lane) {
  admit(job);
  if (!is_free(lane, job)) {
    fail_usage("[array.add] lane {} is not free", lane);
  }
  auto at = static_cast<size_t>(lane);
  occupy(at, job);
  return lanes_[at].member;
}

MemberId Array::add(const Job& job, const MemberContent& content) {
  admit(job);
  size_t lane = lane_for(job);
  check_content(lane, content);
  occupy(lane, job);
  write_content(lane, content);
  return lanes_[lane].member;
}

void Array::drop(MemberId member) { lanes_[at(member)] = {}; }

MemberId Array::replace(MemberId member, const Job& job) {
  if (is_partial() && lanes_[at(member)].job != &job) {
    fail_usage("[array.replace] members that differ have lanes of their own");
  }
  admit(job);
  size_t lane = at(member);
  occupy(lane, job);
  return lanes_[lane].member;
}

// A job that needs other programs than those there are brings them along.
void Array::admit(const Job& job) {
  if (is_compiled_for(job)) return;
  std::vector<const Job*> kinds;
  for (const Lane& lane : lanes_) {
    if (lane.job) kinds.push_back(lane.job);
  }
  kinds.push_back(&job);
  rebuild(is_partial() ? std::ssize(kinds) : capacity(), kinds);
}

void Array::occupy(size_t lane, const Job& job) {
  write_initial(lane, job);
  set_schedules(lane, job);
  lanes_[lane] = {next_id_++, &job};
}

void Array::restore(MemberId member, const MemberContent& content) {
  size_t lane = at(member);
  check_content(lane, content);
  write_content(lane, content);
}

void Array::part_batches() {
  if (!shares_batches()) return;
  options_.form.shares_batches = false;
  try {
    rebuild(capacity(), kinds_);
  } catch (...) {
    options_.form.shares_batches = true;
    rebuild(capacity(), kinds_);
    throw;
  }
}

void Array::resize(int64_t capacity) {
  if (capacity < std::max<int64_t>(size(), 1)) {
    fail_usage("[array.resize] expected {} lanes or more, got {}",
               std::max<int64_t>(size(), 1), capacity);
  }
  if (capacity == options_.form.capacity) return;
  std::vector<const Job*> kinds = kinds_;
  if (is_partial()) {
    kinds.clear();
    for (const Lane& lane : lanes_) {
      if (lane.job) kinds.push_back(lane.job);
    }
  }
  rebuild(capacity, kinds);
}

// Members move to the first lanes, in order. Memory of the old array is given
// back before that of the new one is taken.
void Array::rebuild(int64_t capacity, const std::vector<const Job*>& kinds,
                    const std::function<void()>& undo) {
  settle(0);
  Content content = take_content();
  auto make = [&](int64_t with, const std::vector<const Job*>& of) {
    options_.form.capacity = with;
    kinds_ = of;
    lanes_.assign(static_cast<size_t>(std::max<int64_t>(with, 1)), {});
    compile();
    fill(content);
  };
  std::vector<const Job*> kinds_before = kinds_;
  int64_t capacity_before = options_.form.capacity;
  try {
    make(capacity, kinds);
  } catch (...) {
    if (undo) undo();
    make(capacity_before, kinds_before);
    throw;
  }
}

Array::Content Array::take_content() {
  Content all;
  for (const Lane& lane : lanes_) {
    if (!lane.job) continue;
    all.members.push_back(lane);
    all.contents.push_back(content(lane.member));
  }
  return all;
}

void Array::fill(const Content& content) {
  lanes_.assign(lanes_.size(), {});
  for (size_t i = 0; i < content.members.size(); ++i) {
    const Lane& member = content.members[i];
    size_t lane = lane_for(*member.job);
    write_initial(lane, *member.job);
    write_content(lane, content.contents[i]);
    set_schedules(lane, *member.job);
    lanes_[lane] = member;
  }
}

void Array::suspend() {
  settle(0);
  content_ = take_content();
  former_ = programs_->shared_set();
  former_device_ = backend_->info();
  feeds_.clear();
  rates_.clear();
  programs_.reset();
  backend_ = nullptr;
}

void Array::resume(runtime::Backend& backend) {
  backend_ = &backend;
  try {
    compile();
    fill(content_);
  } catch (...) {
    feeds_.clear();
    rates_.clear();
    programs_.reset();
    throw;
  }
  content_ = {};
  former_ = nullptr;
}

bool Array::took_more_scratch() const {
  for (size_t i = 0; i < programs_->size(); ++i) {
    if (programs_->executor(i).took_more_scratch()) return true;
  }
  return false;
}

Array::PlanReview Array::plan_again() {
  PlanReview review;
  for (size_t i = 0; i < programs_->size(); ++i) {
    std::ranges::move(programs_->executor(i).scratch_mistakes(),
                      std::back_inserter(review.mistakes));
  }
  if (review.mistakes.empty()) return review;
  options_.programs = nullptr;  // others have what was planned before
  for (const auto& m : review.mistakes) {
    backend_->set_workspace(m.signature, m.needed_bytes, m.on_host);
  }
  try {
    rebuild(capacity(), kinds_, [&] {
      for (const auto& m : review.mistakes) {
        backend_->set_workspace(m.signature, m.planned_bytes, m.on_host);
      }
    });
    review.fits = true;
  } catch (const WorldError&) {
    // Steps go on as they were.
  }
  return review;
}

void Array::activate(const std::vector<bool>& steps) {
  if (capacity() == 0 || steps == active_) return;
  if (options_.form.together) {
    if (std::ranges::find(steps, false) == steps.end()) return;
    fail_usage("[array.step] members of this array step together");
  }
  std::vector<double> mask(steps.begin(), steps.end());
  state().write(state().find(passes::kActiveSlot),
                std::as_bytes(std::span(mask)));
  active_ = steps;
}

void Array::step(size_t phase, std::span<const Turn> turns,
                 const std::vector<data::Batch>& batches) {
  if (turns.empty()) return;
  auto batch_of = [&](size_t lane) {
    return &batches[shares_batches() ? 0 : lane];
  };
  Issued issued{.phase = phase};
  std::vector<MemberInputs> inputs(lanes_.size());
  std::vector<bool> steps(lanes_.size(), false);
  for (size_t i = 0; i < lanes_.size(); ++i) {
    inputs[i] = {.batch = batch_of(i), .steps = false};
  }
  int64_t rows = batch_of(at(turns[0].member))->rows;
  for (const Turn& turn : turns) {
    size_t lane = at(turn.member);
    if (batch_of(lane)->rows != rows) {
      fail_usage("[array.step] batches of {} and {} rows in one step", rows,
                 batch_of(lane)->rows);
    }
    inputs[lane].seed = lanes_[lane].job->config().seed;
    inputs[lane].step = turn.step;
    inputs[lane].steps = steps[lane] = true;
    issued.turns.emplace_back(lane, turn);
  }
  size_t program = issued.program = specs_.steps.at({phase, rows});
  runtime::Executor& executor = programs_->executor(program);
  BatchFeed& feed = *feeds_[program];
  activate(steps);
  feed.set(inputs);
  LearningRates* rates = rates_[phase].get();
  if (rates) rates->before_step(steps);
  executor.step(
      [&](int64_t micro, ValueId input) { return feed.at(micro, input); });
  bool watches = rates && rates->watches_loss();
  if (rates) {
    rates->after_step(
        watches ? executor.losses() : std::vector<double>(lanes_.size()),
        steps);
  }
  issued.number = executor.num_steps();
  issued_.push_back(std::move(issued));
  settle(runtime::kMostLag);
}

void Array::tap_gradients(const runtime::Executor::GradientTap& tap) {
  for (const auto& [unused, program] : specs_.steps) {
    programs_->executor(program).tap_gradients(tap);
  }
}

// Moves losses of all but the newest steps to where they can be taken.
void Array::settle(int64_t lag) {
  while (std::ssize(issued_) > lag) {
    const Issued& oldest = issued_.front();
    std::vector<double> losses =
        programs_->executor(oldest.program).losses(oldest.number);
    for (const auto& [lane, turn] : oldest.turns) {
      double loss = losses_[oldest.phase][lane] = losses.at(lane);
      settled_.push_back({oldest.phase, turn.member, turn.step, loss});
    }
    issued_.pop_front();
  }
  if (std::ssize(settled_) > kMostSettled) {
    settled_.erase(settled_.begin(), settled_.end() - kMostSettled / 2);
  }
}

std::vector<Array::StepLoss> Array::take_losses(int64_t lag) {
  settle(lag);
  return std::exchange(settled_, {});
}

double Array::loss(size_t phase, MemberId member) {
  settle(0);
  return losses_.at(phase)[at(member)];
}

double Array::rate(size_t phase, MemberId member) const {
  if (rates_.at(phase)) return rates_[phase]->present(at(member));
  const JobModel& model = job(member).model();
  return model.networks()[model.phases()[phase].network].optimizer.hyper.at(
      "lr");
}

const runtime::Executor& Array::evaluate(const data::Batch& batch) {
  size_t program = specs_.evals.at(batch.rows);
  BatchFeed& feed = *feeds_[program];
  feed.set(batch, 0);
  runtime::Executor& executor = programs_->executor(program);
  executor.step(
      [&](int64_t micro, ValueId input) { return feed.at(micro, input); });
  return executor;
}

void Array::swap_averages() {
  for (size_t i = 0; i < state().slots().size(); ++i) {
    const Slot& slot = state().slots()[i];
    if (slot.role != Role::kParameter) continue;
    SlotId average = state().find(passes::state_slot("ema", slot));
    if (average == kNone) continue;
    auto id = static_cast<SlotId>(i);
    std::vector<std::byte> weights = state().read(id);
    state().write(id, state().read(average));
    state().write(average, weights);
  }
}

}  // namespace braid::train
