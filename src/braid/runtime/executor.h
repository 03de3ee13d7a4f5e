// Executor: runs a Program on a State. All operands are bound to addresses
// and all kernels prepared when it is made; a step is then a loop.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "braid/ops/core/op.h"
#include "braid/plan/compile.h"
#include "braid/plan/program.h"
#include "braid/runtime/scratch_reserve.h"
#include "braid/runtime/state.h"

namespace braid::runtime {

// Threads for a call of this cost: a function of its shapes alone.
int threads_for(const Cost& cost, int max_threads);

// Measures scratch on the backend, for plan::compile. Borrows all three.
plan::WorkspaceRule measured_workspace(const OpTable& ops, Backend& backend,
                                       int threads);

// Memory that the values of steps lie in. Executors that never run at the
// same time may share one.
struct Arena {
  Arena(Backend& backend, int64_t device_bytes, int64_t host_bytes);

  Memory device, host;
  int64_t device_bytes = 0, host_bytes = 0;
};

// A call whose scratch was measured too small, with other numbers.
struct ScratchMistake {
  std::string call;       // in words: "linear at blocks.0.fc1"
  std::string signature;  // plan::call_signature()
  bool on_host = false;   // an update there
  int64_t planned_bytes = 0, needed_bytes = 0;
};

struct ExecutorOptions {
  int threads = 1;      // most threads that one call may use
  bool capture = true;  // replay a recorded graph where the device can
  std::shared_ptr<Arena> arena = {};  // null: one of its own
};

// Losses of so many steps before the last can still be had.
inline constexpr int64_t kMostLag = 7;

class Executor {
 public:
  // Borrows everything. The state has the program's slots under their names,
  // and maybe others. Throws the report of plan::limit_report when the arena
  // does not fit; nothing is changed then.
  Executor(const OpTable& ops, const plan::Program& program, State& state,
           Backend& backend, ExecutorOptions options = {});
  ~Executor();
  Executor(const Executor&) = delete;
  Executor& operator=(const Executor&) = delete;

  // Inputs of micro-batch `micro` of the next step, row-major, in the order
  // of the graph's inputs without /micro; they may change after the next call.
  using Feed = std::function<const std::byte*(int64_t micro, ValueId input)>;

  // Issues one training step: every micro-batch, then the update. The device
  // may be busy with it when this returns; whatever reads results waits for
  // them. When it throws, slots keep what they held before the update part.
  void step(const Feed& feed);
  int64_t num_steps() const { return num_steps_; }  // issued so far

  // The same unit by unit, so that other programs may run in between, on other
  // arenas of the same device. The feed stays until the step is done.
  void begin_step(Feed feed);
  // Runs the next unit; throws when no step is under way.
  void run_unit();
  bool is_stepping() const { return at_ < num_units_; }

  // An output after the last micro-batch.
  std::vector<std::byte> output(const std::string& name) const;
  // The output "loss" of a step, the mean over its micro-batches; [B] in an
  // array, empty without such an output. Steps count from 1; that one is not
  // more than kMostLag before the last.
  std::vector<double> losses(int64_t step) const;
  std::vector<double> losses() const { return losses(num_steps_); }

  // Called in the next steps with each parameter (a slot of the state) and its
  // gradient, in the parameter's type and row-major on the host, right before
  // its update.
  using GradientTap =
      std::function<void(SlotId parameter, std::span<const std::byte>)>;
  void tap_gradients(GradientTap tap) { tap_ = std::move(tap); }

  // Adds the seconds of each call, by number, to `seconds` in the next steps,
  // in which nothing runs beside anything else; null stops it, and then the
  // numbers are complete.
  void time_calls(std::vector<double>* seconds);

  // Whether calls took more scratch than was planned for them, which the
  // accounts were charged for meanwhile; and which these are, once all that was
  // issued is done.
  bool took_more_scratch() const {
    return reserve_.was_used() || host_reserve_.was_used();
  }
  std::vector<ScratchMistake> scratch_mistakes() const;

  const plan::Program& program() const { return program_; }

 private:
  struct Prepared {
    Thunk run;
    int threads = 1;
    bool is_in_group = false;
    Thunk run_group = {};  // of the first: does what all of the group do
  };

  void bind_slots();
  std::byte* address(int32_t allocation) const;
  Tensor operand(ValueId value, int32_t allocation) const;
  Tensor output_at(const std::string& name) const;
  void prepare_calls(const OpTable& ops);
  Call bound_call(int32_t number, Workspace& workspace) const;
  void group_calls(const std::vector<Call>& calls);
  void play_pass(int32_t begin, int32_t end);
  void play(int32_t begin, int32_t end);
  void play_instruction(const plan::Instruction& instruction);
  void play_or_replay(int32_t begin, int32_t end, Thunk& recorded);
  void write_inputs(const Feed& feed, int64_t pass);
  void write_micro(const Feed& feed, int64_t micro);
  void make_loss_ring();
  int64_t loss_entry(int64_t step, int64_t micro) const;
  void put_losses(int64_t pass);
  void run_call(int32_t call);
  double* seconds_at(int32_t call) const;  // null when nobody asks
  void run_on_host(int32_t call, const Issue& issue);
  void use_file(const plan::Instruction& instruction, const Issue& issue);
  void call_taps(int32_t call);
  std::vector<std::byte> read_rows(const Tensor& tensor) const;

  const plan::Program& program_;
  State& state_;
  Backend& backend_;
  ExecutorOptions options_;
  std::shared_ptr<Arena> arena_;
  std::vector<SlotId> slots_;  // of the state, by slot of the program
  ScratchReserve reserve_, host_reserve_;               // of calls there
  std::vector<std::unique_ptr<Workspace>> workspaces_;  // by call
  std::vector<Prepared> calls_;
  std::unique_ptr<EventSet> events_;
  Feed feed_;  // of the step under way
  // Its units: done, and in all; those of one micro-batch.
  int64_t at_ = 0, num_units_ = 0, micro_units_ = 0;
  std::vector<Tensor> losses_;             // of each micro-batch of a pass
  std::unique_ptr<ResultRing> loss_ring_;  // null without losses
  int64_t num_steps_ = 0;
  GradientTap tap_;
  std::vector<double>* seconds_ = nullptr;
  int present_threads_ = 0;
  int64_t passes_ = 0;
  Thunk recorded_micro_, recorded_update_;
};

}  // namespace braid::runtime
