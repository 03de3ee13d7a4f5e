#include "braid/cli/verbs/step_job.h"

#include <algorithm>
#include <limits>
#include <map>

#include "braid/base/error.h"
#include "braid/base/rng.h"
#include "braid/cli/inputs.h"
#include "braid/cli/members_file.h"
#include "braid/cli/settings.h"
#include "braid/cli/verbs/verb.h"
#include "braid/compile/pipeline.h"
#include "braid/graph/text.h"
#include "braid/passes/step/loss_scale.h"
#include "braid/train/job/init_file.h"
#include "braid/train/job/job_plan.h"
#include "braid/train/job/model_file.h"
#include "braid/train/run/threads.h"

namespace braid::cli {
namespace {

using Json = nlohmann::json;

// Of a member's slots, see train::GivenModel.
using Values = std::vector<std::pair<std::string, double>>;

// Files that several members may name are opened once.
class FileCache {
 public:
  // Null without a path.
  const train::InitFile* open(const std::filesystem::path& path) {
    if (path.empty()) return nullptr;
    return &files_.try_emplace(path.string(), path).first->second;
  }

 private:
  std::map<std::string, train::InitFile> files_;
};

std::optional<DType> float_type(const io::SafetensorsFile& file) {
  for (const io::TensorBytes& tensor : file.tensors()) {
    if (tensor.dtype == DType::kFloat32 || tensor.dtype == DType::kFloat64) {
      return tensor.dtype;
    }
  }
  return std::nullopt;
}

// The type of a built-in model where the inputs have no floats.
std::optional<DType> model_dtype(const StepOptions& o,
                                 const io::SafetensorsFile* inputs,
                                 const train::InitFile* init) {
  if (!o.job.dtype.empty()) return find_dtype(o.job.dtype);
  bool is_told = float_type(*inputs) || train::is_model_file(o.job.model);
  return init && !is_told ? float_type(init->file()) : std::nullopt;
}

// Members as the file and the command line together describe them.
std::vector<MemberEntry> read_entries(const StepOptions& o) {
  std::vector<MemberEntry> entries{{.seed = o.job.seed}};
  if (!o.members.empty()) entries = read_members(o.members, o.job.seed);
  for (size_t k = 0; k < entries.size(); ++k) {
    MemberEntry& entry = entries[k];
    if (entry.init.empty()) entry.init = o.init;
    if (entry.inputs.empty() && o.inputs.empty()) {
      fail_usage("[members] member {} has no inputs, and there is no --inputs",
                 k);
    }
  }
  return entries;
}

// One file for all, or each member's own.
std::vector<InputFile> open_inputs(const std::vector<MemberEntry>& entries,
                                   const StepOptions& o, FileCache& files) {
  auto shares = [](const MemberEntry& e) { return e.inputs.empty(); };
  std::vector<InputFile> list;
  for (const MemberEntry& entry : entries) {
    std::string path = shares(entry) ? o.inputs : entry.inputs.string();
    list.push_back({path, &files.open(path)->file()});
  }
  if (std::ranges::all_of(entries, shares)) list.resize(1);
  return list;
}

// What a member's value needs in the graph, all members get: with a limit of
// infinity, an average of nothing, a buffer without momentum.
void share_with_array(passes::Optimizer& optimizer, const std::string& name,
                      double value) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  if (optimizer.hyper.contains(name)) {
    double before = optimizer.hyper.at(name);
    passes::set_option(optimizer, name, value);  // brings its state
    optimizer.hyper.at(name) = before;
  } else if (name == "clip_norm" || name == "clip_value") {
    passes::set_option(optimizer, name, kInf);
  } else if (name == "ema_decay") {
    passes::set_option(optimizer, name, 0);
  } else if (name == "skip_nonfinite") {
    passes::set_option(optimizer, name, 1);
    optimizer.hyper.at(name) = 0;
  } else if (passes::is_loss_scale_option(name)) {
    passes::allow_loss_scale(optimizer);
  }
}

// A member that scales its loss while not all do skips its steps, and its
// scale may be the usual one.
void complete_scaling(Values& values) {
  auto scales = [](const auto& v) {
    return passes::is_loss_scale_option(v.first);
  };
  if (std::ranges::none_of(values, scales)) return;
  values.insert(values.begin(), {{"loss_scale", passes::kUsualLossScale},
                                 {"skip_nonfinite", 1}});
}

// A member may only turn on what the others do not notice.
void check_switch(const KnownValues& known, const Setting& setting) {
  if (setting.name == "skip_nonfinite" || !known.is_switch(setting.name)) {
    return;
  }
  fail_usage("{}: '{}' is one for all members\nHINT: use --set {}={}",
             setting.where, setting.name, setting.name, setting.text);
}

void add_groups(const StepOptions& o, const KnownValues& known,
                passes::Optimizer& optimizer) {
  for (const std::string& text : o.group) {
    GroupSetting setting = parse_group(text);
    passes::ParameterGroup group{setting.pattern, {}};
    for (const Setting& value : setting.values) {
      group.values[value.name] = known.read(value);
    }
    passes::add_group(optimizer, group);
  }
}

// One per member when anybody asks for one.
std::vector<std::optional<passes::Schedule>> read_schedules(
    const StepOptions& o, const std::vector<MemberEntry>& entries) {
  auto has_own = [](const MemberEntry& e) { return e.schedule.has_value(); };
  std::vector<std::optional<passes::Schedule>> schedules(entries.size());
  passes::Schedule shared;
  if (!o.job.schedule.empty()) {
    shared = passes::parse_schedule(o.job.schedule);
  } else if (std::ranges::none_of(entries, has_own)) {
    return schedules;
  }
  for (size_t k = 0; k < entries.size(); ++k) {
    schedules[k] = entries[k].schedule.value_or(shared);
  }
  return schedules;
}

// Reads --set and the members' settings; completes `optimizer`.
std::vector<Values> read_values(const StepOptions& o, const Graph& forward,
                                const std::vector<MemberEntry>& entries,
                                passes::Optimizer& optimizer) {
  KnownValues known(optimizer, forward);
  Values base;
  for (const std::string& text : o.set) {
    Setting setting = parse_setting(text);
    double value = known.read(setting);
    if (known.is_of_optimizer(setting.name)) {
      passes::set_option(optimizer, setting.name, value);
    } else {
      base.emplace_back(setting.name, value);
    }
  }
  add_groups(o, known, optimizer);
  bool all_scale = optimizer.scales_loss;
  std::vector<Values> members;
  for (const MemberEntry& entry : entries) {
    Values& values = members.emplace_back(base);
    for (const Setting& setting : entry.settings) {
      double value = known.read(setting, member_keys());
      check_switch(known, setting);
      share_with_array(optimizer, setting.name, value);
      values.emplace_back(setting.name, value);
    }
    if (!all_scale) complete_scaling(values);
  }
  return members;
}

bool skips_steps(const Values& values, const passes::Optimizer& optimizer) {
  auto usual = optimizer.hyper.find("skip_nonfinite");
  double skips = usual == optimizer.hyper.end() ? 0 : usual->second;
  for (const auto& [name, own] : values) {
    if (name == "skip_nonfinite") skips = own;
  }
  return skips != 0;
}

std::string hex(uint64_t number) { return fmt::format("{:016x}", number); }

std::string optimizer_text(const passes::Optimizer& optimizer) {
  std::string text = optimizer.kind;
  for (const auto& [name, value] : optimizer.hyper) {
    text += fmt::format(" {}={}", name, value);
  }
  for (const std::string& flag : optimizer.flags) text += " " + flag;
  if (optimizer.skip_nonfinite) text += " skip_nonfinite";
  for (const passes::ParameterGroup& group : optimizer.groups) {
    text += fmt::format(" '{}':", group.pattern);
    for (const auto& [name, value] : group.values) {
      text += fmt::format(" {}={}", name, value);
    }
  }
  return text;
}

// Makes the jobs of the members; all of them have one model and one optimizer,
// and what is their own is written when they begin.
class JobMaker {
 public:
  JobMaker(const runtime::Machine& machine, const StepOptions& options)
      : machine_(machine), o_(options) {
    parse_device(o_.job.device);  // before anything is opened
    optimizer_ = passes::make_optimizer(o_.job.optimizer.kind);
    entries_ = read_entries(o_);
    inputs_ = open_inputs(entries_, o_, files_);
    load_model();
    values_ = read_values(o_, model_->graph, entries_, optimizer_);
    for (const MemberEntry& entry : entries_) {
      const train::InitFile* init = files_.open(entry.init);
      if (init) init->check(model_->graph.slots());
    }
    schedules_ = read_schedules(o_, entries_);
    train::thread_count(o_.job.threads, "braid step");
  }

  StepJob make(std::optional<int64_t> limit_bytes) {
    StepJob job;
    job.is_array = !o_.members.empty();
    const Graph& forward = model_->graph;
    if (!o_.plan.empty()) {
      job.plan.named = train::read_plan_file(o_.plan);
    }
    auto graph = std::make_shared<const Graph>(forward);
    std::vector<data::DatasetPtr> data;
    for (const InputFile& file : inputs_) {
      data.push_back(given_batch(forward, file, o_.job.accumulate));
    }
    for (size_t k = 0; k < entries_.size(); ++k) {
      job.members.push_back(std::make_unique<train::Job>(
          machine_, config_of(entries_[k], limit_bytes),
          train::JobHooks{.train = data[data.size() == 1 ? 0 : k],
                          .given = {{.forward = graph,
                                     .contents = model_->contents,
                                     .optimizer = optimizer_,
                                     .schedule = schedules_[k],
                                     .values = values_[k]}}}));
      job.skips.push_back(skips_steps(values_[k], optimizer_));
    }
    job.arguments = arguments(job.first());
    return job;
  }

 private:
  void load_model() {
    const train::InitFile* first_init = files_.open(entries_[0].init);
    model_.emplace(train::load_model(
        machine_, o_.job.model,
        {.dtype = model_dtype(o_, inputs_[0].file, first_init),
         .inputs = input_types(*inputs_[0].file, o_.job.accumulate),
         .loss = o_.named_loss()}));
    Graph& forward = model_->graph;
    check_inputs(
        forward, inputs_, o_.job.accumulate,
        "the model takes " + train::inputs_in_words(o_.job.model, forward));
    bool draws = std::ranges::any_of(
        entries_, [](const MemberEntry& entry) { return entry.seed != 0; });
    if (model_->contents && draws) model_->contents->draw(forward);
    for (const std::string& text : o_.init_weights) {
      InitSetting setting = parse_init_setting(text);
      passes::initialise(forward, setting.pattern, setting.init);
      rules_.push_back({setting.pattern, text});
    }
    passes::freeze(forward, o_.job.freeze);
  }

  // A row of the data is a micro-batch, and the batch is all there is.
  train::JobConfig config_of(const MemberEntry& member,
                             std::optional<int64_t> limit_bytes) const {
    train::JobConfig config = o_.job;
    config.data = {.source = train::kCustom, .shuffle = false, .order_seed = 0};
    config.batch_size = config.accumulate;
    config.init = {.file = member.init, .rules = rules_};
    config.seed = member.seed;
    config.memory_limit = limit_bytes;
    config.host_limit = read_limit("--host-limit", o_.host_limit, "braid step");
    config.spill_dir = o_.spill_dir;
    config.on_nan = "keep";
    return config;
  }

  Json member_json(size_t k) {
    std::string values;
    for (const auto& [name, value] : values_[k]) {
      values += fmt::format("{}{}={}", values.empty() ? "" : " ", name, value);
    }
    const train::InitFile* init = files_.open(entries_[k].init);
    Json member = {{"seed", entries_[k].seed},
                   {"init", init ? hex(init->fingerprint()) : "seed"},
                   {"values", values}};
    if (schedules_[k]) {
      member["schedule"] = passes::schedule_text(*schedules_[k]);
    }
    return member;
  }

  Json arguments(const train::Job& first) {
    Json members = Json::array();
    for (size_t k = 0; k < entries_.size(); ++k) {
      members.push_back(member_json(k));
    }
    const auto& contents = model_->contents;
    int64_t parts = o_.job.accumulate;
    return {{"format", 1},
            {"model", hex(stable_hash(print_graph(model_->graph)))},
            {"contents", contents ? hex(contents->fingerprint()) : ""},
            {"inputs", hex(fingerprint(model_->graph, inputs_, parts))},
            {"optimizer", optimizer_text(optimizer_)},
            {"accumulate", parts},
            {"precision", dtype_name(*find_dtype(o_.job.precision))},
            {"threads", first.threads()},
            {"device", device_text(first.device())},
            {"array", !o_.members.empty()},
            {"members", members}};
  }

  const runtime::Machine& machine_;
  const StepOptions& o_;
  passes::Optimizer optimizer_;
  std::vector<MemberEntry> entries_;
  FileCache files_;
  std::vector<InputFile> inputs_;
  std::optional<train::LoadedModel> model_;
  config::Options rules_;       // of first weights
  std::vector<Values> values_;  // by member
  std::vector<std::optional<passes::Schedule>> schedules_;
};

}  // namespace

StepJob read_job(const runtime::Machine& machine, const StepOptions& options) {
  auto limit_bytes =
      read_limit("--memory-limit", options.memory_limit, "braid step");
  return JobMaker(machine, options).make(limit_bytes);
}

}  // namespace braid::cli
