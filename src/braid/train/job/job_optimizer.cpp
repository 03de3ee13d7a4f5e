#include "braid/train/job/job_optimizer.h"

#include <array>

#include "braid/base/error.h"
#include "braid/base/numbers.h"
#include "braid/config/value_types.h"
#include "braid/passes/step/option_range.h"

namespace braid::train {
namespace {

using config::Option;
using config::Problem;

using Values = std::vector<std::pair<std::string, double>>;

// What is wrong with a value, on its way to the table of problems.
struct Refusal {
  Problem problem;
};

// Values that the optimizer pass knows and a job has elsewhere.
constexpr std::array<std::pair<const char*, const char*>, 4> kElsewhere = {
    {{"clip_norm", "clip.norm"},
     {"clip_value", "clip.value"},
     {"ema_decay", "ema"},
     {"skip_nonfinite", "on_nan"}}};

void check_place(const std::string& name) {
  for (auto [option, key] : kElsewhere) {
    if (name != option) continue;
    throw Refusal{{"is no value of an optimizer",
                   fmt::format("write the key '{}' of the job", key)}};
  }
}

double read_number(const std::string& name, const std::string& text) {
  auto flag = parse_flag(text);
  auto number = flag ? std::optional<double>(*flag) : parse_number(text);
  if (!number) {
    throw Refusal{
        {fmt::format("is a number, got '{}'", config::shown_text(text)),
         "write it as 0.1 or 3e-4"}};
  }
  passes::Range range = passes::option_range(name);
  if (range.holds(*number)) return *number;
  throw Refusal{{fmt::format("is {}, got {}", range.text(), text)}};
}

// PyTorch's name for the two.
Values read_betas(const Option& option) {
  config::Node list = config::option_node(option.text);
  if (!list.is_list() || list.items.size() != 2) {
    throw Refusal{{fmt::format("is a list of two numbers, got '{}'",
                               config::shown_text(option.text)),
                   "write it as [0.9, 0.999]"}};
  }
  return {{"beta1", read_number("beta1", list.items[0].text)},
          {"beta2", read_number("beta2", list.items[1].text)}};
}

Values read_values(const Option& option) {
  check_place(option.name);
  if (option.name == "betas") return read_betas(option);
  return {{option.name, read_number(option.name, option.text)}};
}

// Makes an optimizer and gathers what is wrong with its values.
class OptimizerMaker {
 public:
  OptimizerMaker(std::string prefix, const OptimizerConfig& config)
      : prefix_(std::move(prefix)), optimizer_(passes::make_optimizer("sgd")) {
    gather(prefix_ + "optimizer.kind",
           [&] { optimizer_ = passes::make_optimizer(config.kind); });
    if (!problems_.empty()) return;
    for (const Option& option : config.values) add(option);
  }

  void add(const std::vector<GroupConfig>& groups) {
    for (size_t i = 0; i < groups.size(); ++i) {
      add(groups[i], fmt::format("{}groups.{}.", prefix_, i));
    }
  }

  const passes::Optimizer& optimizer() const { return optimizer_; }
  const std::vector<KeyProblem>& problems() const { return problems_; }

 private:
  void add(const Option& option) {
    gather(prefix_ + "optimizer." + option.name, [&] {
      for (const auto& [name, value] : read_values(option)) {
        passes::set_option(optimizer_, name, value);
      }
    });
  }

  // Each value is tried alone, so that each problem is found.
  void add(const GroupConfig& group, const std::string& prefix) {
    if (group.pattern.empty()) {
      problems_.push_back(
          {prefix + "pattern", {prefix + "pattern is missing"}});
    }
    passes::ParameterGroup all{group.pattern, {}};
    for (const Option& option : group.values) {
      gather(prefix + option.name, [&] {
        for (const auto& [name, value] : read_values(option)) {
          passes::Optimizer trial = optimizer_;
          passes::add_group(trial, {group.pattern, {{name, value}}});
          all.values[name] = value;
        }
      });
    }
    passes::add_group(optimizer_, all);
  }

  template <class Call>
  void gather(const std::string& key, Call call) {
    try {
      call();
    } catch (const Refusal& refusal) {
      problems_.push_back(
          {key, {key + " " + refusal.problem.text, refusal.problem.hint}});
    } catch (const std::invalid_argument& error) {
      Problem problem = config::problem_of(error);
      problems_.push_back({key, {key + ": " + problem.text, problem.hint}});
    }
  }

  std::string prefix_;
  passes::Optimizer optimizer_;
  std::vector<KeyProblem> problems_;
};

passes::Optimizer make(const JobConfig& job, const OptimizerConfig& config,
                       const std::vector<GroupConfig>& groups) {
  OptimizerMaker maker("", config);
  maker.add(groups);
  config::Report report("job", "");
  for (const KeyProblem& p : maker.problems()) report.add({}, p.problem);
  report.throw_if_any();
  passes::Optimizer optimizer = maker.optimizer();
  if (job.clip.norm) set_option(optimizer, "clip_norm", *job.clip.norm);
  if (job.clip.value) set_option(optimizer, "clip_value", *job.clip.value);
  if (job.ema) set_option(optimizer, "ema_decay", *job.ema);
  if (job.on_nan == "skip") set_option(optimizer, "skip_nonfinite", 1);
  return optimizer;
}

}  // namespace

passes::Optimizer optimizer_of(const JobConfig& job) {
  return make(job, job.optimizer, job.groups);
}

passes::Optimizer optimizer_of(const JobConfig& job,
                               const NetworkConfig& network) {
  return make(job, network.optimizer, network.groups);
}

std::vector<KeyProblem> optimizer_problems(
    const std::string& prefix, const OptimizerConfig& optimizer,
    const std::vector<GroupConfig>& groups) {
  OptimizerMaker maker(prefix, optimizer);
  maker.add(groups);
  return maker.problems();
}

}  // namespace braid::train
