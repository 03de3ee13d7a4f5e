#include "braid/train/job/job_model.h"

#include <fmt/ranges.h>

#include <algorithm>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/graph/init.h"
#include "braid/ops/build/named_losses.h"
#include "braid/passes/names.h"
#include "braid/passes/rewrite/dead_code.h"
#include "braid/passes/rewrite/trainable.h"
#include "braid/passes/step/label_smoothing.h"
#include "braid/train/job/init_file.h"
#include "braid/train/job/init_run.h"
#include "braid/train/job/job_loss.h"
#include "braid/train/job/job_metrics.h"
#include "braid/train/job/job_optimizer.h"
#include "braid/train/job/mixed_targets.h"
#include "braid/train/job/model_state.h"
#include "braid/train/job/phase_graph.h"
#include "braid/train/run/metrics.h"
#include "braid/train/run/norm_log.h"

namespace braid::train {
namespace {

std::optional<passes::Schedule> make_schedule(const std::string& text) {
  passes::Schedule schedule = passes::parse_schedule(text);
  if (schedule == passes::parse_schedule("constant")) return std::nullopt;
  return schedule;
}

JobNetwork make_network(const JobConfig& job, std::string name,
                        NetworkConfig config) {
  JobNetwork network{.name = std::move(name),
                     .config = std::move(config),
                     .optimizer = {},
                     .schedule = {},
                     .contents = {}};
  network.optimizer = optimizer_of(job, network.config);
  network.optimizer.scope = network.name;
  network.schedule = make_schedule(network.config.schedule);
  // Patterns are written without the network's name.
  for (passes::ParameterGroup& group : network.optimizer.groups) {
    group.pattern = network.prefix() + group.pattern;
  }
  return network;
}

// The only network of a job with `model:`.
NetworkConfig single_network(const JobConfig& job) {
  return {.model = job.model,
          .output = job.output,
          .optimizer = job.optimizer,
          .schedule = job.schedule,
          .init = job.init,
          .freeze = job.freeze,
          .groups = job.groups};
}

std::map<std::string, int64_t> argument_classes(const JobData& data) {
  std::map<std::string, int64_t> classes;
  for (size_t i = 0; i < data.train->fields().size(); ++i) {
    const std::string& field = data.train->fields()[i].name;
    if (data.classes(i) > 0) classes[data.argument(field)] = data.classes(i);
  }
  return classes;
}

void keep_outputs(Graph& graph, const std::vector<std::string>& wanted) {
  std::erase_if(graph.outputs(), [&](const Output& output) {
    return output.name != "loss" &&
           std::ranges::find(wanted, output.name) == wanted.end();
  });
}

ModelHints hints_for(const JobConfig& job, const std::string& model,
                     std::map<std::string, ValueType> inputs) {
  ModelHints hints{.inputs = std::move(inputs)};
  if (!is_model_file(model)) hints.dtype = find_dtype(job.dtype);
  return hints;
}

void check_draws(const JobNetwork& network) {
  if (network.config.init.from != "seed") return;
  if (network.contents && network.contents->has_draws()) return;
  fail_usage(
      "[init] from: '{}' does not tell how its parameters are drawn\n"
      "HINT: export it with scripts/export_model.py, or name initialisers, as "
      "init: {{'*.weight': xavier_uniform}}",
      network.config.model);
}

bool has_rows(const Graph& graph, const Output& output, int64_t rows) {
  const Shape& shape = graph.value(output.value).type.shape;
  return !shape.empty() && shape[0] == rows;
}

// That one alone, else all with a row for each sample.
void choose_outputs(Graph& graph, const std::string& model,
                    const std::string& name, int64_t rows) {
  std::vector<std::string> known;
  for (const Output& output : graph.outputs()) {
    if (has_rows(graph, output, rows)) known.push_back(output.name);
  }
  bool is_known = std::ranges::find(known, name) != known.end();
  if (known.empty()) {
    fail_usage(
        "[model] '{}' gives nothing that has a row for each sample, so there "
        "is "
        "nothing to predict\n"
        "HINT: return it beside the loss, as {{'loss': loss, 'scores': "
        "scores}}, "
        "or export without a loss and name it in the job",
        model);
  }
  if (!name.empty() && !is_known) {
    fail_usage(
        "[model] '{}' has no output '{}' with a row for each sample\n"
        "HINT: it has {}",
        model, name, fmt::join(known, ", "));
  }
  std::erase_if(graph.outputs(), [&](const Output& output) {
    bool is_wanted = name.empty() || output.name == name;
    return !is_wanted || !has_rows(graph, output, rows);
  });
}

bool begins_with_file(const JobNetwork& network) {
  const InitConfig& init = network.config.init;
  return !init.file.empty() || !init.run.empty();
}

InitFile init_file(const JobNetwork& network) {
  const InitConfig& init = network.config.init;
  return InitFile(init_path(network), {.missing = init.missing,
                                       .reshaped = init.reshaped,
                                       .extra = init.extra,
                                       .rename = init.rename});
}

void add_learning(const Graph& forward, std::vector<std::string>& names) {
  for (const Slot& slot : forward.slots()) {
    bool learns = slot.role == Role::kParameter && slot.trainable;
    if (learns) names.push_back(slot.name);
  }
}

void check_norms(const NormsConfig& norms,
                 const std::vector<std::string>& learning) {
  for (const std::string& pattern : norms.of) {
    bool fits = std::ranges::any_of(learning, [&](const std::string& name) {
      return fits_pattern(name, pattern);
    });
    if (fits || pattern == kLayers) continue;
    fail_usage(
        "[job] log_norms.of: '{}' fits no parameter that learns\n"
        "HINT: did you mean '{}'? 'layers' has a norm of each layer",
        pattern, nearest_name(pattern, learning));
  }
}

[[noreturn]] void fail_unknown_argument(const std::string& field,
                                        const std::string& argument,
                                        const std::vector<std::string>& known) {
  std::string near = near_name(argument, known);
  fail_usage(
      "[inputs] there is no argument '{}' for the field '{}'; there {} {}{}",
      argument, field, known.size() == 1 ? "is" : "are", fmt::join(known, ", "),
      near.empty() ? "" : fmt::format("\nHINT: did you mean '{}'?", near));
}

}  // namespace

JobModel::JobModel(const runtime::Machine& machine, const JobConfig& config,
                   const JobData& data, const JobHooks& hooks)
    : machine_(machine),
      own_files_(machine),
      files_(hooks.models ? hooks.models : &own_files_),
      config_(config),
      data_(data),
      loss_(hooks.loss),
      given_(hooks.given),
      learns_(hooks.learns) {
  if (given_) {
    networks_.push_back({.name = "",
                         .config = {.init = config.init},
                         .optimizer = given_->optimizer,
                         .schedule = given_->schedule,
                         .contents = given_->contents});
    phases_.push_back({});
    return;
  }
  if (config.phases.empty()) check_renamed();
  add_networks();
  for (const JobNetwork& network : networks_) check_draws(network);
  if (!learns_) return;
  int64_t rows = config.batch_size / config.accumulate;
  std::vector<std::string> learning;
  for (size_t i = 0; i < phases_.size(); ++i) {
    Graph graph = forward(i, rows);
    add_learning(graph, learning);
    check_arguments(data_, graph, rows, noise_names());
    add_inputs(inputs_, graph);
  }
  check_norms(config.log_norms, learning);
  data.eval ? prepare_eval(rows) : check_unwatched(config);
}

void JobModel::prepare_eval(int64_t rows) {
  // The import knows the outputs of a .pt2 file.
  if (!config_.model.ends_with(".pt2")) {
    check_metric_names(config_.eval.metrics, output_names(rows));
  }
  metrics_ = config_.eval.metrics;
  if (metrics_.empty()) metrics_ = default_metrics(eval(rows));
  check_watched(config_, metrics_);
  Graph graph = eval(rows);
  num_classes_ = train::num_classes(graph);
  check_arguments({data_.eval, nullptr, data_.inputs}, graph, rows, {});
  add_inputs(inputs_, graph);
}

// A field that `inputs` gives to no argument would be left out in silence, or
// be taken for the target of the loss.
void JobModel::check_renamed() const {
  if (config_.inputs.empty()) return;
  std::vector<std::string> known = input_names(*files_, config_.model);
  bool has_target = !config_.target.empty();
  if (has_target) known.push_back(config_.target);
  bool finds_target =
      learns_ && !has_target && (loss_ || !config_.loss.empty());
  for (const auto& [field, argument] : config_.inputs) {
    if (std::ranges::find(known, argument) != known.end()) continue;
    if (finds_target && is_only_target(argument, known)) continue;
    fail_unknown_argument(field, argument, known);
  }
}

// Of an exported model the one field that its forward does not take is what
// the loss compares with.
bool JobModel::is_only_target(const std::string& argument,
                              const std::vector<std::string>& taken) const {
  if (!is_exported()) return false;
  for (const data::Field& field : data_.train->fields()) {
    std::string name = data_.argument(field.name);
    bool is_free = std::ranges::find(taken, name) == taken.end();
    if (is_free && name != argument) return false;
  }
  return std::ranges::all_of(taken, [&](const std::string& name) {
    return data_.field_of(name).has_value();
  });
}

// What the data and the job tell about the only model.
ModelHints JobModel::single_hints(int64_t rows) const {
  ModelHints hints =
      hints_for(config_, config_.model, argument_types(data_, rows));
  hints.classes = argument_classes(data_);
  if (learns_) hints.loss = named_loss();
  return hints;
}

std::vector<std::string> JobModel::output_names(int64_t rows) const {
  std::vector<std::string> names;
  Graph graph =
      load_with_outputs(*files_, config_.model, single_hints(rows)).graph;
  for (const Output& output : graph.outputs()) names.push_back(output.name);
  return names;
}

void JobModel::add_networks() {
  if (config_.phases.empty()) {
    networks_.push_back(make_network(config_, "", single_network(config_)));
    phases_.push_back({});
    ModelHints hints = single_hints(config_.batch_size / config_.accumulate);
    hints.needs_loss = learns_ && !loss_;
    LoadedModel model = load_model(*files_, config_.model, hints);
    networks_[0].contents = model.contents;
    slots_ = model.graph.slots();
    return;
  }
  for (const std::string& name : noise_names()) {
    if (!data_.field_of(name)) continue;
    fail_usage(
        "[job] noise.{} has the name of a field of the data\n"
        "HINT: call it by a name of its own",
        name);
  }
  for (const auto& [name, config] : config_.networks) {
    networks_.push_back(make_network(config_, name, config));
  }
  for (const PhaseConfig& phase : config_.phases) {
    auto learner =
        std::ranges::find(networks_, phase.learns, &JobNetwork::name);
    phases_.push_back({static_cast<size_t>(learner - networks_.begin()),
                       phase.every, parse_expression(phase.loss)});
  }
  for (JobNetwork& network : networks_) {
    if (!network.config.model.ends_with(".pt2")) continue;
    network.contents =
        load_network(*files_, network.config.model, {}, network.config.output)
            .contents;
  }
}

std::vector<std::string> JobModel::noise_names() const {
  std::vector<std::string> names;
  for (const auto& [name, unused] : config_.noise) names.push_back(name);
  return names;
}

// Of an exported model it is a field that the forward does not take.
std::string JobModel::target_name() const {
  if (!config_.target.empty() || !is_exported()) return config_.target;
  std::vector<std::string> taken = input_names(*files_, config_.model), free;
  for (const data::Field& field : data_.train->fields()) {
    std::string name = data_.argument(field.name);
    if (std::ranges::find(taken, name) == taken.end()) free.push_back(name);
  }
  if (free.size() == 1) return free[0];
  fail_usage(
      "[loss] which field is the target of the loss?\n"
      "HINT: name it, as 'target: y'");
}

// A .pt2 file gets its loss on import; others have one.
std::optional<io::pt2::NamedLoss> JobModel::named_loss() const {
  if (config_.loss.empty() || loss_ || !is_exported()) return {};
  return io::pt2::NamedLoss{config_.loss, config_.output, target_name()};
}

// With the outputs that a loss may be made of.
Graph JobModel::load_for_loss(ModelHints hints) const {
  if (!is_exported()) {
    return load_with_outputs(*files_, config_.model, hints).graph;
  }
  // An exported model counts its outputs.
  std::string output = config_.output.empty() ? "0" : config_.output;
  hints.outputs.insert(hints.outputs.begin(), output);
  hints.needs_loss = false;
  return load_model(*files_, config_.model, hints).graph;
}

Graph JobModel::load_single(int64_t rows, Form form) const {
  const std::string& model = config_.model;
  ModelHints hints = single_hints(rows);
  hints.form = form;
  hints.outputs = metric_outputs(
      form == Form::kEval ? metrics_ : std::vector<std::string>());
  bool replaces = !config_.loss.empty() && !hints.loss;
  if (!replaces) return load_model(*files_, model, hints).graph;
  Graph graph =
      replace_loss(machine_.ops(), load_for_loss(hints),
                   {.model = model,
                    .output = config_.output,
                    .target = target_name(),
                    .inputs = hints.inputs},
                   loss_ ? loss_ : LossFunction(parse_loss(config_.loss)));
  keep_outputs(graph, hints.outputs);
  passes::remove_dead_code(machine_.ops(), graph);
  return graph;
}

Graph JobModel::build_phase(const JobPhase& phase, int64_t rows) const {
  auto types = argument_types(data_, rows);
  for (const auto& [name, noise] : config_.noise) {
    ValueType type{*find_dtype(config_.dtype), noise.shape};
    type.shape.insert(type.shape.begin(), rows);
    types[name] = type;
  }
  PhaseNetworks networks;
  for (const JobNetwork& network : networks_) {
    const NetworkConfig& c = network.config;
    networks[network.name] = {
        .names = input_names(*files_, c.model),
        .build = [&](const std::map<std::string, ValueType>& inputs) {
          return load_network(*files_, c.model,
                              hints_for(config_, c.model, inputs), c.output)
              .graph;
        }};
  }
  return build_phase_graph(machine_.ops(), phase.loss, networks, types);
}

// What begins how, what does not learn, and what members may vary.
void JobModel::prepare(Graph& forward, const JobNetwork& learner) const {
  forward = passes::free_label_smoothing(forward);
  for (const JobNetwork& network : networks_) {
    if (draws(network)) network.contents->draw(forward, network.prefix());
    for (const config::Option& rule : network.config.init.rules) {
      passes::initialise(forward, network.prefix() + rule.name,
                         parse_init(rule.text));
    }
  }
  for (size_t i = 0; i < forward.slots().size(); ++i) {
    Slot& slot = forward.slot(static_cast<SlotId>(i));
    if (!slot.name.starts_with(learner.prefix())) slot.trainable = false;
  }
  std::vector<std::string> frozen;
  for (const std::string& pattern : learner.config.freeze) {
    frozen.push_back(learner.prefix() + pattern);
  }
  passes::freeze(forward, frozen);
}

Graph JobModel::forward(size_t phase, int64_t rows) const {
  if (given_) return *given_->forward;
  const JobPhase& p = phases_[phase];
  Graph graph = config_.phases.empty() ? load_single(rows, Form::kTrain)
                                       : build_phase(p, rows);
  take_mixed_targets(graph, data_, rows);
  prepare(graph, networks_[p.network]);
  passes::check_trainable(graph);
  return graph;
}

Graph JobModel::eval(int64_t rows) const {
  Graph graph = load_single(rows, Form::kEval);
  prepare(graph, networks_[0]);
  add_metric_outputs(graph, metrics_, tables());
  passes::remove_dead_code(machine_.ops(), graph);
  return graph;
}

Graph JobModel::outputs(int64_t rows, const std::string& name) const {
  ModelHints hints = single_hints(rows);
  hints.form = Form::kEval;
  Graph graph = load_outputs(*files_, config_.model, hints).graph;
  choose_outputs(graph, config_.model, name, rows);
  passes::remove_dead_code(machine_.ops(), graph);
  return without_unused_inputs(graph);
}

bool JobModel::draws(const JobNetwork& network) const {
  if (!network.contents || !network.contents->has_draws()) return false;
  const std::string& from = network.config.init.from;
  return from == "seed" || (from == "auto" && config_.seed != 0);
}

std::string JobModel::shared_words() const {
  for (const JobNetwork& network : networks_) {
    const InitConfig& init = network.config.init;
    bool is_expected = config_.seed != 0 && init.from != "file" &&
                       !begins_with_file(network) && init.rules.empty();
    if (!is_expected || !network.contents) continue;
    std::string words = network.contents->shared_words();
    if (!words.empty()) return words;
  }
  return "";
}

void JobModel::initialise(runtime::State& state) const {
  state.initialise(std::vector<int64_t>{config_.seed});
  load_files(state, 0);
}

// Weights of a form that has all layers, for one that may lack some.
void JobModel::load_weights(runtime::State& state,
                            const InitFile& weights) const {
  state.initialise(std::vector<int64_t>{config_.seed});
  if (networks_[0].contents) {
    networks_[0].contents->apply(state, 0, {.draws = draws(networks_[0])});
  }
  std::vector<Slot> slots = state.slots();
  for (const Slot& slot : slots_) {
    if (std::ranges::find(slots, slot.name, &Slot::name) == slots.end()) {
      slots.push_back(slot);
    }
  }
  weights.check(slots);
  weights.apply(state, 0);
}

std::vector<JobModel::InitNote> JobModel::init_notes(
    const std::vector<Slot>& slots, int64_t lane) const {
  std::vector<InitNote> notes;
  for (const JobNetwork& network : networks_) {
    if (!begins_with_file(network)) continue;
    InitFile file = init_file(network);
    InitFit fit = file.check(slots, network.prefix(), lane);
    std::string of = network.name.empty() ? "" : network.name + ": ";
    notes.push_back({of + fit.summary(file.name()), fit.details()});
  }
  return notes;
}

void JobModel::load_files(runtime::State& state, int64_t lane) const {
  for (const JobNetwork& network : networks_) {
    FirstWeights how{.prefix = network.prefix(), .draws = draws(network)};
    for (const config::Option& rule : network.config.init.rules) {
      how.initialised.push_back(rule.name);
    }
    if (network.contents) network.contents->apply(state, lane, how);
    if (!begins_with_file(network)) continue;
    InitFile file = init_file(network);
    file.check(state.slots(), network.prefix(), lane);
    file.apply(state, lane, network.prefix());
    take_optimizer_state(network, state, lane);
  }
  if (!given_) return;
  for (const auto& [name, value] : given_->values) {
    set_hyper(state, lane, name, value);
  }
}

}  // namespace braid::train
