// RunContext: what the parts of a run work on together: its members, the array
// that they train in, and how far it has come.
#pragma once

#include <memory>
#include <vector>

#include "braid/io/run/trace.h"
#include "braid/train/array/array.h"
#include "braid/train/run/member_run.h"

namespace braid::train {

using MemberList = std::vector<MemberRun*>;

struct RunContext {
  std::vector<std::unique_ptr<MemberRun>> members = {};  // in order of arrival
  std::unique_ptr<Array> array = {};      // null before it is compiled
  std::unique_ptr<io::Trace> trace = {};  // null: nobody wants one
  int64_t ticks = 0;                      // steps of the array
  // Of the array: how many train at once. 0: a single one, without an axis of
  // members.
  int64_t capacity = 0;

  MemberList with_state(MemberState state) const;
  // Nobody trains, waits or may be asked to go on.
  bool is_over() const;
};

}  // namespace braid::train
