// What can be wrong with a job besides the kinds and limits of its values.
#include <algorithm>
#include <cctype>
#include <set>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/data/split.h"
#include "braid/graph/init.h"
#include "braid/ops/build/named_losses.h"
#include "braid/passes/step/schedule.h"
#include "braid/plan/plan.h"
#include "braid/train/job/job_hooks.h"
#include "braid/train/job/job_optimizer.h"
#include "braid/train/job/loss_expression.h"

namespace braid::train {
namespace {

using Names = std::vector<std::string>;

// Names stand in expressions such as bce(discriminator(x), 1).
bool is_word(const std::string& name) {
  auto fits = [](unsigned char c) { return std::isalnum(c) || c == '_'; };
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name[0])) &&
         std::ranges::all_of(name, fits);
}

class Checker {
 public:
  explicit Checker(const JobConfig& job) : job_(job) {}

  std::vector<KeyProblem> run() {
    check_data("data", job_.data);
    if (job_.eval.data) check_data("eval.data", *job_.eval.data);
    check_split();
    check_length();
    check_inputs();
    check_types();
    check_tables();
    if (job_.networks.empty() && job_.phases.empty()) {
      check_model();
    } else {
      check_alone();
      check_networks();
      check_phases();
    }
    check_noise();
    check_plan();
    return std::move(problems_);
  }

 private:
  void add(const std::string& key, const std::string& text,
           const std::string& hint = {}) {
    problems_.push_back({key, {key + " " + text, hint}});
  }

  void check_plan() {
    for (const config::Option& o : job_.plan.segments) {
      gather("plan.segments." + o.name, [&] { plan::parse_decision(o.text); });
    }
  }

  // Keeps what an error says.
  template <class Call>
  void gather(const std::string& key, Call call) {
    try {
      call();
    } catch (const std::invalid_argument& error) {
      config::Problem problem = config::problem_of(error);
      problems_.push_back({key, {key + ": " + problem.text, problem.hint}});
    }
  }

  void check_mixing(const std::string& key, const DataConfig& data) {
    if (data.shuffle_window && !data.shuffle_block) {
      add(key + ".shuffle_window", "counts blocks, and there are none",
          "write shuffle_block: 1024 beside it");
    }
    if (data.shuffle_block && !data.shuffle) {
      add(key + ".shuffle_block", "mixes samples, and shuffle is false");
    }
  }

  void check_data(const std::string& key, const DataConfig& data) {
    check_mixing(key, data);
    if (!data.source.empty()) return;
    add(key + ".source", "is missing",
        "write " + key + ": {source: glyphs}; docs/data.md has all");
  }

  void check_split() {
    if (job_.eval.data && job_.eval.data->split) {
      add("eval.data.split", "is for training data: it is 'data.split'");
    }
    if (!job_.data.split) return;
    auto [eval, seed] = *job_.data.split;
    std::string problem = data::split_problem({eval, seed});
    if (!problem.empty()) {
      add("data.split.eval", problem,
          "write a share below 1 (0.1), or a number of samples from 2 on");
    }
    if (job_.eval.data) {
      add("data.split", "does not go with eval.data: which one is evaluated?",
          "leave one of them out");
    }
    if (!job_.phases.empty() || !job_.networks.empty()) {
      add("data.split", "does not go with networks, which are not evaluated");
    }
  }

  void check_length() {
    if (!job_.steps && !job_.epochs) {
      add("steps", "and epochs are missing: how long is the training?",
          "write epochs: 10 or steps: 1000");
    }
    if (job_.accumulate > 0 && job_.batch_size % job_.accumulate != 0) {
      add("accumulate",
          fmt::format("is {}, which does not divide the batch_size {}",
                      job_.accumulate, job_.batch_size));
    }
  }

  void check_inputs() {
    std::set<std::string> arguments;
    for (const auto& [field, argument] : job_.inputs) {
      if (arguments.insert(argument).second) continue;
      add("inputs." + field,
          fmt::format("is '{}', which another field is too", argument));
    }
  }

  void check_types() {
    if (job_.precision == "bf16" && job_.dtype == "f64") {
      add("precision", "is bf16, which goes with dtype f32 only");
    }
  }

  void check_tables() {
    const Names known{"classes", "confusion"};
    for (const std::string& name : job_.eval.tables) {
      if (std::ranges::count(known, name) > 0) continue;
      add("eval.tables",
          fmt::format("has '{}', which is no table", config::shown_text(name)),
          "there are classes and confusion");
    }
    if (std::ranges::count(job_.log_norms.of, "") > 0) {
      add("log_norms.of", "has an empty pattern");
    }
  }

  void check_model() {
    if (job_.model.empty()) {
      add("model", "is missing", "write model: lenet; docs/models.md has all");
    }
    if (job_.loss.empty()) {
      if (!job_.output.empty()) add_unread("output");
      if (!job_.target.empty()) add_unread("target");
    } else {
      gather("loss", [&] {
        if (job_.loss != kCustom) parse_loss(job_.loss);  // else a hook's
      });
    }
    check_network("", {.model = job_.model,
                       .optimizer = job_.optimizer,
                       .schedule = job_.schedule,
                       .init = job_.init,
                       .freeze = job_.freeze,
                       .groups = job_.groups});
  }

  void add_unread(const std::string& key) {
    add(key, "is what a loss reads, and the job names none",
        "write loss: cross_entropy");
  }

  void check_network(const std::string& prefix, const NetworkConfig& network) {
    gather(prefix + "schedule",
           [&] { passes::parse_schedule(network.schedule); });
    for (const config::Option& rule : network.init.rules) {
      gather(prefix + "init." + rule.name, [&] { parse_init(rule.text); });
    }
    check_init(prefix + "init", network.init);
    if (std::ranges::count(network.freeze, "") > 0) {
      add(prefix + "freeze", "has an empty pattern");
    }
    for (KeyProblem& problem :
         optimizer_problems(prefix, network.optimizer, network.groups)) {
      problems_.push_back(std::move(problem));
    }
  }

  void check_init(const std::string& key, const InitConfig& init) {
    for (const auto* patterns : {&init.missing, &init.reshaped, &init.extra}) {
      if (std::ranges::count(*patterns, "") > 0) {
        add(key, "has an empty pattern");
      }
    }
    if (!init.file.empty() && !init.run.empty()) {
      add(key, "has a file and a run, and can begin with one of them");
    }
    if (init.step && init.best) {
      add(key, "has a step and best, which are two checkpoints");
    }
    if (init.run.empty() && (init.step || init.best || init.optimizer)) {
      add(key, "step, best and optimizer are of a run", "name it: init.run");
    }
    bool allows = !init.missing.empty() || !init.reshaped.empty() ||
                  !init.extra.empty() || !init.rename.empty();
    if (!allows || !init.file.empty() || !init.run.empty()) return;
    add(key, "missing, reshaped, extra and rename say how a file may differ",
        "name it: init.file or init.run");
  }

  // Keys of a job with one model mean nothing here.
  void check_alone() {
    const JobConfig none;
    const std::vector<std::pair<const char*, bool>> given = {
        {"model", job_.model != none.model},
        {"output", job_.output != none.output},
        {"target", job_.target != none.target},
        {"loss", job_.loss != none.loss},
        {"optimizer", job_.optimizer != none.optimizer},
        {"schedule", job_.schedule != none.schedule},
        {"init", job_.init != none.init},
        {"freeze", job_.freeze != none.freeze},
        {"eval", job_.eval != none.eval},
        {"groups", job_.groups != none.groups}};
    for (const auto& [key, is_given] : given) {
      if (!is_given) continue;
      add(key, "does not go with networks",
          "each network and each phase has its own");
    }
  }

  void check_networks() {
    if (job_.networks.empty()) {
      add("networks", "is missing, which phases need");
    } else if (job_.phases.empty()) {
      add("phases", "is missing: which network learns from which loss?");
    }
    for (const auto& [name, network] : job_.networks) {
      std::string key = "networks." + name;
      check_word(key, name);
      if (network.model.empty()) add(key + ".model", "is missing");
      check_network(key + ".", network);
    }
  }

  void check_phases() {
    for (size_t i = 0; i < job_.phases.size(); ++i) {
      const PhaseConfig& phase = job_.phases[i];
      std::string key = fmt::format("phases.{}", i);
      if (phase.loss.empty()) {
        add(key + ".loss", "is missing");
      } else {
        gather(key + ".loss", [&] { parse_expression(phase.loss); });
      }
      check_learns(key + ".learns", phase.learns);
    }
  }

  void check_learns(const std::string& key, const std::string& name) {
    Names known;
    for (const auto& [network, unused] : job_.networks) {
      known.push_back(network);
    }
    if (std::ranges::count(known, name) > 0 || known.empty()) return;
    if (name.empty()) {
      add(key, "is missing");
    } else {
      add(key, fmt::format("is a network, got '{}'", config::shown_text(name)),
          name_hint(name, known));
    }
  }

  void check_noise() {
    if (!job_.noise.empty() && job_.networks.empty() && job_.phases.empty()) {
      add("noise", "is for the losses of phases, and the job has none");
    }
    for (const auto& [name, noise] : job_.noise) {
      std::string key = "noise." + name;
      check_word(key, name);
      if (job_.networks.contains(name)) add(key, "is the name of a network");
      if (noise.shape.empty()) {
        add(key + ".shape", "is missing", "write shape: [100]");
      }
    }
  }

  void check_word(const std::string& key, const std::string& name) {
    if (is_word(name)) return;
    add(key, "is a name of letters, digits and _",
        "it stands in the losses of phases");
  }

  const JobConfig& job_;
  std::vector<KeyProblem> problems_;
};

}  // namespace

std::vector<KeyProblem> problems_of(const JobConfig& job) {
  return Checker(job).run();
}

}  // namespace braid::train
