#include "braid/cli/verbs/inspect_stats.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "braid/base/error.h"
#include "braid/base/printable.h"
#include "braid/base/text.h"
#include "braid/cli/output.h"
#include "braid/data/joint_loader.h"
#include "braid/runtime/machine.h"
#include "braid/train/job/job_file.h"
#include "braid/train/job/job_folder.h"
#include "braid/train/job/model_state.h"
#include "braid/train/job/tensor_stats.h"
#include "braid/train/run/run.h"

namespace braid::cli {
namespace {

using Json = nlohmann::json;
using train::TensorStats;

struct NamedStats {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  TensorStats stats;
};
using StatsList = std::vector<NamedStats>;

struct RunStats {
  int64_t step = 0, rows = 0;
  StatsList weights = {}, gradients = {};
};

train::JobConfig read_config(const InspectStatsOptions& o) {
  const std::string& folder = o.words[0];
  if (train::holds_jobs(folder)) {
    fail_usage(
        "[braid inspect] '{}' holds several jobs\n"
        "HINT: give the folder of one of them, as {}/NAME",
        folder, folder);
  }
  if (!train::holds_run(folder)) {
    fail_usage(
        "[braid inspect] --stats: '{}' holds no run\n"
        "HINT: give the folder of a run, as --out of 'braid train'",
        folder);
  }
  return train::read_job(train::config_path(folder),
                         {o.words.begin() + 1, o.words.end()});
}

// Whole numbers, such as counts of batches, have no such numbers.
StatsList weight_stats(train::Run& run, const std::string& pattern) {
  StatsList list;
  const train::MemberRun& member = *run.members()[0];
  for (const train::JobNetwork& network : member.job().model().networks()) {
    train::TensorList state = train::member_state(
        std::as_const(run.array()).state(), 0, network.prefix());
    for (const io::TensorBytes& tensor : state.tensors()) {
      std::string name = network.prefix() + tensor.name;
      bool fits = is_floating(tensor.dtype) && fits_pattern(name, pattern);
      if (!fits) continue;
      list.push_back({name, tensor.dtype, tensor.shape,
                      train::tensor_stats(tensor.bytes, tensor.dtype)});
    }
  }
  return list;
}

[[noreturn]] void fail_unknown(train::Run& run, const std::string& pattern) {
  std::vector<std::string> names;
  for (const Slot& slot : std::as_const(run.array()).state().slots()) {
    if (train::is_of_model(slot)) names.push_back(slot.own_name());
  }
  fail_usage(
      "[braid inspect] --stats: '{}' fits no weight\nHINT: did you mean "
      "'{}'? '*' fits all",
      pattern, nearest_name(pattern, names));
}

data::JointLoader loader_at(const train::Job& job, data::Position position) {
  return data::JointLoader(
      {{job.data().train, job.loader_options(), position}});
}

// The next one of the training; a run that ended before the last batch of its
// first epoch has no program for a shorter one, and takes the first of the
// next epoch.
class NextBatch {
 public:
  explicit NextBatch(const train::MemberRun& member)
      : loader_(loader_at(member.job(), member.record().position)) {
    const train::Job& job = member.job();
    batches_ = loader_.next();
    std::vector<int64_t> known = job.step_row_counts();
    if (std::ranges::count(known, (*batches_)[0].rows) > 0) return;
    loader_ = loader_at(job, {member.record().position.epoch + 1, 0});
    batches_ = loader_.next();
  }
  const std::vector<data::Batch>& get() const { return *batches_; }

 private:
  data::JointLoader loader_;
  const std::vector<data::Batch>* batches_ = nullptr;
};

// Each phase begins with the weights of the checkpoint.
StatsList gradient_stats(train::Run& run, const std::vector<data::Batch>& batch,
                         const std::string& pattern) {
  StatsList list;
  const train::MemberRun& member = *run.members()[0];
  train::Array& array = run.array();
  train::MemberContent before = array.content(member.member);
  array.tap_gradients([&](SlotId parameter, std::span<const std::byte> bytes) {
    const Slot& slot =
        std::as_const(array).state().slots()[static_cast<size_t>(parameter)];
    if (!fits_pattern(slot.own_name(), pattern)) return;
    list.push_back({slot.own_name(), slot.dtype, slot.shape,
                    train::tensor_stats(bytes, slot.dtype)});
  });
  std::vector<train::Array::Turn> turns{{member.member, member.record().step}};
  for (size_t i = 0; i < member.job().model().phases().size(); ++i) {
    array.step(i, turns, batch);
    array.loss(i, member.member);  // waits for it
    array.restore(member.member, before);
  }
  array.tap_gradients({});
  std::ranges::stable_sort(list, {}, &NamedStats::name);
  return list;
}

RunStats stats_of(train::Run& run, const std::string& pattern) {
  const train::MemberRun& member = *run.members()[0];
  RunStats stats{.step = member.record().step,
                 .weights = weight_stats(run, pattern)};
  if (stats.weights.empty()) fail_unknown(run, pattern);
  NextBatch batch(member);
  stats.rows = batch.get()[0].rows;
  stats.gradients = gradient_stats(run, batch.get(), pattern);
  return stats;
}

void print_table(const char* title, const StatsList& list) {
  size_t width = 4;
  for (const NamedStats& row : list) {
    width = std::max(width, printable(row.name).size());
  }
  print("{}\n  {:<{}} {:>11} {:>11} {:>11} {:>11} {:>11} {:>7} {:>10}\n", title,
        "name", width, "elements", "mean", "deviation", "least", "most",
        "zeros", "not finite");
  for (const NamedStats& row : list) {
    const TensorStats& s = row.stats;
    print(
        "  {:<{}} {:>11} {:>11.4g} {:>11.4g} {:>11.4g} {:>11.4g} {:>6.1f}% "
        "{:>10}\n",
        printable(row.name), width, s.count, s.mean, s.deviation, s.least,
        s.most, 100 * s.zeros, s.non_finite);
  }
}

Json number_json(double number) {
  return std::isfinite(number) ? Json(number) : Json();
}

Json list_json(const StatsList& list) {
  Json rows = Json::array();
  for (const NamedStats& row : list) {
    const TensorStats& s = row.stats;
    rows.push_back({{"name", row.name},
                    {"dtype", dtype_name(row.dtype)},
                    {"shape", row.shape},
                    {"elements", s.count},
                    {"mean", number_json(s.mean)},
                    {"deviation", number_json(s.deviation)},
                    {"least", number_json(s.least)},
                    {"most", number_json(s.most)},
                    {"zeros", number_json(s.zeros)},
                    {"not_finite", s.non_finite}});
  }
  return rows;
}

void print_stats(const RunStats& stats, const InspectStatsOptions& o) {
  if (o.json) {
    Json json = {{"run", o.words[0]},
                 {"step", stats.step},
                 {"rows", stats.rows},
                 {"weights", list_json(stats.weights)},
                 {"gradients", list_json(stats.gradients)}};
    return print("{}\n",
                 json.dump(2, ' ', false, Json::error_handler_t::replace));
  }
  print("run    {}, after step {}\n", o.words[0], stats.step);
  print_table("weights", stats.weights);
  std::string title =
      fmt::format("gradients, of the next batch ({} rows)", stats.rows);
  if (stats.gradients.empty()) return print("{}: none of these learn\n", title);
  print_table(title.c_str(), stats.gradients);
}

}  // namespace

void inspect_stats(const InspectStatsOptions& o) {
  train::JobConfig config = read_config(o);
  auto machine = runtime::this_machine();
  train::Job job(*machine, config);
  train::Run run(job, {.out = o.words[0], .writes = false});
  print_stats(stats_of(run, o.pattern), o);
}

}  // namespace braid::cli
