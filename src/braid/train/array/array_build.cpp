// How an array is made: the programs that its jobs need, and what its slots
// hold when a member enters.
#include <algorithm>
#include <optional>

#include "braid/base/error.h"
#include "braid/passes/names.h"
#include "braid/train/array/array.h"
#include "braid/train/job/job_signature.h"
#include "braid/train/job/model_state.h"

namespace braid::train {
namespace {

// One content for all members.
bool is_shared(const Slot& slot) {
  return slot.role == Role::kConstant && slot.owner() == kAllMembers;
}

passes::Schedule constant_rate() { return passes::parse_schedule("constant"); }

// Rates that are written anew for every step; a member with a constant rate
// has them only among others.
bool is_of_schedule(SlotUse use) {
  return use == SlotUse::kScheduledRate || use == SlotUse::kPlateau;
}

runtime::ExecutableOptions executable_options(const Job& first,
                                              const ArrayOptions& options) {
  return {.threads = first.threads(),
          .plan = options.plan,
          .profile = options.profile,
          .spill_dir = first.config().spill_dir,
          .observer = options.observer};
}

// Equal keys are equal programs, but for what their slots begin with.
std::string program_key(const std::vector<const Job*>& kinds,
                        const ArraySpecs& specs, runtime::Backend& backend,
                        const ArrayForm& form) {
  std::string key = fmt::format(
      "{}room {} {} cores {} members {} shared {} together {} plateau {}\n",
      job_signature(*kinds[0]), backend.account().room_bytes(),
      backend.host_account().room_bytes(), backend.info().cores, form.capacity,
      form.shares_batches, form.together,
      std::ranges::any_of(kinds, [](auto* job) { return watches_loss(*job); }));
  for (const auto& [where, program] : specs.steps) {
    key += fmt::format("step {} {}: {}\n", where.first, where.second, program);
  }
  for (const auto& [rows, program] : specs.evals) {
    key += fmt::format("eval {}: {}\n", rows, program);
  }
  return key;
}

std::shared_ptr<const compile::ProgramSet> cached_programs(
    const std::vector<const Job*>& kinds, const ArraySpecs& specs,
    runtime::Backend& backend, const ArrayOptions& options,
    const runtime::ExecutableOptions& executable) {
  auto compile = [&] {
    return runtime::compile_for(kinds[0]->machine().ops(), specs.all, backend,
                                executable);
  };
  if (specs.is_partial) {
    return std::make_shared<const compile::ProgramSet>(compile());
  }
  return options.programs->get(program_key(kinds, specs, backend, options.form),
                               compile);
}

}  // namespace

std::shared_ptr<const compile::ProgramSet> array_programs(
    const std::vector<const Job*>& kinds, runtime::Backend& backend,
    const ArrayOptions& options) {
  ArraySpecs specs = array_specs(kinds, options.form);
  return cached_programs(kinds, specs, backend, options,
                         executable_options(*kinds[0], options));
}

void Array::compile() {
  feeds_.clear();
  rates_.clear();
  programs_.reset();
  active_.clear();
  const Job& first = *kinds_[0];
  size_t num_phases = first.model().phases().size();
  specs_ = array_specs(kinds_, options_.form);
  runtime::ExecutableOptions options = executable_options(first, options_);
  options.set = known_programs(options);
  programs_ = std::make_unique<runtime::Executables>(
      first.machine().ops(), std::exchange(specs_.all, {}), *backend_, options);
  for (size_t i = 0; i < programs_->size(); ++i) {
    bool is_eval = std::ranges::any_of(
        specs_.evals, [&](const auto& eval) { return eval.second == i; });
    const plan::Program& program = programs_->program(i);
    feeds_.push_back(std::make_unique<BatchFeed>(
        first.data(), first.config(), program.graph, capacity(),
        shares_batches() || is_eval, program.num_inputs()));
  }
  if (!former_) are_own_programs_ = !options.set;
  own_slots_.clear();
  if (are_own_programs_) own_slots_.emplace_back();
  for (size_t i = own_slots_.size(); i < kinds_.size(); ++i) {
    own_slots_.push_back(own_slots(*kinds_[i], capacity() > 0));
  }
  make_beginnings();
  losses_.assign(num_phases, std::vector<double>(lanes_.size()));
  for (size_t i = 0; i < num_phases; ++i) {
    const JobNetwork& network =
        first.model().networks()[first.model().phases()[i].network];
    bool is_scheduled =
        network.schedule || (capacity() > 0 && !options_.form.together);
    rates_.push_back(!is_scheduled ? nullptr
                                   : std::make_unique<LearningRates>(
                                         std::vector<passes::Schedule>(
                                             lanes_.size(), constant_rate()),
                                         state(), network.name));
  }
}

// Programs that were compiled before: what it ran on a device like this one, or
// what other arrays run. Null: there are none.
std::shared_ptr<const compile::ProgramSet> Array::known_programs(
    const runtime::ExecutableOptions& options) {
  if (former_) {
    plan::DeviceInfo present = backend_->info();
    present.id = former_device_.id;
    bool fits = present == former_device_ &&
                former_->peak_bytes <= backend_->account().room_bytes() &&
                former_->host_bytes <= backend_->host_account().room_bytes();
    if (fits) return former_;
  }
  if (!options_.programs || is_partial()) return nullptr;
  return cached_programs(kinds_, specs_, *backend_, options_, options);
}

bool Array::is_compiled_for(const Job& job) const {
  if (capacity() == 0) return &job == kinds_[0];
  if (is_partial()) return std::ranges::find(kinds_, &job) != kinds_.end();
  auto has_steps = [&](int64_t rows) {
    return specs_.steps.contains({0, rows});
  };
  auto has_eval = [&](int64_t rows) { return specs_.evals.contains(rows); };
  bool has_plateau = std::ranges::any_of(state().slots(), [](const Slot& slot) {
    return slot.use == SlotUse::kPlateau;
  });
  return std::ranges::all_of(job.step_row_counts(), has_steps) &&
         std::ranges::all_of(job.eval_row_counts(), has_eval) &&
         (has_plateau || !watches_loss(job));
}

// Null for a job that was not known when the array was compiled.
const std::map<std::string, Slot>* Array::slots_of(const Job& job) const {
  auto at = std::ranges::find(kinds_, &job);
  if (at == kinds_.end()) return nullptr;
  return &own_slots_[static_cast<size_t>(at - kinds_.begin())];
}

// visit(slot, content) for all that a member begins with in that lane.
void Array::for_beginnings(size_t lane, const Job& job,
                           const VisitBeginning& visit) {
  const std::map<std::string, Slot>* known = slots_of(job);
  const std::map<std::string, Slot> own =
      known ? std::map<std::string, Slot>{} : own_slots(job, capacity() > 0);
  if (!known) known = &own;
  for (size_t i = 0; i < state().slots().size(); ++i) {
    const Slot& slot = state().slots()[i];
    auto member = static_cast<int64_t>(lane);
    if (!slot.belongs_to(member) || (is_shared(slot) && lane > 0)) continue;
    auto found = known->find(slot.own_name());
    std::optional<Slot> general;
    if (found == known->end()) general = slot.of_member(member);
    const Slot& begins = general ? *general : found->second;
    visit(static_cast<SlotId>(i),
          runtime::initial_content(begins, job.config().seed));
  }
}

// Contents of small members are made ahead: they enter by copies alone.
void Array::make_beginnings() {
  constexpr int64_t kSmall = 1 << 18, kAll = 1 << 26;  // bytes
  ready_.clear();
  int64_t bytes = 0;
  bool differs = is_partial();  // by lane
  for (const Slot& slot : state().slots()) {
    bytes += slot.bytes() / num_lanes();
    differs = differs || !slot.inits.empty();
  }
  if (differs || bytes > kSmall || bytes * std::ssize(kinds_) > kAll) return;
  for (const Job* kind : kinds_) {
    for_beginnings(0, *kind, [&](SlotId slot, std::vector<std::byte> content) {
      bool is_first = is_shared(state().slots()[static_cast<size_t>(slot)]);
      ready_[kind].push_back({slot, is_first, std::move(content)});
    });
  }
}

void Array::write_initial(size_t lane, const Job& job) {
  auto member = static_cast<int64_t>(lane);
  auto ready = ready_.find(&job);
  if (ready == ready_.end()) {
    for_beginnings(lane, job, [&](SlotId slot, std::vector<std::byte> content) {
      state().write_member(slot, member, content);
    });
  } else {
    for (const Beginning& begins : ready->second) {
      if (begins.is_shared && lane > 0) continue;
      state().write_member(begins.slot, member, begins.content);
    }
  }
  job.model().load_files(state(), member);
  active_.clear();  // the mask was written too
}

void Array::set_schedules(size_t lane, const Job& job) {
  for (size_t i = 0; i < rates_.size(); ++i) {
    if (!rates_[i]) continue;
    size_t network = job.model().phases()[i].network;
    rates_[i]->set_schedule(lane,
                            job.schedule(network).value_or(constant_rate()));
  }
}

MemberContent Array::content(MemberId member) const {
  MemberContent content;
  for (size_t i = 0; i < state().slots().size(); ++i) {
    const Slot& slot = state().slots()[i];
    if (!is_of_member(slot) || !slot.belongs_to(lane(member))) continue;
    content[slot.own_name()] =
        state().read_member(static_cast<SlotId>(i), lane(member));
  }
  return content;
}

void Array::check_content(size_t lane, const MemberContent& content) const {
  auto member = static_cast<int64_t>(lane);
  for (const auto& [name, bytes] : content) {
    SlotId id = state().find(name, member);
    SlotUse use = use_of_name(name, Role::kCounter);
    if (id == kNone && is_of_schedule(use)) continue;
    if (id == kNone) fail_usage("[array.add] there is no slot '{}'", name);
    const Slot& slot = state().slots()[static_cast<size_t>(id)];
    int64_t expected = num_elements(slot.shape) * item_bytes(slot.dtype);
    if (static_cast<int64_t>(bytes.size()) == expected) continue;
    fail_usage("[array.add] slot '{}' takes {} bytes, got {}", name, expected,
               bytes.size());
  }
  for (const Slot& slot : state().slots()) {
    bool is_needed = is_of_member(slot) && !is_of_schedule(slot.use) &&
                     slot.belongs_to(member);
    if (!is_needed || content.contains(slot.own_name())) continue;
    fail_usage("[array.add] the content lacks slot '{}'", slot.own_name());
  }
}

void Array::write_content(size_t lane, const MemberContent& content) {
  for (const auto& [name, bytes] : content) {
    auto member = static_cast<int64_t>(lane);
    SlotId id = state().find(name, member);
    if (id == kNone) continue;
    state().write_member(id, member, bytes);
  }
}

}  // namespace braid::train
