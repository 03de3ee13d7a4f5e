#include "braid/train/run/run_words.h"

#include <algorithm>
#include <map>

#include "braid/base/bytes.h"
#include "braid/base/printable.h"
#include "braid/base/process.h"
#include "braid/base/rng.h"
#include "fmt/format.h"

namespace braid::train {
namespace {

void append(std::string& list, const std::string& item) {
  list += list.empty() ? item : ", " + item;
}

std::string values_text(const io::Scalars& values) {
  std::string text;
  for (const auto& [name, value] : values) {
    text += fmt::format("  {} {:.4g}", name, value);
  }
  return text;
}

std::string watched_text(const Watched& watched) {
  return fmt::format("{} ({})", watched.metric,
                     watched.higher_is_better ? "highest" : "lowest");
}

// A batch that was asked for and cannot be filled.
void add_large_batch(std::vector<std::string>& warnings, std::string_view key,
                     int64_t batch, const data::Dataset& data) {
  if (batch <= data.size()) return;
  warnings.push_back(fmt::format(
      "{} is {}, and there are {} samples of {}: every batch has all of them",
      key, batch, data.size(), data.name()));
}

}  // namespace

int64_t num_parameters(const runtime::State& state) {
  int64_t count = 0;
  for (const Slot& slot : state.slots()) {
    if (slot.role == Role::kParameter) count += num_elements(slot.shape);
  }
  return count;
}

std::string data_words(const Job& job) {
  const data::Dataset& data = *job.data().train;
  std::string text =
      fmt::format("data   {} samples of {}", data.size(), data.name());
  if (job.has_eval()) {
    append(text, fmt::format("{} to evaluate", job.data().eval->size()));
    const std::string& how = job.data().eval_words;
    if (!how.empty()) text += fmt::format(" ({})", how);
  }
  return text;
}

std::vector<std::string> job_warnings(const Job& job) {
  std::vector<std::string> warnings;
  const JobConfig& config = job.config();
  add_large_batch(warnings, "batch_size", config.batch_size, *job.data().train);
  if (job.has_eval()) {
    add_large_batch(warnings, "eval.batch_size",
                    config.eval.batch_size.value_or(0), *job.data().eval);
  } else if (config.phases.empty() && config.eval != EvalConfig()) {
    warnings.push_back(
        "nothing is evaluated: the job has 'eval', but no data for it; name "
        "them as 'eval.data', or hold some back with 'data.split: 0.1'");
  }
  return warnings;
}

std::vector<std::string> judge_words(const Job& job) {
  if (!job.has_eval()) return {};
  std::string text = "eval   best by " + watched_text(job.best_by());
  if (job.config().eval.early_stop.patience > 0) {
    append(text, job.stops_by() == job.best_by()
                     ? "early stopping too"
                     : "early stopping by " + watched_text(job.stops_by()));
  }
  if (job.config().ema) {
    text += " · averaged weights (ema), raw ones beside them";
  }
  return {text};
}

std::string field_words(const data::Dataset& data) {
  return "fields " + fields_text(data.fields(), true);
}

std::string model_words(const Job& job, runtime::Executables& programs) {
  std::string limit = job.config().memory_limit
                          ? " of " + bytes_text(*job.config().memory_limit)
                          : "";
  return fmt::format("model  {} parameters · {}{} on {}",
                     grouped(num_parameters(programs.state())),
                     bytes_text(programs.peak_bytes()), limit,
                     device_text(job.device()));
}

std::string array_words(const Array& array, size_t num_jobs) {
  auto lanes = static_cast<size_t>(array.num_lanes());
  std::string text =
      num_jobs <= lanes
          ? fmt::format("array  {} jobs as one", num_jobs)
          : fmt::format("array  {} of {} jobs at once", lanes, num_jobs);
  if (array.shares_batches()) text += ", all on the same batches";
  return text;
}

std::string plan_text(const plan::Plan& plan) {
  std::map<std::string, int> counts;
  for (const plan::Decision& decision : plan.segments) {
    ++counts[short_text(decision)];
  }
  std::string list;
  for (const auto& [decision, count] : counts) {
    append(list, fmt::format("{} {}", count, decision));
  }
  std::string text = fmt::format("{} segments: {} · prefetch {}",
                                 plan.segments.size(), list, plan.depth);
  if (plan.order == plan::Order::kLayers) text += " · layer by layer";
  return text;
}

std::string plan_words(const compile::ProgramSet& set) {
  std::string text = "plan   " + plan_text(set.plan);
  if (!saves_memory(set)) return text;
  double more = set.choice->trial.seconds / set.choice->unlimited_s - 1;
  return text + fmt::format(" · about {:.{}f} % more time than without a limit",
                            100 * more, more < 0.095 ? 1 : 0);
}

std::string review_words(const Array::PlanReview& review) {
  auto beyond = [](const runtime::ScratchMistake& m) {
    return m.needed_bytes - m.planned_bytes;
  };
  const auto& most = *std::ranges::max_element(review.mistakes, {}, beyond);
  return fmt::format("plan   {} took {} of scratch, not {}: {}", most.call,
                     bytes_text(most.needed_bytes),
                     bytes_text(most.planned_bytes),
                     review.fits ? "planned anew"
                                 : "no plan fits with that, so it is taken "
                                   "beside the plan, within the limits");
}

bool saves_memory(const compile::ProgramSet& set) {
  return set.choice && set.choice->unlimited_s > 0 &&
         std::ranges::any_of(set.plan.segments, [](const plan::Decision& d) {
           return d != plan::Decision{};
         });
}

std::string result_words(const RunRecord& record) {
  std::string text = fmt::format("eval   step {}{}", record.last_eval,
                                 values_text(record.evaluation));
  if (record.raw_evaluation.empty()) return text;
  return fmt::format("{}  (averaged weights; raw:{})", text,
                     values_text(record.raw_evaluation));
}

std::string peak_words(runtime::Backend& backend) {
  return fmt::format("peak   {} on {}, {} of the process",
                     bytes_text(backend.account().peak_bytes()), backend.name(),
                     bytes_text(process_peak_bytes()));
}

std::string pass_words(const compile::PassResult& result) {
  return fmt::format("pass   {}: {} {:016x}, {:.1f} ms", result.spec.name,
                     result.pass, stable_hash(result.text()),
                     1e3 * result.seconds);
}

std::string memory_words(const runtime::Executables& programs) {
  int64_t values = 0;
  for (size_t i = 0; i < programs.size(); ++i) {
    values = std::max(values, programs.program(i).arena_bytes);
  }
  int64_t in_file = programs.disk_bytes();
  return fmt::format(
      "memory {} for the values of a step, {} that stay{}", bytes_text(values),
      bytes_text(programs.peak_bytes() - values),
      in_file == 0
          ? ""
          : fmt::format(" · {} in a file, {} on the host", bytes_text(in_file),
                        bytes_text(programs.host_bytes())));
}

}  // namespace braid::train
