#include "braid/runtime/executor.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "braid/base/bytes.h"
#include "braid/base/error.h"
#include "braid/base/narrow_float.h"
#include "braid/ops/core/foreign.h"
#include "braid/passes/names.h"
#include "braid/plan/call_signature.h"
#include "braid/runtime/call_groups.h"
#include "braid/runtime/elements.h"

namespace braid::runtime {
namespace {

using plan::Instruction;
using plan::Opcode;
using plan::Space;

// Passes over uncaptured kernels before a device records them.
constexpr int64_t kWarmUpPasses = 3;

// The state's slots are charged already.
void check_limit(const plan::Program& program, Backend& backend) {
  int64_t room = backend.account().room_bytes();
  if (program.arena_bytes > room) {
    fail_world("{}",
               plan::limit_report(program, room + program.device_slot_bytes()));
  }
}

// What lies between a tensor's first and last element, and its elements out of
// that, row-major.
int64_t span_bytes(const Tensor& tensor) {
  return span_elements(tensor.shape, tensor.strides) * item_bytes(tensor.dtype);
}

std::vector<std::byte> rows_of(const Tensor& tensor,
                               std::span<const std::byte> span) {
  if (tensor.contiguous()) return {span.begin(), span.end()};
  int64_t item = item_bytes(tensor.dtype);
  std::vector<std::byte> rows(static_cast<size_t>(tensor.bytes()));
  std::byte* to = rows.data();
  visit_elements(tensor, [&](int64_t from) {
    std::memcpy(to, span.data() + from, static_cast<size_t>(item));
    to += item;
  });
  return rows;
}

// Of numbers in bf16, those in f32.
std::vector<std::byte> widened(const std::vector<std::byte>& rows) {
  size_t count = rows.size() / sizeof(uint16_t);
  std::vector<std::byte> wide(count * sizeof(float));
  for (size_t i = 0; i < count; ++i) {
    uint16_t bits = 0;
    std::memcpy(&bits, rows.data() + i * sizeof bits, sizeof bits);
    float value = bf16_value(bits);
    std::memcpy(wide.data() + i * sizeof value, &value, sizeof value);
  }
  return wide;
}

// From here on the device is this program's to compute on.
class ComputeGuard {
 public:
  explicit ComputeGuard(Backend& backend) : backend_(backend) {
    backend.begin_compute();
  }
  ~ComputeGuard() { backend_.end_compute(); }
  ComputeGuard(const ComputeGuard&) = delete;
  ComputeGuard& operator=(const ComputeGuard&) = delete;

 private:
  Backend& backend_;
};

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// A trial runs the op: one that cannot must not keep the machine busy.
void check_measurable(const Node& node, double bytes) {
  if (bytes <= static_cast<double>(machine_bytes())) return;
  fail_world("[plan] '{}'{} works on {}, more than the {} of this machine",
             node.op->name, node.path.empty() ? "" : " at " + node.path,
             bytes_text(static_cast<int64_t>(std::min(bytes, 9e18))),
             bytes_text(machine_bytes()));
}

}  // namespace

int threads_for(const Cost& cost, int max_threads) {
  // Some 100 us of one thread: less is not worth waking others for.
  constexpr double kSmallFlops = 1e7, kSmallBytes = 4e6;
  bool small = cost.flops < kSmallFlops && cost.bytes < kSmallBytes;
  return small ? 1 : max_threads;
}

plan::WorkspaceRule measured_workspace(const OpTable& ops, Backend& backend,
                                       int threads) {
  return [&ops, &backend, threads](const Graph& graph, const Node& node,
                                   bool on_host) {
    Cost cost = ops.cost(graph, node);
    check_measurable(node, cost.bytes);
    int count = threads_for(cost, threads);
    return backend.measure_workspace(graph, node, count, on_host);
  };
}

Arena::Arena(Backend& backend, int64_t on_device, int64_t on_host)
    : device(backend, Memory::Where::kDevice, on_device, "arena of the step"),
      host(backend, Memory::Where::kHost, on_host, "host arena of the step"),
      device_bytes(on_device),
      host_bytes(on_host) {}

Executor::Executor(const OpTable& ops, const plan::Program& program,
                   State& state, Backend& backend, ExecutorOptions options)
    : program_(program),
      state_(state),
      backend_(backend),
      options_(std::move(options)),
      reserve_({&backend.account(), &backend.host_account()}),
      host_reserve_({&backend.host_account()}) {
  arena_ = options_.arena;
  if (!arena_) {
    check_limit(program, backend);
    arena_ = std::make_shared<Arena>(backend, program.arena_bytes,
                                     program.host_arena_bytes);
  }
  if (arena_->device_bytes < program.arena_bytes ||
      arena_->host_bytes < program.host_arena_bytes) {
    fail_usage("[executor] an arena of {} is too small for {}",
               bytes_text(arena_->device_bytes),
               bytes_text(program.arena_bytes));
  }
  bind_slots();
  prepare_calls(ops);
  events_ = backend.make_events(program.num_events);
  make_loss_ring();
  // Nobody knows whether an operator of libtorch's may be recorded.
  for (const Node& node : program.graph.nodes()) {
    if (is_foreign(node) || node.op->reads_on_host) options_.capture = false;
  }
}

void Executor::bind_slots() {
  for (size_t i = 0; i < program_.graph.slots().size(); ++i) {
    const Slot& slot = program_.graph.slots()[i];
    SlotId found = state_.find(slot.name);
    if (found == kNone) {
      fail_usage("[executor] the state has no slot '{}'", slot.name);
    }
    const Slot& there = state_.slots()[static_cast<size_t>(found)];
    plan::SlotStorage where = program_.slots[i];
    bool fits = there.dtype == slot.dtype &&
                there.stored_shape() == slot.stored_shape() &&
                (!where.device || state_.device(found) || !slot.bytes()) &&
                (!where.host || state_.host(found) || !slot.bytes()) &&
                (!where.disk || state_.is_in_file(found));
    if (!fits) {
      fail_usage("[executor] the state's slot '{}' is another one", slot.name);
    }
    slots_.push_back(found);
  }
}

Executor::~Executor() { backend_.synchronize(); }

std::byte* Executor::address(int32_t allocation) const {
  const plan::Allocation& a = program_.allocation(allocation);
  switch (a.space) {
    case Space::kArena: return arena_->device.data() + a.offset;
    case Space::kHostArena: return arena_->host.data() + a.offset;
    case Space::kDeviceSlot:
      return state_.device(slots_[static_cast<size_t>(a.slot)]);
    case Space::kHostSlot:
      return state_.host(slots_[static_cast<size_t>(a.slot)]);
    case Space::kDiskSlot: break;
  }
  fail_defect("[executor] nothing lies in the space '{}' here",
              plan::facts(a.space).name);
}

Tensor Executor::operand(ValueId id, int32_t allocation) const {
  if (allocation == kNone) return {};
  const Value& value = program_.graph.value(id);
  return {address(allocation) + value.offset * item_bytes(value.type.dtype),
          value.type.dtype, value.type.shape, value.strides};
}

void Executor::prepare_calls(const OpTable& ops) {
  std::vector<bool> on_host(program_.calls.size(), false);
  for (const Instruction& i : program_.instructions) {
    bool is_host = i.stream == plan::Stream::kHostUpdate && i.call != kNone;
    if (is_host) on_host[static_cast<size_t>(i.call)] = true;
  }
  std::vector<Call> calls;
  for (size_t i = 0; i < program_.calls.size(); ++i) {
    const plan::PlannedCall& bound = program_.calls[i];
    auto workspace = std::make_unique<Workspace>();
    workspace->reserve = on_host[i] ? &host_reserve_ : &reserve_;
    if (bound.workspace != kNone) {
      workspace->data = address(bound.workspace);
      workspace->bytes = program_.allocation(bound.workspace).bytes;
    }
    calls.push_back(bound_call(static_cast<int32_t>(i), *workspace));
    const Call& call = calls.back();
    Cost cost = ops.cost(program_.graph, *call.node);
    calls_.push_back(
        {on_host[i] ? backend_.prepare_host(call) : backend_.prepare(call),
         threads_for(cost, options_.threads)});
    workspaces_.push_back(std::move(workspace));
  }
  group_calls(calls);
}

Call Executor::bound_call(int32_t number, Workspace& workspace) const {
  const plan::PlannedCall& bound = program_.calls[static_cast<size_t>(number)];
  const Node& node = program_.graph.node(bound.node);
  Call call{
      .node = &node, .inputs = {}, .outputs = {}, .workspace = &workspace};
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    call.inputs.push_back(operand(node.inputs[k], bound.inputs[k]));
  }
  for (size_t k = 0; k < node.outputs.size(); ++k) {
    call.outputs.push_back(operand(node.outputs[k], bound.outputs[k]));
  }
  if (node.slot != kNone) {
    const Slot& slot = program_.graph.slot(node.slot);
    Shape shape = slot.stored_shape();
    call.outputs.push_back({address(bound.outputs.back()), slot.dtype, shape,
                            contiguous_strides(shape)});
  }
  return call;
}

void Executor::group_calls(const std::vector<Call>& calls) {
  for (const CallGroup& group : call_groups(program_, calls)) {
    std::vector<Call> of_group;
    for (int32_t number : group) {
      of_group.push_back(calls[static_cast<size_t>(number)]);
    }
    Thunk as_one = backend_.prepare_group(of_group);
    if (!as_one) continue;
    for (int32_t number : group) {
      calls_[static_cast<size_t>(number)].is_in_group = true;
    }
    calls_[static_cast<size_t>(group[0])].run_group = std::move(as_one);
  }
}

void Executor::step(const Feed& feed) {
  ComputeGuard turn(backend_);
  ++num_steps_;
  auto end = static_cast<int32_t>(program_.instructions.size());
  bool single = program_.is_one_part();
  try {
    for (int64_t pass = 0; pass < program_.num_passes(); ++pass) {
      write_inputs(feed, pass);
      play_or_replay(0, single ? end : program_.update_begin, recorded_micro_);
      put_losses(pass);
    }
    if (!single) play_or_replay(program_.update_begin, end, recorded_update_);
  } catch (...) {
    backend_.synchronize();
    --num_steps_;
    throw;
  }
  ++passes_;
}

void Executor::begin_step(Feed feed) {
  if (is_stepping()) fail_usage("[executor] a step is under way");
  ++num_steps_;
  feed_ = std::move(feed);
  auto all = std::ssize(program_.units);
  micro_units_ = program_.is_one_part()
                     ? all
                     : static_cast<int64_t>(program_.num_micro_units());
  at_ = 0;
  num_units_ = program_.num_passes() * micro_units_ + (all - micro_units_);
}

// Units of the micro part come again for every micro-batch.
void Executor::run_unit() {
  if (!is_stepping()) fail_usage("[executor] no step is under way");
  int64_t all_micro = program_.num_passes() * micro_units_;
  bool in_micro = at_ < all_micro;
  ComputeGuard turn(backend_);
  int64_t number =
      in_micro ? at_ % micro_units_ : micro_units_ + at_ - all_micro;
  const plan::Unit& unit = program_.units[static_cast<size_t>(number)];
  try {
    bool begins_micro = in_micro && number == 0;
    if (begins_micro) write_inputs(feed_, at_ / micro_units_);
    if (begins_micro || at_ == all_micro) backend_.begin_pass(*events_);
    play(unit.begin, unit.end);
    if (in_micro && number + 1 == micro_units_) put_losses(at_ / micro_units_);
  } catch (...) {
    backend_.synchronize();
    at_ = num_units_ = 0;
    --num_steps_;
    throw;
  }
  ++at_;
  if (is_stepping()) return;
  feed_ = {};
  ++passes_;
}

// The loop: what the Simulator walks through with a clock.
void Executor::play(int32_t begin, int32_t end) {
  CallSettings settings;
  present_threads_ = 0;  // others may have set them meanwhile
  auto unit =
      std::ranges::upper_bound(program_.units, begin, {}, &plan::Unit::begin);
  for (int32_t at = begin; at < end; ++at) {
    if (unit != program_.units.end() && at == unit->begin) {
      backend_.offer_compute();
      ++unit;
    }
    const Instruction& i = program_.instructions[static_cast<size_t>(at)];
    play_instruction(i);
    if (seconds_ && i.stream != plan::Stream::kCompute) backend_.synchronize();
  }
}

void Executor::play_instruction(const Instruction& i) {
  Issue issue{*events_, i.event, i.waits};
  switch (i.opcode) {
    case Opcode::kRun:
      if (i.stream == plan::Stream::kCompute) return run_call(i.call);
      return run_on_host(i.call, issue);
    case Opcode::kCopy:
      return backend_.copy(i.stream, address(i.target), address(i.source),
                           program_.allocation(i.source).bytes, issue);
    case Opcode::kWait:
      for (int32_t event : i.waits) backend_.wait(*events_, event);
      return;
    case Opcode::kDiskRead:
    case Opcode::kDiskWrite: return use_file(i, issue);
    case Opcode::kCollective: break;
  }
  fail_defect("[executor] this device has no '{}'", opcode_name(i.opcode));
}

void Executor::use_file(const Instruction& i, const Issue& issue) {
  bool reads = i.opcode == Opcode::kDiskRead;
  const plan::Allocation& in_file =
      program_.allocation(reads ? i.source : i.target);
  SlotId slot = slots_[static_cast<size_t>(in_file.slot)];
  std::byte* on_host = address(reads ? i.target : i.source);
  backend_.disk_run(
      [&state = state_, slot, on_host, reads] {
        reads ? state.read_file(slot, on_host)
              : state.write_file(slot, on_host);
      },
      issue);
}

void Executor::run_on_host(int32_t number, const Issue& issue) {
  const Prepared& call = calls_[static_cast<size_t>(number)];
  if (tap_) {
    for (int32_t event : issue.waits) backend_.wait(*events_, event);
    call_taps(number);
  }
  double* seconds = seconds_at(number);
  backend_.host_run(
      [&call, seconds] {
        CallSettings for_update;
        set_call_threads(call.threads);
        auto begin = Clock::now();
        call.run();
        if (seconds) *seconds += seconds_since(begin);
      },
      issue);
}

void Executor::run_call(int32_t number) {
  const Prepared& call = calls_[static_cast<size_t>(number)];
  backend_.before_call(call.threads);
  // Who looks at single calls gets single calls.
  if (call.is_in_group && !tap_ && !seconds_) {
    if (call.run_group) call.run_group();
    return;
  }
  if (call.threads != present_threads_) {
    set_call_threads(present_threads_ = call.threads);
  }
  if (tap_) call_taps(number);
  if (!seconds_) return call.run();
  auto begin = Clock::now();
  call.run();
  backend_.finish_calls();
  *seconds_at(number) += seconds_since(begin);
}

double* Executor::seconds_at(int32_t call) const {
  return seconds_ ? &(*seconds_)[static_cast<size_t>(call)] : nullptr;
}

std::vector<ScratchMistake> Executor::scratch_mistakes() const {
  backend_.synchronize();
  std::vector<ScratchMistake> mistakes;
  for (size_t i = 0; i < calls_.size(); ++i) {
    const Workspace& workspace = *workspaces_[i];
    if (workspace.needed_bytes <= workspace.bytes) continue;
    const Node& node = program_.graph.node(program_.calls[i].node);
    mistakes.push_back(
        {.call = node.op->name + (node.path.empty() ? "" : " at " + node.path),
         .signature =
             plan::call_signature(program_.graph, node, calls_[i].threads),
         .on_host = workspace.reserve == &host_reserve_,
         .planned_bytes = workspace.bytes,
         .needed_bytes = workspace.needed_bytes});
  }
  return mistakes;
}

void Executor::time_calls(std::vector<double>* seconds) {
  backend_.synchronize();  // calls on the host may write to the former
  if (seconds) seconds->resize(program_.calls.size());
  seconds_ = seconds;
}

void Executor::play_or_replay(int32_t begin, int32_t end, Thunk& recorded) {
  bool plain = !tap_ && !seconds_;
  bool may_record = options_.capture && plain && passes_ >= kWarmUpPasses;
  if (recorded && plain) return recorded();
  if (may_record && !recorded) {
    recorded = backend_.capture([&] { play_pass(begin, end); });
    if (recorded) return recorded();
    options_.capture = false;  // this device records nothing
  }
  play_pass(begin, end);
}

void Executor::play_pass(int32_t begin, int32_t end) {
  backend_.begin_pass(*events_);
  play(begin, end);
}

void Executor::write_inputs(const Feed& feed, int64_t pass) {
  int64_t count = program_.micro_per_pass();
  for (int64_t i = 0; i < count; ++i) write_micro(feed, pass * count + i);
}

// Those of one micro-batch. Inputs go by the names of the first group.
void Executor::write_micro(const Feed& feed, int64_t micro) {
  const std::vector<ValueId>& inputs = program_.graph.inputs();
  size_t first = program_.first_input(micro);
  for (size_t i = 0; i < program_.num_inputs(); ++i) {
    const Value& value = program_.graph.value(inputs[i]);
    std::byte* to = address(program_.inputs[first + i]);
    if (value.name == passes::kMicroInput) {
      backend_.write(to, reinterpret_cast<const std::byte*>(&micro),
                     sizeof micro);
      continue;
    }
    int64_t bytes =
        num_elements(value.type.shape) * item_bytes(value.type.dtype);
    backend_.write(to, feed(micro, inputs[i]), bytes);
  }
}

std::vector<std::byte> Executor::output(const std::string& name) const {
  return read_rows(output_at(name));
}

Tensor Executor::output_at(const std::string& name) const {
  const auto& outputs = program_.graph.outputs();
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].name != name) continue;
    return operand(outputs[i].value, program_.outputs[i]);
  }
  fail_usage("[executor] there is no output '{}'", name);
}

void Executor::make_loss_ring() {
  if (program_.graph.find_output("loss") == kNone) return;
  int64_t count = program_.micro_per_pass();
  for (int64_t i = 0; i < count; ++i) {
    bool is_last = i + 1 == count;
    losses_.push_back(output_at(is_last ? "loss" : plan::loss_output(i)));
  }
  loss_ring_ = backend_.make_ring((kMostLag + 1) * program_.micro_batches,
                                  span_bytes(losses_[0]));
}

int64_t Executor::loss_entry(int64_t step, int64_t micro) const {
  return step % (kMostLag + 1) * program_.micro_batches + micro;
}

void Executor::put_losses(int64_t pass) {
  if (!loss_ring_) return;
  int64_t first = pass * program_.micro_per_pass();
  for (size_t i = 0; i < losses_.size(); ++i) {
    int64_t micro = first + static_cast<int64_t>(i);
    loss_ring_->put(loss_entry(num_steps_, micro), losses_[i].data);
  }
}

std::vector<double> Executor::losses(int64_t step) const {
  if (!loss_ring_ || num_steps_ == 0) return {};
  if (step < 1 || step > num_steps_ || num_steps_ - step > kMostLag) {
    fail_usage("[executor] the losses of step {} of {} are not known", step,
               num_steps_);
  }
  const Tensor& loss = losses_[0];  // the others are like it
  std::vector<double> sums(static_cast<size_t>(loss.numel()));
  for (int64_t micro = 0; micro < program_.micro_batches; ++micro) {
    std::vector<std::byte> rows =
        rows_of(loss, loss_ring_->get(loss_entry(step, micro)));
    for (size_t i = 0; i < sums.size(); ++i) {
      auto at = static_cast<int64_t>(i) * item_bytes(loss.dtype);
      sums[i] += number_at(rows.data() + at, loss.dtype) /
                 static_cast<double>(program_.micro_batches);
    }
  }
  return sums;
}

void Executor::call_taps(int32_t call) {
  for (const auto& gradient : program_.gradients) {
    if (gradient.call != call) continue;
    std::vector<std::byte> rows =
        read_rows(operand(gradient.value, gradient.allocation));
    bool is_narrow =
        program_.graph.value(gradient.value).type.dtype == DType::kBFloat16;
    bool widens = is_narrow && program_.graph.slot(gradient.parameter).dtype ==
                                   DType::kFloat32;
    tap_(slots_[static_cast<size_t>(gradient.parameter)],
         widens ? widened(rows) : rows);
  }
}

// A device tensor's elements on the host, row-major.
std::vector<std::byte> Executor::read_rows(const Tensor& tensor) const {
  std::vector<std::byte> raw(static_cast<size_t>(span_bytes(tensor)));
  backend_.read(raw.data(), tensor.data, span_bytes(tensor));
  return rows_of(tensor, raw);
}

}  // namespace braid::runtime
