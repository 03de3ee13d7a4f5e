#include "braid/cli/verbs/step_job.h"

#include <algorithm>
#include <limits>
#include <map>

#include "braid/base/bytes.h"
#include "braid/base/error.h"
#include "braid/base/rng.h"
#include "braid/cli/members_file.h"
#include "braid/cli/plan_file.h"
#include "braid/cli/settings.h"
#include "braid/graph/text.h"
#include "braid/passes/step/loss_scale.h"
#include "braid/runtime/machine.h"
#include "braid/train/job/model_file.h"
#include "braid/train/run/threads.h"

namespace braid::cli {
namespace {

using Json = nlohmann::json;

int64_t read_limit(const std::string& text) {
  if (text.empty()) return kNoLimit;
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
  if (!o.dtype.empty()) return find_dtype(o.dtype);
  if (!init || float_type(*inputs) || train::is_model_file(o.model)) return {};
  return float_type(init->file());
}

// Members as the file and the command line together describe them.
std::vector<MemberEntry> read_entries(const StepOptions& o) {
  std::vector<MemberEntry> entries{{.seed = o.seed}};
  if (!o.members.empty()) entries = read_members(o.members, o.seed);
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
void complete_scaling(JobMember& member) {
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
  passes::freeze(forward, o.freeze);
}

std::vector<std::string> initialised_patterns(const StepOptions& o) {
  std::vector<std::string> patterns;
  for (const std::string& text : o.init_weights) {
    patterns.push_back(parse_init_setting(text).pattern);
  }
  return patterns;
}

// One per member, or none when nobody asks for any.
std::vector<passes::Schedule> read_schedules(
    const StepOptions& o, const std::vector<MemberEntry>& entries) {
  auto has_own = [](const MemberEntry& e) { return e.schedule.has_value(); };
  if (o.schedule.empty() && std::ranges::none_of(entries, has_own)) return {};
  passes::Schedule shared;
  if (!o.schedule.empty()) shared = passes::parse_schedule(o.schedule);
  std::vector<passes::Schedule> schedules;
  for (const MemberEntry& entry : entries) {
    schedules.push_back(entry.schedule.value_or(shared));
  }
  return schedules;
}

// Reads --set and the members' settings; completes `optimizer`.
std::vector<JobMember> read_values(const StepOptions& o, const Graph& forward,
                                   const std::vector<MemberEntry>& entries,
                                   passes::Optimizer& optimizer) {
  KnownValues known(optimizer, forward);
  JobMember base;
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
  std::vector<JobMember> members;
  for (const MemberEntry& entry : entries) {
    JobMember& member = members.emplace_back(base);
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
bool draws_weights(const JobMember& member) { return member.seed != 0; }

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

Json member_json(const JobMember& member) {
  std::string values;
  for (const auto& [name, value] : member.values) {
    values += fmt::format("{}{}={}", values.empty() ? "" : " ", name, value);
  }
  return {{"seed", member.seed},
          {"init", member.init ? hex(member.init->fingerprint()) : "seed"},
          {"values", values}};
}

Json arguments_json(const StepJob& job) {
  Json members = Json::array();
  for (const JobMember& member : job.members) {
    members.push_back(member_json(member));
  }
  for (size_t k = 0; k < job.trainer.schedules.size(); ++k) {
    members[k]["schedule"] = passes::schedule_text(job.trainer.schedules[k]);
  }
  return {{"format", 1},
          {"model", hex(stable_hash(print_graph(job.forward)))},
          {"contents", job.contents ? hex(job.contents->fingerprint()) : ""},
          {"inputs", hex(job.feed.fingerprint())},
          {"optimizer", optimizer_text(job.trainer.optimizer)},
          {"accumulate", job.trainer.micro_batches},
          {"precision", dtype_name(job.trainer.precision)},
          {"threads", job.trainer.threads},
          {"device", device_text(job.device)},
          {"array", job.is_array()},
          {"members", members}};
}

}  // namespace

bool StepJob::has_limit() const { return limit_bytes != kNoLimit; }

StepJob read_job(const runtime::Machine& machine, const StepOptions& o) {
  o.validate();
  int64_t limit_bytes = read_limit(o.memory_limit);
  DeviceId device = parse_device(o.device);
  passes::Optimizer optimizer = passes::make_optimizer(o.optimizer);
  std::vector<MemberEntry> entries = read_entries(o);
  FileCache files;
  std::vector<InputFile> inputs = open_inputs(entries, o, files);
  auto first_init = files.init(entries[0].init);
  train::LoadedModel model = train::load_model(
      machine, o.model,
      {.dtype = model_dtype(o, inputs[0].file, first_init.get()),
       .inputs = input_types(*inputs[0].file, o.accumulate),
       .loss = o.named_loss()});
  Graph& forward = model.graph;
  check_inputs(forward, inputs, o.accumulate,
               "the model takes " + train::inputs_in_words(o.model, forward));
  bool draws = std::ranges::any_of(
      entries, [](const MemberEntry& entry) { return entry.seed != 0; });
  if (model.contents && draws) model.contents->draw(forward);
  prepare_parameters(o, forward);
  std::vector<JobMember> members = read_values(o, forward, entries, optimizer);
  for (size_t k = 0; k < members.size(); ++k) {
    members[k].init = files.init(entries[k].init);
    if (members[k].init) members[k].init->check(forward.slots());
  }
  train::TrainerOptions trainer{
      .optimizer = std::move(optimizer),
      .schedules = read_schedules(o, entries),
      .micro_batches = o.accumulate,
      .precision = *find_dtype(o.precision),
      .threads = train::thread_count(o.threads, "braid step")};
  if (!o.members.empty()) {
    trainer.members = static_cast<int64_t>(members.size());
    if (inputs.size() == 1) trainer.shared_inputs = input_names(forward);
  }
  if (!o.plan.empty()) {
    trainer.plan = read_plan(o.plan, compile::segment_names(forward));
  }
  Feed feed(forward, inputs, o.accumulate);
  StepJob job{.forward = std::move(forward),
              .trainer = std::move(trainer),
              .members = std::move(members),
              .contents = std::move(model.contents),
              .initialised = initialised_patterns(o),
              .feed = std::move(feed),
              .device = device,
              .limit_bytes = limit_bytes,
              .steps = *o.steps,
              .checkpoint_every = o.checkpoint_every,
              .arguments = {}};
  job.arguments = arguments_json(job);
  return job;
}

std::string shared_words(const StepJob& job) {
  bool expects = std::ranges::any_of(job.members, [](const JobMember& member) {
    return draws_weights(member) && !member.init;
  });
  if (!expects || !job.contents || !job.initialised.empty()) return "";
  return job.contents->shared_words();
}

void initialise(const StepJob& job, train::Trainer& trainer) {
  std::vector<int64_t> seeds;
  for (const JobMember& member : job.members) seeds.push_back(member.seed);
  trainer.initialise(seeds);
  for (size_t k = 0; k < job.members.size(); ++k) {
    const JobMember& member = job.members[k];
    auto id = static_cast<int64_t>(k);
    if (job.contents) {
      job.contents->apply(
          trainer.state(), id,
          {.initialised = job.initialised, .draws = draws_weights(member)});
    }
    if (member.init) member.init->apply(trainer.state(), id);
    for (const auto& [name, value] : member.values) {
      trainer.set_hyper(id, name, value);
    }
  }
}

}  // namespace braid::cli
