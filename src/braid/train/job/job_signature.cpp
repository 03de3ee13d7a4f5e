#include "braid/train/job/job_signature.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "braid/graph/signature.h"
#include "braid/train/job/job_file.h"
#include "braid/train/job/job_optimizer.h"
#include "braid/train/job/job_plan.h"

namespace braid::train {
namespace {

template <class Map>
std::string keys_text(const Map& map) {
  std::string text;
  for (const auto& [key, unused] : map) {
    text += (text.empty() ? "" : ",") + key;
  }
  return text;
}

// Which values there are and what they apply to, but not what they are.
std::string optimizer_text(const passes::Optimizer& o) {
  std::string text = fmt::format(
      "optimizer {} values={} flags={} clip={} clip_each={} average={} "
      "skip={}\n",
      o.kind, keys_text(o.hyper), fmt::join(o.flags, ","), o.clip, o.clip_each,
      o.average, o.skip_nonfinite);
  for (const passes::ParameterGroup& group : o.groups) {
    text += fmt::format("group '{}' values={}\n", group.pattern,
                        keys_text(group.values));
  }
  return text;
}

std::string network_text(const JobConfig& job, const NetworkConfig& network) {
  return optimizer_text(optimizer_of(job, network));
}

// Takes out what is a number per member; the optimizer is then said apart.
template <class Network>
void make_plain(Network& network) {
  network.optimizer.values = {};
  network.schedule = {};
  for (GroupConfig& group : network.groups) group.values = {};
}

JobConfig plain_job(JobConfig job) {
  resolve_data_paths(job);
  make_plain(job);
  for (auto& [name, network] : job.networks) make_plain(network);
  job.seed = 0;
  job.data.order_seed = {};
  job.data.on_change = {};
  if (job.eval.data) job.eval.data->on_change = {};
  job.steps = job.epochs = {};
  job.clip = {};
  job.ema = {};
  job.log_every = 1;
  job.log_norms = {};
  job.log_system = false;
  job.priority = 0;
  job.deadline = {};
  job.eval.every = 0;
  job.eval.early_stop = {.metric = job.eval.early_stop.metric};
  job.checkpoint = {.best = job.checkpoint.best};
  return job;
}

// Constants are one for all members, so they must come from the same file
// unless the graph holds them.
std::string contents_text(const JobNetwork& network, const Graph& forward) {
  bool has_constants =
      std::ranges::any_of(forward.slots(), [](const Slot& slot) {
        return slot.role == Role::kConstant && !slot.content;
      });
  if (!network.contents || !has_constants) return "";
  return fmt::format("contents {:x}\n", network.contents->fingerprint());
}

std::string phases_text(const Job& job, bool with_graphs) {
  std::string text;
  int64_t rows = job.batch_rows(), parts = job.micro_batches(rows);
  for (size_t i = 0; i < job.model().phases().size(); ++i) {
    const JobPhase& phase = job.model().phases()[i];
    const JobNetwork& network = job.model().networks()[phase.network];
    Graph forward = job.model().forward(i, rows / parts);
    text += fmt::format("phase {} every={}\n", network.name, phase.every) +
            network_text(job.config(), network.config) +
            contents_text(network, forward);
    if (with_graphs) text += graph_signature(forward);
  }
  return text;
}

std::string eval_text(const Job& job, bool with_graphs) {
  if (!job.has_eval()) return "eval none\n";
  std::string text =
      fmt::format("eval rows={} rest={} metrics={}\n", job.eval_rows(),
                  job.eval_rest_rows(), fmt::join(job.model().metrics(), ","));
  if (!with_graphs) return text;
  return text + graph_signature(job.model().eval(job.eval_rows()));
}

// The rest of an epoch counts whether a job gets there or not: how many steps
// it takes is its own.
std::string batches_text(const Job& job) {
  int64_t rows = job.batch_rows(), rest = job.data().train->size() % rows;
  if (job.config().drop_last) rest = 0;
  std::string text = fmt::format("batch rows={} parts={} rest={}\n", rows,
                                 job.micro_batches(rows), rest);
  for (const data::Field& field : job.data().train->fields()) {
    text += fmt::format("field {} as {}\n", field_text(field),
                        job.data().argument(field.name));
  }
  return text;
}

std::string plan_text(const PlanConfig& config) {
  plan::NamedPlan plan = named_plan(config);
  std::string text =
      fmt::format("plan depth={} join={} solver={}\n", plan.depth.value_or(-1),
                  plan.joined, plan.solver);
  if (plan.buffer_bytes)
    text += fmt::format("plan buffer={}\n", *plan.buffer_bytes);
  if (plan.order)
    text += fmt::format("plan order={}\n", order_name(*plan.order));
  for (const plan::NamedDecision& d : plan.segments) {
    text += fmt::format("plan {}={}\n", d.segment, decision_text(d.decision));
  }
  return text;
}

std::string device_text(const Job& job) {
  const JobConfig& c = job.config();
  return fmt::format(
             "device {} threads={} limit={} host={} precision={} dtype={}\n",
             braid::device_text(job.device()), job.threads(),
             job.budget().bytes, job.budget().host_bytes, c.precision,
             c.dtype) +
         (c.plan != PlanConfig{} ? plan_text(c.plan) : "") +
         (c.spill_dir.empty() ? "" : "spill " + c.spill_dir.string() + "\n");
}

}  // namespace

std::string job_signature(const Job& job) {
  return device_text(job) + batches_text(job) + phases_text(job, true) +
         eval_text(job, true);
}

std::string frame_signature(const Job& job) {
  return device_text(job) + batches_text(job) + phases_text(job, false) +
         eval_text(job, false);
}

std::string config_signature(const JobConfig& config) {
  std::string text = job_text(plain_job(config));
  if (config.phases.empty()) {
    return text + optimizer_text(optimizer_of(config));
  }
  for (const auto& [name, network] : config.networks) {
    text += "network " + name + "\n" + network_text(config, network);
  }
  return text;
}

// A seed that nothing is drawn from does not count.
std::string data_signature(const JobConfig& config) {
  JobConfig only{.data = config.data};
  resolve_data_paths(only);
  only.data.order_seed = {};
  only.data.on_change = DataConfig().on_change;
  if (only.data.shuffle || !only.data.augment.empty()) {
    only.data.order_seed = config.data_seed();
  }
  return job_text(only, false);
}

}  // namespace braid::train
