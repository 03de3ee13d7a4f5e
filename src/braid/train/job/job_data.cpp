#include "braid/train/job/job_data.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/data/augment.h"
#include "braid/data/cast.h"
#include "braid/data/known_fields.h"
#include "braid/data/sources.h"
#include "braid/data/split.h"
#include "braid/io/problems.h"
#include "braid/passes/names.h"
#include "braid/train/job/job_file.h"
#include "braid/train/run/data_check.h"

namespace braid::train {
namespace {

using data::DatasetPtr;

data::Texts texts_of(const config::Options& options) {
  data::Texts texts;
  for (const config::Option& option : options) {
    texts[option.name] = option.text;
  }
  return texts;
}

// The option of a source that tells training from testing, and what it is for
// testing: {"part", "test"}.
std::optional<std::pair<std::string, std::string>> test_part(
    const data::Source& source) {
  for (const data::Option& option : source.options) {
    for (const std::string& choice : option.choices) {
      if (choice == "test" || choice == "val") return {{option.name, choice}};
    }
  }
  return std::nullopt;
}

// What two datasets of the same kind have in common. Lengths keep one text
// from looking like two.
std::string key_text(const DataConfig& config, const data::Texts& changes,
                     DType dtype) {
  std::string key = fmt::format("{} {}", config.source, dtype_name(dtype));
  auto add = [&](const data::Texts& texts) {
    key += fmt::format(" {}", texts.size());
    for (const auto& [name, text] : texts) {
      key += fmt::format(" {}:{}={}:{}", name.size(), name, text.size(), text);
    }
  };
  add(texts_of(config.options));
  add(changes);
  if (config.split) {
    key += fmt::format(" split {} {}", config.split->eval, config.split->seed);
  }
  return key;
}

// A key of `data` that is misspelt looks like an option of the source. Of those
// that take any, who gets it knows what it means.
void check_keys(const DataConfig& config) {
  if (data::takes_any_option(data::find_source(config.source).options)) return;
  const std::vector<std::string> keys = {
      "shuffle",   "shuffle_block", "shuffle_window", "order_seed",
      "allow_nan", "on_change",     "split",          "augment"};
  std::vector<std::string> known = keys;
  for (const data::Option& option : data::find_source(config.source).options) {
    known.push_back(option.name);
  }
  for (const config::Option& option : config.options) {
    if (std::ranges::find(known, option.name) != known.end()) continue;
    std::string nearest = nearest_name(option.name, known);
    if (std::ranges::find(keys, nearest) == keys.end()) continue;
    fail_usage("[data.{}] unknown option '{}'\nHINT: did you mean '{}'?",
               config.source, option.name, nearest);
  }
}

enum class Use { kTrain, kEval };

// What is evaluated is only brought to the same scale.
data::Texts changes_for(const DataConfig& config, Use use) {
  data::Texts changes = texts_of(config.augment);
  if (use == Use::kEval) {
    for (const std::string& name : data::random_changes()) changes.erase(name);
  }
  return changes;
}

// All samples, before they are changed: a dataset of the program, or that of
// the config.
DatasetPtr open_whole(const DataConfig& config, const DatasetPtr& given,
                      const std::vector<data::Field>* known) {
  if (given) return given;
  check_keys(config);
  data::Opening opening{.known = known};
  if (config.split) opening.split = {config.split->eval, config.split->seed};
  return data::open_source(config.source, texts_of(config.options), {},
                           opening);
}

// What the split leaves for the use; both parts are of one opened dataset.
DatasetPtr open_part(const DataConfig& config, const DatasetPtr& given, Use use,
                     DatasetCache& cache) {
  DatasetPtr whole =
      given ? given
            : cache.get("all of " + key_text(config, {}, DType::kFloat32),
                        [&] { return open_whole(config, nullptr, nullptr); });
  data::Parts parts =
      data::split_samples({config.split->eval, config.split->seed},
                          whole->size(), whole->reach(), whole->name());
  return data::part_of(
      whole, std::move(use == Use::kTrain ? parts.train : parts.eval));
}

// `known` are the fields of the training data; null: these are they.
DatasetPtr open_one(const DataConfig& config, const DatasetPtr& given, Use use,
                    DType dtype, DatasetCache& cache,
                    const std::vector<data::Field>* known = nullptr) {
  data::Texts changes = changes_for(config, use);
  auto open = [&] {
    DatasetPtr dataset = config.split ? open_part(config, given, use, cache)
                                      : open_whole(config, given, known);
    if (!changes.empty()) dataset = data::augment(dataset, changes);
    return data::cast_floats(dataset, dtype);
  };
  if (given && !config.split) return open();
  std::string key = key_text(config, changes, dtype);
  if (given) {
    key += fmt::format(" of {}", static_cast<const void*>(given.get()));
  }
  if (config.split) key += use == Use::kTrain ? " train" : " eval";
  if (known) key += data::known_text(*known);
  return cache.get(key, open);
}

// Whether the source has a test part, and the job trains on another.
bool leaves_test_part(const DataConfig& config) {
  if (config.source == kCustom) return false;
  auto part = test_part(data::find_source(config.source));
  if (!part) return false;
  const config::Option* given =
      config::find_option(config.options, part->first);
  return !given || given->text != part->second;
}

DatasetPtr open_eval(const JobConfig& config, const JobHooks& hooks,
                     DType dtype, DatasetCache& cache,
                     const std::vector<data::Field>& known) {
  if (config.eval.data) {
    return open_one(*config.eval.data, hooks.eval, Use::kEval, dtype, cache,
                    &known);
  }
  if (config.data.split) {
    return open_one(config.data, hooks.train, Use::kEval, dtype, cache);
  }
  if (hooks.train) return nullptr;
  auto test = evaluated_data(config);
  if (!test) return nullptr;
  return open_one(*test, nullptr, Use::kEval, dtype, cache, &known);
}

std::string type_text(const ValueType& type) {
  return fmt::format("{} {}", dtype_name(type.dtype), shape_text(type.shape));
}

std::string fields_text(const data::Dataset& dataset) {
  return data::fields_text(dataset.fields());
}

// Of labels that were mixed, what they were before: evaluation has those.
std::string label_text(const data::Field& field) {
  return data::field_text({field.name, DType::kInt64, {}});
}

void check_same_fields(const JobData& data) {
  auto texts = [](const data::Dataset& dataset) {
    std::vector<std::string> sorted;
    for (const data::Field& f : dataset.fields()) {
      sorted.push_back(f.is_mixed ? label_text(f) : field_text(f));
    }
    std::ranges::sort(sorted);
    return sorted;
  };
  if (texts(*data.train) == texts(*data.eval)) return;
  fail_usage("[data] training data have {}, eval data {}",
             fields_text(*data.train), fields_text(*data.eval));
}

std::vector<std::string> field_names(const data::Dataset& dataset) {
  std::vector<std::string> names;
  for (const data::Field& field : dataset.fields()) names.push_back(field.name);
  return names;
}

// Fields are known by their number from here on, so those of the evaluation
// take the order of training.
DatasetPtr in_order_of(const data::Dataset& train, const DatasetPtr& eval,
                       DatasetCache& cache) {
  std::vector<std::string> names;
  std::string key =
      fmt::format("order of {}", static_cast<const void*>(eval.get()));
  for (const data::Field& field : train.fields()) {
    names.push_back(field.name);
    key += fmt::format(" {}:{}", field.name.size(), field.name);
  }
  return cache.get(key, [&] { return data::ordered_fields(eval, names); });
}

void check_inputs(const JobData& data) {
  for (const auto& [field, argument] : data.inputs) {
    if (data.train->find_field(field)) continue;
    std::vector<std::string> known;
    for (const data::Field& f : data.train->fields()) known.push_back(f.name);
    fail_usage(
        "[inputs] the data have no field '{}', but {}\n"
        "HINT: write inputs: {{FIELD: ARGUMENT}}; did you mean '{}'?",
        field, fields_text(*data.train), nearest_name(field, known));
  }
}

// Why a field cannot be that input; empty when it can.
std::string problem_of(const JobData& data, size_t number, const Value& value,
                       int64_t rows, const IndexRange* range) {
  const data::Field& field = data.train->fields()[number];
  ValueType type{field.dtype, field.shape};
  type.shape.insert(type.shape.begin(), rows);
  if (type != value.type) {
    return fmt::format("is {}, the field '{}' gives {}", type_text(value.type),
                       field.name, type_text(type));
  }
  if (range && data.classes(number) > range->size) {
    std::string where = first_outside(*data.train, number, *range, kLongCheck);
    if (where.empty() && data.eval) {
      where = first_outside(*data.eval, number, *range, kLongCheck);
    }
    return fmt::format("takes {} classes, the field '{}' has {}{}{}",
                       range->size, field.name, data.classes(number),
                       where.empty() ? "" : ": ", where);
  }
  return {};
}

// What `inputs` names in vain, which may be why others are missing.
std::string unused_inputs(const JobData& data, const Graph& forward) {
  std::string text;
  for (const auto& [field, argument] : data.inputs) {
    if (forward.find_input(argument) != kNone) continue;
    text += fmt::format("\n  there is no argument '{}' for the field '{}'",
                        argument, field);
  }
  return text;
}

// Images without channels are what most arrays of grey ones are.
std::string channels_hint(const JobData& data, const Graph& forward) {
  for (ValueId id : forward.inputs()) {
    const Value& value = forward.value(id);
    auto number = data.field_of(value.name);
    if (!number || value.type.shape.size() != 4) continue;
    const data::Field& field = data.train->fields()[*number];
    if (field.shape.size() != 2) continue;
    return fmt::format(
        "\nHINT: images have channels, [C, H, W]: save {}[:, None], which is "
        "[N, 1, {}, {}]",
        field.name, field.shape[0], field.shape[1]);
  }
  return {};
}

// A program runs where it was named, also when the run is resumed from
// elsewhere.
void add_folder(DataConfig& data) {
  const config::Option* command = config::find_option(data.options, "command");
  if (data.source != "command" || !command ||
      config::find_option(data.options, "folder")) {
    return;
  }
  config::Option folder{.name = "folder", .text = "."};
  folder.folder = command->folder;
  data.options.push_back(folder);
}

}  // namespace

std::string JobData::argument(const std::string& field) const {
  auto given = inputs.find(field);
  return given == inputs.end() ? field : given->second;
}

std::optional<size_t> JobData::field_of(const std::string& name) const {
  for (size_t i = 0; i < train->fields().size(); ++i) {
    if (argument(train->fields()[i].name) == name) return i;
  }
  return std::nullopt;
}

int64_t JobData::classes(size_t field) const {
  int64_t count = train->fields()[field].classes;
  return eval ? std::max(count, eval->fields()[field].classes) : count;
}

std::optional<DataConfig> evaluated_data(const JobConfig& config) {
  if (config.eval.data) return config.eval.data;
  bool has_part = config.data.source != kCustom && !config.data.split &&
                  leaves_test_part(config.data);
  if (!has_part) return std::nullopt;
  auto part = test_part(data::find_source(config.data.source));
  DataConfig test = config.data;
  std::erase_if(test.options, [&](const config::Option& option) {
    return option.name == part->first;
  });
  test.options.push_back({part->first, part->second});
  return test;
}

DatasetPtr open_unchanged(const JobConfig& job, const DataConfig& config,
                          const JobHooks& hooks,
                          const std::vector<data::Field>* known) {
  DatasetCache own;
  bool is_training = config.split && !known;  // else what is held back
  Use use = is_training ? Use::kTrain : Use::kEval;
  return open_one(config, nullptr, use, *find_dtype(job.dtype),
                  hooks.datasets ? *hooks.datasets : own, known);
}

std::vector<std::string> class_names(const data::Dataset& data,
                                     int64_t classes) {
  std::vector<std::string> names;
  for (const data::Field& field : data.fields()) {
    bool fits = std::ssize(field.class_names) == classes;
    if (!fits || field.class_names == names) continue;
    if (!names.empty()) return {};
    names = field.class_names;
  }
  return names;
}

// Sources that number labels themselves do so by what each file shows: the
// same number must not stand for another label.
void check_same_classes(const data::Dataset& train, const data::Dataset& other,
                        const std::vector<std::string>& fields) {
  for (const std::string& name : fields) {
    auto here = train.find_field(name), there = other.find_field(name);
    if (!here || !there) continue;
    const auto& names = train.fields()[*here].class_names;
    const auto& others = other.fields()[*there].class_names;
    size_t common = std::min(names.size(), others.size());
    for (size_t i = 0; i < common; ++i) {
      if (names[i] == others[i]) continue;
      fail_world(
          "[data] class {} of the field '{}' is '{}' in training ({}) and "
          "'{}' in evaluation ({})\n"
          "HINT: both need the same labels; of csv, write the same 'names', "
          "and of text take both parts from one file",
          i, name, io::shown(names[i]), train.name(), io::shown(others[i]),
          other.name());
    }
  }
}

// Numbers of a table that was prepared mean nothing beside others. Sources
// that can prepare them do so by what training taught.
void check_same_tables(const data::Dataset& train, const data::Dataset& other) {
  auto has_table = [](const data::Dataset& dataset) {
    return std::ranges::any_of(dataset.fields(), [](const data::Field& f) {
      return f.table != nullptr;
    });
  };
  if (!has_table(train) || has_table(other)) return;
  fail_usage(
      "[data] training data of {} are filled, standardised or numbered by "
      "their source, evaluation data of {} are not\n"
      "HINT: evaluate on data of the source 'csv', which are read alike",
      train.name(), other.name());
}

JobData open_data(const JobConfig& config, const JobHooks& hooks) {
  DType dtype = *find_dtype(config.dtype);
  DatasetCache own;
  DatasetCache& cache = hooks.datasets ? *hooks.datasets : own;
  JobData data{
      .train = open_one(config.data, hooks.train, Use::kTrain, dtype, cache),
      .eval = nullptr,
      .inputs = config.inputs};
  check_inputs(data);
  if (!config.phases.empty()) return data;
  data.eval = open_eval(config, hooks, dtype, cache, data.train->fields());
  if (!data.eval) return data;
  if (config.eval.limit) {
    DatasetPtr whole = data.eval;
    std::string key = fmt::format("first {} of {}", *config.eval.limit,
                                  static_cast<const void*>(whole.get()));
    data.eval = cache.get(
        key, [&] { return data::first_samples(whole, *config.eval.limit); });
  }
  check_same_fields(data);
  check_same_classes(*data.train, *data.eval, field_names(*data.train));
  check_same_tables(*data.train, *data.eval);
  data.eval = in_order_of(*data.train, data.eval, cache);
  if (config.data.split) {
    data.eval_words = leaves_test_part(config.data)
                          ? "by data.split; the test part of the source is "
                            "not used"
                          : "by data.split";
  }
  return data;
}

void resolve_data_paths(JobConfig& config) {
  add_folder(config.data);
  if (config.eval.data) add_folder(*config.eval.data);
  resolve_paths(config, [](const std::string& source, const std::string& name) {
    using Kind = data::Option::Kind;
    if (source == kCustom) return PathKind::kNone;
    for (const data::Option& option : data::find_source(source).options) {
      if (option.name != name) continue;
      if (option.kind == Kind::kPath) return PathKind::kPath;
      if (option.kind == Kind::kFiles) return PathKind::kFiles;
    }
    return PathKind::kNone;
  });
}

std::map<std::string, ValueType> argument_types(const JobData& data,
                                                int64_t rows) {
  std::map<std::string, ValueType> types;
  for (const data::Field& field : data.train->fields()) {
    ValueType type{field.dtype, field.shape};
    if (field.is_mixed) type = {DType::kInt64, {}};
    type.shape.insert(type.shape.begin(), rows);
    types[data.argument(field.name)] = type;
  }
  return types;
}

void check_arguments(const JobData& data, const Graph& forward, int64_t rows,
                     const std::vector<std::string>& others) {
  std::string problems;
  auto ranges = index_ranges(forward);
  for (ValueId id : forward.inputs()) {
    const Value& value = forward.value(id);
    bool is_given = value.name == passes::kMicroInput ||
                    std::ranges::find(others, value.name) != others.end();
    if (is_given) continue;
    auto field = data.field_of(value.name);
    auto range = ranges.find(value.name);
    std::string problem =
        !field ? fmt::format("{} has no field", type_text(value.type))
               : problem_of(data, *field, value, rows,
                            range == ranges.end() ? nullptr : &range->second);
    if (problem.empty()) continue;
    problems += fmt::format("\n  argument '{}' {}", value.name, problem);
  }
  if (problems.empty()) return;
  problems += unused_inputs(data, forward);
  fail_usage(
      "[data] {} does not fit the model:{}\n"
      "HINT: it has {}; 'inputs: {{FIELD: ARGUMENT}}' names which is which{}",
      data.train->name(), problems, fields_text(*data.train),
      channels_hint(data, forward));
}

}  // namespace braid::train
