#include "braid/train/array/array_specs.h"

#include <algorithm>
#include <functional>
#include <set>

#include "braid/base/error.h"
#include "braid/graph/signature.h"
#include "braid/train/job/job_signature.h"

namespace braid::train {
namespace {

using SpecOf = std::function<compile::StepSpec(const Job&)>;

class SpecBuilder {
 public:
  SpecBuilder(const std::vector<const Job*>& jobs, const ArrayForm& form)
      : jobs_(jobs), form_(form) {
    specs_.is_partial = form.capacity > 0 && !are_alike(jobs);
    if (specs_.is_partial && form.capacity != std::ssize(jobs)) {
      fail_usage("[array] {} jobs that differ need {} lanes, got {}",
                 jobs.size(), jobs.size(), form.capacity);
    }
  }

  ArraySpecs build() {
    for (const Job* job : jobs_) {
      for (int64_t rows : job->step_row_counts()) add_steps(rows);
    }
    for (const Job* job : jobs_) {
      for (int64_t rows : job->eval_row_counts()) add_eval(rows);
    }
    return std::move(specs_);
  }

 private:
  void add_steps(int64_t rows) {
    if (specs_.steps.contains({0, rows})) return;
    for (size_t i = 0; i < jobs_[0]->model().phases().size(); ++i) {
      specs_.steps[{i, rows}] = specs_.all.size();
      add([&](const Job& job) { return job.step_spec(i, rows); });
    }
  }

  void add_eval(int64_t rows) {
    if (!specs_.evals.emplace(rows, specs_.all.size()).second) return;
    add([&](const Job& job) { return job.eval_spec(rows); });
  }

  // One program for all members.
  void add(const SpecOf& spec_of) {
    compile::StepSpec spec = spec_of(*jobs_[0]);
    if (form_.capacity > 0) become_array(spec, spec_of);
    specs_.all.push_back(std::move(spec));
  }

  void become_array(compile::StepSpec& spec, const SpecOf& spec_of) const {
    spec.capacity = form_.capacity;
    spec.masked = !form_.together;
    if (specs_.is_partial) {
      for (const Job* job : jobs_) {
        spec.members.push_back(spec_of(*job).forward);
      }
    }
    if (spec.learns()) {
      if (!form_.together) spec.optimizer.scheduled = true;
      spec.optimizer.plateau = std::ranges::any_of(
          jobs_, [](const Job* job) { return watches_loss(*job); });
    }
    bool shares = form_.shares_batches || !spec.learns();
    if (shares) spec.shared_inputs = data_inputs(spec.forward);
  }

  // Batches have an axis of members unless all members share them, as they do
  // when they are evaluated. Noise is each member's own.
  std::vector<std::string> data_inputs(const Graph& forward) const {
    std::vector<std::string> names;
    for (ValueId input : forward.inputs()) {
      const std::string& name = forward.value(input).name;
      if (jobs_[0]->data().field_of(name)) names.push_back(name);
    }
    return names;
  }

  const std::vector<const Job*>& jobs_;
  ArrayForm form_;
  ArraySpecs specs_;
};

}  // namespace

ArraySpecs array_specs(const std::vector<const Job*>& jobs,
                       const ArrayForm& form) {
  return SpecBuilder(jobs, form).build();
}

bool are_alike(const std::vector<const Job*>& jobs) {
  std::set<std::string> configs, graphs;
  for (const Job* job : jobs) configs.insert(config_signature(job->config()));
  if (configs.size() == 1) return true;  // without a look at graphs
  for (const Job* job : jobs) {
    std::string text;
    for (size_t i = 0; i < job->model().phases().size(); ++i) {
      text += graph_signature(job->model().forward(i, job->batch_rows()));
    }
    graphs.insert(std::move(text));
  }
  return graphs.size() == 1;
}

bool watches_loss(const Job& job) {
  return std::ranges::any_of(
      job.model().networks(), [](const JobNetwork& network) {
        return network.schedule && passes::watches_loss(*network.schedule);
      });
}

std::map<std::string, Slot> own_slots(const Job& job, bool in_array) {
  std::map<std::string, Slot> slots;
  for (size_t i = 0; i < job.model().phases().size(); ++i) {
    compile::StepSpec spec = job.step_spec(i, job.batch_rows());
    if (in_array) spec.optimizer.scheduled = true;
    for (const Slot& slot : spec.forward.slots()) slots[slot.name] = slot;
    for (Slot& slot : passes::value_slots(spec.optimizer)) {
      slots[slot.name] = std::move(slot);
    }
  }
  return slots;
}

}  // namespace braid::train
