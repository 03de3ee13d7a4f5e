#include "braid/cli/verbs/step_job.h"

#include <algorithm>
#include <limits>
#include <map>

#include "braid/base/bytes.h"
#include "braid/base/error.h"
#include "braid/base/rng.h"
#include "braid/cli/inputs.h"
#include "braid/cli/members_file.h"
#include "braid/cli/plan_file.h"
#include "braid/cli/settings.h"
#include "braid/compile/pipeline.h"
#include "braid/graph/text.h"
#include "braid/passes/step/loss_scale.h"
#include "braid/train/job/model_file.h"
#include "braid/train/job/model_state.h"
#include "braid/train/run/threads.h"

namespace braid::cli {
namespace {

using Json = nlohmann::json;

struct StepMember {
  int64_t seed = 0;
  std::shared_ptr<const train::InitFile> init = {};  // null: by the seed
  // Set after initialising, in order; later ones count.
  std::vector<std::pair<std::string, double>> values = {};
};

std::optional<int64_t> read_limit(const std::string& text) {
  if (text.empty()) return std::nullopt;
  try {
    return parse_bytes(text);
  } catch (const std::invalid_argument&) {
    fail_usage(
        "[braid step] --memory-limit: '{}' is no byte count\n"
        "HINT: write a number with an optional unit: 512MiB, 4GiB",
        text);
  }
}

// Files that several members may name are opened once.
class FileCache {
 public:
  const io::SafetensorsFile& inputs(const std::filesystem::path& path) {
    auto& file = inputs_[path.string()];
    if (!file) {
      file = std::make_unique<io::SafetensorsFile>(
          io::SafetensorsFile::open(path));
    }
    return *file;
  }
  std::shared_ptr<const train::InitFile> init(
      const std::filesystem::path& path) {
    if (path.empty()) return nullptr;
    auto& file = inits_[path.string()];
    if (!file) file = std::make_shared<train::InitFile>(path);
    return file;
  }

 private:
  std::map<std::string, std::unique_ptr<io::SafetensorsFile>> inputs_;
  std::map<std::string, std::shared_ptr<const train::InitFile>> inits_;
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
  if (!init || float_type(*inputs) || train::is_model_file(o.job.model))
    return {};
  return float_type(init->file());
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
  if (std::ranges::all_of(entries, shares)) {
    return {{o.inputs, &files.inputs(o.inputs)}};
  }
  std::vector<InputFile> list;
  for (const MemberEntry& entry : entries) {
    std::filesystem::path path = entry.inputs;
    if (shares(entry)) path = o.inputs;
    list.push_back({path.string(), &files.inputs(path)});
  }
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
void complete_scaling(StepMember& member) {
  auto scales = [](const auto& v) {
    return passes::is_loss_scale_option(v.first);
  };
  if (std::ranges::none_of(member.values, scales)) return;
  member.values.insert(
      member.values.begin(),
      {{"loss_scale", passes::kUsualLossScale}, {"skip_nonfinite", 1}});
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

// What is trained, and how it begins.
void prepare_parameters(const StepOptions& o, Graph& forward) {
  for (const std::string& text : o.init_weights) {
    InitSetting setting = parse_init_setting(text);
    passes::initialise(forward, setting.pattern, setting.init);
  }
  passes::freeze(forward, o.job.freeze);
}

// One per member, or none when nobody asks for any.
std::vector<passes::Schedule> read_schedules(
    const StepOptions& o, const std::vector<MemberEntry>& entries) {
  auto has_own = [](const MemberEntry& e) { return e.schedule.has_value(); };
  if (o.job.schedule.empty() && std::ranges::none_of(entries, has_own))
    return {};
  passes::Schedule shared;
  if (!o.job.schedule.empty()) shared = passes::parse_schedule(o.job.schedule);
  std::vector<passes::Schedule> schedules;
  for (const MemberEntry& entry : entries) {
    schedules.push_back(entry.schedule.value_or(shared));
  }
  return schedules;
}

// Reads --set and the members' settings; completes `optimizer`.
std::vector<StepMember> read_values(const StepOptions& o, const Graph& forward,
                                    const std::vector<MemberEntry>& entries,
                                    passes::Optimizer& optimizer) {
  KnownValues known(optimizer, forward);
  StepMember base;
  for (const std::string& text : o.set) {
    Setting setting = parse_setting(text);
    double value = known.read(setting);
    if (known.is_of_optimizer(setting.name)) {
      passes::set_option(optimizer, setting.name, value);
    } else {
      base.values.emplace_back(setting.name, value);
    }
  }
  add_groups(o, known, optimizer);
  bool all_scale = optimizer.scales_loss;
  std::vector<StepMember> members;
  for (const MemberEntry& entry : entries) {
    StepMember& member = members.emplace_back(base);
    member.seed = entry.seed;
    for (const Setting& setting : entry.settings) {
      double value = known.read(setting, member_keys());
      check_switch(known, setting);
      share_with_array(optimizer, setting.name, value);
      member.values.emplace_back(setting.name, value);
    }
    if (!all_scale) complete_scaling(member);
  }
  return members;
}

// Seed 0 begins with the weights of an exported model, as they are.
bool draws_weights(const StepMember& member) { return member.seed != 0; }

bool skips_steps(const StepMember& member, const passes::Optimizer& optimizer) {
  auto usual = optimizer.hyper.find("skip_nonfinite");
  double value = usual == optimizer.hyper.end() ? 0 : usual->second;
  for (const auto& [name, own] : member.values) {
    if (name == "skip_nonfinite") value = own;
  }
  return value != 0;
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

Json member_json(const StepMember& member) {
  std::string values;
  for (const auto& [name, value] : member.values) {
    values += fmt::format("{}{}={}", values.empty() ? "" : " ", name, value);
  }
  return {{"seed", member.seed},
          {"init", member.init ? hex(member.init->fingerprint()) : "seed"},
          {"values", values}};
}

// Makes the jobs of the members; all of them have one model and one optimizer,
// and what is their own is written when they begin.
class JobMaker {
 public:
  JobMaker(const runtime::Machine& machine, const StepOptions& options)
      : machine_(machine), o_(options), device_(parse_device(o_.job.device)) {
    optimizer_ = passes::make_optimizer(o_.job.optimizer.kind);
    entries_ = read_entries(o_);
    inputs_ = open_inputs(entries_, o_, files_);
    load_model();
    members_ = read_values(o_, model_->graph, entries_, optimizer_);
    for (size_t k = 0; k < members_.size(); ++k) {
      members_[k].init = files_.init(entries_[k].init);
      if (members_[k].init) members_[k].init->check(model_->graph.slots());
    }
    schedules_ = read_schedules(o_, entries_);
    threads_ = train::thread_count(o_.job.threads, "braid step");
  }

  StepJob make(std::optional<int64_t> limit_bytes) {
    StepJob job{.members = {},
                .is_array = !o_.members.empty(),
                .plan = {},
                .skips = {},
                .shared_words = shared_words(),
                .arguments = {}};
    const Graph& forward = model_->graph;
    if (!o_.plan.empty()) {
      job.plan = read_plan(o_.plan, compile::segment_names(forward));
    }
    job.arguments = arguments();
    auto graph = std::make_shared<const Graph>(forward);
    std::vector<data::DatasetPtr> data;
    for (const InputFile& file : inputs_) {
      data.push_back(given_batch(forward, file, o_.job.accumulate));
    }
    for (size_t k = 0; k < members_.size(); ++k) {
      train::JobConfig config = config_of(members_[k]);
      config.memory_limit = limit_bytes;
      job.members.push_back(std::make_unique<train::Job>(
          machine_, std::move(config),
          train::JobHooks{.train = data[data.size() == 1 ? 0 : k],
                          .given = given(k, graph)}));
      job.skips.push_back(skips_steps(members_[k], optimizer_));
    }
    return job;
  }

 private:
  void load_model() {
    auto first_init = files_.init(entries_[0].init);
    model_.emplace(train::load_model(
        machine_, o_.job.model,
        {.dtype = model_dtype(o_, inputs_[0].file, first_init.get()),
         .inputs = input_types(*inputs_[0].file, o_.job.accumulate),
         .loss = o_.named_loss()}));
    Graph& forward = model_->graph;
    check_inputs(
        forward, inputs_, o_.job.accumulate,
        "the model takes " + train::inputs_in_words(o_.job.model, forward));
    bool draws = std::ranges::any_of(
        entries_, [](const MemberEntry& entry) { return entry.seed != 0; });
    if (model_->contents && draws) model_->contents->draw(forward);
    prepare_parameters(o_, forward);
  }

  // A row of the data is a micro-batch, and the batch is all there is.
  train::JobConfig config_of(const StepMember& member) const {
    train::JobConfig config = o_.job;
    config.data = {.source = train::kCustom, .shuffle = false, .order_seed = 0};
    config.batch_size = config.accumulate;
    config.seed = member.seed;
    config.on_nan = "keep";
    return config;
  }

  train::GivenModel given(size_t k,
                          const std::shared_ptr<const Graph>& graph) const {
    train::FirstWeights how{.draws = draws_weights(members_[k])};
    for (const std::string& text : o_.init_weights) {
      how.initialised.push_back(parse_init_setting(text).pattern);
    }
    train::GivenModel model{.forward = graph, .optimizer = optimizer_};
    if (!schedules_.empty()) model.schedule = schedules_[k];
    model.load = [contents = model_->contents, member = members_[k], how](
                     runtime::State& state, int64_t place) {
      if (contents) contents->apply(state, place, how);
      if (member.init) member.init->apply(state, place);
      for (const auto& [name, value] : member.values) {
        train::set_hyper(state, place, name, value);
      }
    };
    return model;
  }

  std::string shared_words() const {
    bool expects = std::ranges::any_of(members_, [](const StepMember& member) {
      return draws_weights(member) && !member.init;
    });
    if (!expects || !model_->contents || !o_.init_weights.empty()) return "";
    return model_->contents->shared_words();
  }

  Json arguments() const {
    Json members = Json::array();
    for (const StepMember& member : members_) {
      members.push_back(member_json(member));
    }
    for (size_t k = 0; k < schedules_.size(); ++k) {
      members[k]["schedule"] = passes::schedule_text(schedules_[k]);
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
            {"threads", threads_},
            {"device", device_text(device_)},
            {"array", !o_.members.empty()},
            {"members", members}};
  }

  const runtime::Machine& machine_;
  const StepOptions& o_;
  DeviceId device_;
  passes::Optimizer optimizer_;
  std::vector<MemberEntry> entries_;
  FileCache files_;
  std::vector<InputFile> inputs_;
  std::optional<train::LoadedModel> model_;
  std::vector<StepMember> members_;
  std::vector<passes::Schedule> schedules_;
  int threads_ = 0;
};

}  // namespace

StepJob read_job(const runtime::Machine& machine, const StepOptions& options) {
  std::optional<int64_t> limit_bytes = read_limit(options.memory_limit);
  return JobMaker(machine, options).make(limit_bytes);
}

}  // namespace braid::cli
