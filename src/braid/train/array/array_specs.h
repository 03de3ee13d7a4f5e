// Which programs an array of jobs has, or a job alone: the one answer, for
// training, costs, validation and inspection.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "braid/compile/step_spec.h"
#include "braid/train/job/job.h"

namespace braid::train {

// What jobs that train as one look like.
struct ArrayForm {
  int64_t capacity = 0;         // members; 0: one model without that axis
  bool shares_batches = false;  // all members train on the same batches
  // None pauses, or leaves before the others: programs have no mask, and rates
  // are slots of their own only where members have schedules.
  bool together = false;
};

struct ArraySpecs {
  std::vector<compile::StepSpec> all;
  // Where they stand in the list.
  std::map<std::pair<size_t, int64_t>, size_t> steps;  // by phase and rows
  std::map<int64_t, size_t> evals;                     // by rows
  bool is_partial = false;  // members differ in some layers
};

// Jobs that differ in layers have as many members as there are jobs; throws
// for another capacity. Of jobs that are alike, any number may be members.
ArraySpecs array_specs(const std::vector<const Job*>& jobs,
                       const ArrayForm& form);

// Whether jobs have the same graphs; others are members of a partial array.
bool are_alike(const std::vector<const Job*>& jobs);

// Whether one of the job's schedules looks at the loss.
bool watches_loss(const Job& job);

// Slots of the job's steps as it has them alone, by name, where its numbers
// tell how they begin. Others begin as in any job of its kind. `in_array`: its
// rates are written for every step.
std::map<std::string, Slot> own_slots(const Job& job, bool in_array);

}  // namespace braid::train
