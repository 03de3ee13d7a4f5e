// Array: jobs of one kind that train as one, each as if it were alone.
//
// It has lanes for a number of members. Members enter and leave between any
// two steps, and nothing is compiled for that; another number of lanes is
// compiled anew. A lane without a member, and a member that has no turn,
// stay as they are and change nothing for the others.
//
// An array of no lanes at all is a single model without an axis of members,
// which has exactly one member.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "braid/compile/program_cache.h"
#include "braid/runtime/executables.h"
#include "braid/train/array/array_specs.h"
#include "braid/train/array/batch_feed.h"
#include "braid/train/array/learning_rates.h"

namespace braid::train {

// Of one array, in the order of entering; never used twice.
using MemberId = int64_t;

// What of a member outlives a step, by slot, as a checkpoint keeps it.
using MemberContent = std::map<std::string, std::vector<std::byte>>;

struct ArrayOptions {
  ArrayForm form = {};
  compile::PlanRequest plan = {};       // that its programs follow
  plan::Profile profile = {};           // seconds that lowerings go by
  compile::PassObserver observer = {};  // of its compilation
  // Of programs that arrays of equal jobs share; borrowed. Null: each compiles
  // its own.
  compile::ProgramCache* programs = nullptr;
};

// One thread. Borrows the backend and all jobs that it was ever given, which
// outlive it.
class Array {
 public:
  // Compiles what these jobs need, which may become members later. They agree
  // in everything but numbers (see job_signature.h); or they differ in some
  // layers (see passes/array/partial.h): then there is a lane for each of
  // them, which only that job can have. Throws when they do not fit the
  // device's limit.
  Array(std::vector<const Job*> kinds, runtime::Backend& backend,
        ArrayOptions options);
  Array(const Array&) = delete;
  Array& operator=(const Array&) = delete;

  int64_t capacity() const { return options_.form.capacity; }
  bool shares_batches() const { return options_.form.shares_batches; }
  bool is_partial() const {
    return specs_.is_partial;
  }  // members differ in layers
  int64_t num_lanes() const { return static_cast<int64_t>(lanes_.size()); }
  int64_t size() const;                   // members that there are
  std::vector<MemberId> members() const;  // by lane
  bool has(MemberId member) const;
  const Job& job(MemberId member) const { return *lanes_[at(member)].job; }
  int64_t lane(MemberId member) const;  // throws for one that is not here

  // A member that begins as its job says, or goes on from a content. Throws
  // when there is no free lane or the content is of another kind; then
  // nothing has changed.
  MemberId add(const Job& job);
  MemberId add(const Job& job, int64_t lane);        // which must be free
  bool is_free(int64_t lane, const Job& job) const;  // for that job
  MemberId add(const Job& job, const MemberContent& content);
  // Its lane is free; its content is lost.
  void drop(MemberId member);
  // The new one takes the old one's lane.
  MemberId replace(MemberId member, const Job& job);
  // A copy; blocks while it comes from the device.
  MemberContent content(MemberId member) const;
  // What add() would have given it. Throws as that does.
  void restore(MemberId member, const MemberContent& content);

  // Other numbers of lanes, from the number of members on; where members
  // differ, exactly that many. Blocks while it compiles. When that fails
  // everything is as before.
  void resize(int64_t capacity);
  void compact() { resize(size()); }
  // Leaves the device: its memory there is given back, and what members hold is
  // on the host until it goes on, there or on another device of its kind with
  // as many cores. In between nothing else may be called. resume() throws when
  // it does not fit, and may be called again.
  void suspend();
  void resume(runtime::Backend& backend);
  bool is_suspended() const { return !programs_; }
  // Where calls took more scratch than was planned for them: compiles anew with
  // what they took. Blocks as resize(). When that does not fit the limits all
  // is as before.
  bool took_more_scratch() const;
  struct PlanReview {
    std::vector<runtime::ScratchMistake> mistakes;
    bool fits = false;
  };
  PlanReview plan_again();
  // From now on each member has batches of its own. Blocks as resize().
  void part_batches();

  // Whose turn it is, and how many steps that member has done.
  struct Turn {
    MemberId member = 0;
    int64_t step = 0;
  };
  // Issues one step of a phase. Batches are by lane (the only one where they
  // are shared), and those of all turns have the same number of rows; they may
  // change once it returns. Does not wait for the device, unless a schedule
  // must see the losses before the next step.
  void step(size_t phase, std::span<const Turn> turns,
            const std::vector<data::Batch>& batches);

  // See runtime::Executor; of all phases, in the next steps. A slot of all
  // members has their gradients one after the other. Empty: nobody looks.
  void tap_gradients(const runtime::Executor::GradientTap& tap);

  struct StepLoss {
    size_t phase = 0;
    MemberId member = 0;
    int64_t step = 0;  // steps that the member had done before
    double loss = 0;
  };
  // Losses of steps since the last call, in their order. Waits for all steps
  // but the newest `lag`, whose losses come with a later call. Where nobody
  // takes them only the newest are kept.
  std::vector<StepLoss> take_losses(int64_t lag = 0);
  // Of a member's last step in that phase; waits for it.
  double loss(size_t phase, MemberId member);
  double rate(size_t phase, MemberId member) const;

  // Runs the evaluation of all members on a batch. Its outputs are by lane.
  const runtime::Executor& evaluate(const data::Batch& batch);
  // Averaged weights take the place of the others where there are some; the
  // second call brings them back.
  void swap_averages();

  int64_t used_bytes() const { return backend_->account().used_bytes(); }
  int64_t peak_bytes() const { return backend_->account().peak_bytes(); }
  runtime::Executables& programs() { return *programs_; }
  runtime::State& state() { return programs_->state(); }
  const runtime::State& state() const { return programs_->state(); }

 private:
  struct Lane {
    MemberId member = kNoMember;
    const Job* job = nullptr;
  };
  static constexpr MemberId kNoMember = -1;

  size_t at(MemberId member) const;
  size_t lane_for(const Job& job) const;
  void admit(const Job& job);
  void occupy(size_t lane, const Job& job);
  void compile();
  std::shared_ptr<const compile::ProgramSet> known_programs(
      const runtime::ExecutableOptions& options);
  // What members hold, to be put into other lanes or programs.
  struct Content {
    std::vector<Lane> members;
    std::vector<MemberContent> contents;
  };
  Content take_content();
  void fill(const Content& content);
  // `undo` comes before all is made as it was.
  void rebuild(int64_t capacity, const std::vector<const Job*>& kinds,
               const std::function<void()>& undo = {});
  bool is_compiled_for(const Job& job) const;
  const std::map<std::string, Slot>* slots_of(const Job& job) const;
  using VisitBeginning =
      std::function<void(SlotId slot, std::vector<std::byte> content)>;
  void for_beginnings(size_t lane, const Job& job, const VisitBeginning& visit);
  void make_beginnings();
  void write_initial(size_t lane, const Job& job);
  void check_content(size_t lane, const MemberContent& content) const;
  void write_content(size_t lane, const MemberContent& content);
  void set_schedules(size_t lane, const Job& job);
  void activate(const std::vector<bool>& steps);
  void settle(int64_t lag);

  runtime::Backend* backend_;
  ArrayOptions options_;
  std::vector<const Job*> kinds_;
  // Slots as each kind alone has them; empty for the first where the programs
  // were made for it.
  bool are_own_programs_ = true;
  std::vector<std::map<std::string, Slot>> own_slots_;
  // What members of small models begin with, by kind.
  struct Beginning {
    SlotId slot;
    bool is_shared;  // by all members, the first of which brings it
    std::vector<std::byte> content;
  };
  std::map<const Job*, std::vector<Beginning>> ready_;
  std::vector<Lane> lanes_;
  MemberId next_id_ = 0;
  ArraySpecs specs_;  // of the programs; without their graphs
  std::unique_ptr<runtime::Executables> programs_;
  // While it is suspended; and what it ran, for devices like that.
  Content content_;
  std::shared_ptr<const compile::ProgramSet> former_;
  plan::DeviceInfo former_device_;
  std::vector<std::unique_ptr<BatchFeed>> feeds_;      // by program
  std::vector<std::unique_ptr<LearningRates>> rates_;  // by phase; may be null
  // Steps whose losses were not looked at yet, and losses that nobody took.
  struct Issued {
    size_t program = 0, phase = 0;
    int64_t number = 0;                               // of the program's steps
    std::vector<std::pair<size_t, Turn>> turns = {};  // by lane
  };
  std::deque<Issued> issued_;
  std::vector<StepLoss> settled_;
  std::vector<std::vector<double>> losses_;  // the last by phase, then lane
  std::vector<bool> active_;                 // what the mask holds, by lane
};

// The programs that an array of these jobs would have on the backend; from
// options.programs, which must not be null.
std::shared_ptr<const compile::ProgramSet> array_programs(
    const std::vector<const Job*>& kinds, runtime::Backend& backend,
    const ArrayOptions& options);

// Whether a slot is part of a member's content.
bool is_of_member(const Slot& slot);

}  // namespace braid::train
