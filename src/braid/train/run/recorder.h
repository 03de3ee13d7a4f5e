// Recorder: all that a run keeps outside its process and goes on from. Whatever
// a run writes goes through one of these, so that a process which shares a run
// with another that writes has only to leave it out.
#pragma once

#include <filesystem>
#include <memory>

#include "braid/train/run/reporter.h"
#include "braid/train/run/run_context.h"

namespace braid::train {

// One thread. Calls come in the order of this list, but for restore(), which
// comes before create() for those that train first; those from restore() on
// come again and again.
class Recorder {
 public:
  virtual ~Recorder() = default;

  // Takes the locks of what exists.
  virtual void lock(RunContext&) {}
  // Before anything is compiled: gives members the records, states and lanes
  // that they had. Changes nothing outside.
  virtual void read(RunContext&, const Reporter&) {}
  // The records that were read fit the jobs: completes what a killed process
  // left, and deletes what is not needed any more.
  virtual void tidy(RunContext&) {}
  // Everything else is known to work: makes what is new.
  virtual void create(RunContext&) {}
  // Writes the content of a member that goes on into its lane.
  virtual void restore(MemberRun& member, Array& array) = 0;
  // It begins to train: makes what create() did not know of.
  virtual void open(MemberRun&) {}
  // A loss of a step, in order of steps.
  virtual void add_loss(const MemberRun&, size_t /*phase*/, int64_t /*step*/,
                        double /*loss*/) {}
  // Keeps the present state of those members, and maybe that of others.
  virtual void save(RunContext&, const Reporter&, const MemberList& due) = 0;
  // A member that was just saved gives its lane up and may go on later.
  virtual void pause(MemberRun& member, Array& array) = 0;
  // Blocks until all that was saved is on the disk.
  virtual void finish() {}
};

// Of a run without files: only those that pause are kept, in memory.
std::unique_ptr<Recorder> record_nothing();

// Of one job, in the folder of its run. `create`: the folder is made.
std::unique_ptr<Recorder> record_job(bool create);

// Of several: one checkpoint of all in `out`, from which those of the members'
// own folders are made.
std::unique_ptr<Recorder> record_array(std::filesystem::path out);

// Goes on from what another one keeps, and keeps nothing itself: for a process
// that shares a run with the one that writes.
std::unique_ptr<Recorder> only_read(std::unique_ptr<Recorder> other);

}  // namespace braid::train
