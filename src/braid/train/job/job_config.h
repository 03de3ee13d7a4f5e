// JobConfig: one training run as a job file says it. docs/job.md lists the
// keys; describe() is the table they come from. Plain values: no file is
// opened here, and what models, data sources and metrics there are is theirs
// to check.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "braid/config/section.h"

namespace braid::train {

// Samples held back from training to evaluate on, see data/split.h.
struct SplitConfig {
  double eval = 0;
  int64_t seed = 0;

  bool operator==(const SplitConfig&) const = default;
};

struct DataConfig {
  std::string source = {};  // "glyphs", "cifar10", ...
  bool shuffle = true;      // eval data: never
  // Of the order and of random changes; absent: the job's. Jobs with equal
  // data and equal seeds of them see the same batches.
  std::optional<int64_t> order_seed = {};
  bool allow_nan = false;        // floats that are not finite are no mistake
  config::Options augment = {};  // "crop", "flip", "mean", "std"
  config::Options options = {};  // the source's own
  std::optional<SplitConfig> split = {};  // of training data; absent: none
  // When a run is resumed and finds other data: warn, refuse.
  std::string on_change = "warn";
  // Samples of a block that is read as a whole, and blocks that are mixed with
  // each other; absent: every sample is drawn from all.
  std::optional<int64_t> shuffle_block = {};
  std::optional<int64_t> shuffle_window = {};  // absent: 16

  bool operator==(const DataConfig&) const = default;
};

// Values by name: those of the kind (ops/core/update_kinds.h), and `betas` for
// beta1 and beta2.
struct OptimizerConfig {
  std::string kind = "adamw";
  config::Options values = {};

  bool operator==(const OptimizerConfig&) const = default;
};

// Values of their own for parameters whose names fit.
struct GroupConfig {
  std::string pattern = {};
  config::Options values = {};

  bool operator==(const GroupConfig&) const = default;
};

struct ClipConfig {
  std::optional<double> norm = {};   // of all gradients together
  std::optional<double> value = {};  // of each element

  bool operator==(const ClipConfig&) const = default;
};

// What parameters begin with. The file comes last.
struct InitConfig {
  std::filesystem::path file = {};  // safetensors; empty: none
  // Another run's folder in place of the file: its weights of that step, of the
  // best evaluation, or the newest; with what its optimizer remembered.
  std::filesystem::path run = {};
  std::optional<int64_t> step = {};
  bool best = false;
  bool optimizer = false;
  // Where parameters of an exported model come from that the file tells how to
  // draw: file, seed; auto: the file for seed 0, else the seed.
  std::string from = "auto";
  // Where the file need not fit: names of the model that it may lack or have
  // in another shape, and names of its own that are left; then what its names
  // begin with -> what those of the model do.
  std::vector<std::string> missing = {}, reshaped = {}, extra = {};
  std::map<std::string, std::string> rename = {};
  config::Options rules = {};  // pattern -> "normal(std=0.02)", in order

  bool operator==(const InitConfig&) const = default;
};

struct EarlyStopConfig {
  std::string metric = {};    // empty: what the job calls best
  int64_t patience = 0;       // evaluations without a better one; 0: never stop
  double min_delta = 0;       // what counts as better
  std::string mode = "auto";  // min, max; auto: as the metric is

  bool operator==(const EarlyStopConfig&) const = default;
};

struct EvalConfig {
  std::optional<DataConfig> data = {};  // absent: the test part of the source
  int64_t every = 0;                    // steps; 0: at the end of each epoch
  std::optional<int64_t> batch_size = {};  // absent: that of training
  std::vector<std::string> metrics = {};   // empty: what suits the loss
  std::vector<std::string> tables = {};    // "classes", "confusion"
  EarlyStopConfig early_stop = {};
  std::optional<int64_t> limit = {};  // samples; absent: all

  bool operator==(const EvalConfig&) const = default;
};

struct CheckpointConfig {
  int64_t every = 0;  // steps; 0: only at the end
  int64_t keep = 2;
  std::string best = {};  // metric of the best one; empty: see best_by()

  bool operator==(const CheckpointConfig&) const = default;
};

// Norms of gradients and weights in the lines of metrics.
struct NormsConfig {
  bool on = false;
  // Of parameters that fit these patterns; "layers": of each layer. Some: it
  // is on.
  std::vector<std::string> of = {};

  bool is_on() const { return on || !of.empty(); }
  bool operator==(const NormsConfig&) const = default;
};

// One of several networks. `model`, `schedule` and `init` are as those of the
// job.
struct NetworkConfig {
  std::string model = {};
  std::string output = {};  // of an exported model: which one calls give
  OptimizerConfig optimizer = {};
  std::string schedule = "constant";
  InitConfig init = {};
  std::vector<std::string> freeze = {};
  std::vector<GroupConfig> groups = {};

  bool operator==(const NetworkConfig&) const = default;
};

// A step runs the phases in order; each makes one network learn.
struct PhaseConfig {
  std::string learns = {};  // name of a network
  std::string loss = {};    // "bce(discriminator(detach(generator(noise))), 0)"
  int64_t every = 1;        // steps

  bool operator==(const PhaseConfig&) const = default;
};

// What is done about the memory of each segment, by hand; see job_plan.h.
struct PlanConfig {
  std::filesystem::path file =
      {};  // of a plan; what stands here counts over it
  std::optional<int64_t> depth = {};   // of prefetching
  std::vector<std::string> join = {};  // "blocks.0, blocks.1": one segment
  // What decides where nothing else is said: a solver, or "off".
  std::string solver = {};
  std::string order = {};              // of micro-batches, see plan::Order
  std::optional<int64_t> buffer = {};  // bytes that are fetched ahead
  config::Options segments = {};  // name or pattern -> "recompute,spilled,host"

  bool operator==(const PlanConfig&) const = default;
};

// A random input, new in every step.
struct NoiseConfig {
  std::vector<int64_t> shape = {};  // of one sample
  std::string kind = "normal";

  bool operator==(const NoiseConfig&) const = default;
};

struct JobConfig {
  std::string model = {};  // "lenet(classes=36)", or an absolute path
  // Names of an exported model that the loss reads; empty: its only ones.
  std::string output = {};
  std::string target = {};
  DataConfig data = {};
  // Field of the data -> argument of the forward.
  std::map<std::string, std::string> inputs = {};
  std::string loss = {};  // empty: the model's own
  OptimizerConfig optimizer = {};
  std::string schedule = "constant";
  std::optional<int64_t> steps = {};  // wins over epochs
  std::optional<int64_t> epochs = {};
  int64_t batch_size = 32;
  bool drop_last = false;
  int64_t accumulate = 1;  // micro-batches that a batch is cut into
  ClipConfig clip = {};
  InitConfig init = {};
  std::vector<std::string> freeze = {};  // patterns
  std::vector<GroupConfig> groups = {};  // the first that fits counts
  std::optional<double> ema = {};        // decay of averaged weights
  std::string precision = "f32";         // of compute: f32, bf16
  std::string dtype = "f32";             // of weights: f32, f64
  int64_t seed = 0;
  int64_t threads = 0;  // 0: one per core
  EvalConfig eval = {};
  int64_t log_every = 10;
  NormsConfig log_norms = {};
  bool log_system = false;  // throughput and memory
  CheckpointConfig checkpoint = {};
  std::string on_nan = "stop";  // stop, skip; given models: keep
  std::string device = "cpu";
  std::optional<int64_t> memory_limit = {};  // bytes
  std::optional<int64_t> host_limit = {};    // bytes of what is moved there
  PlanConfig plan = {};  // what it leaves open is chosen to fit the limits
  std::filesystem::path spill_dir = {};  // empty: no plan may use a file
  // Among jobs that share devices; see schedule/policy.h.
  double priority = 0;
  std::optional<double> deadline = {};  // seconds from the begin of all
  std::map<std::string, NetworkConfig> networks = {};
  std::vector<PhaseConfig> phases = {};
  std::map<std::string, NoiseConfig> noise = {};

  bool operator==(const JobConfig&) const = default;

  // Of the order of the data and of random changes.
  int64_t data_seed() const { return data.order_seed.value_or(seed); }

  // Throws one std::invalid_argument that lists all that can be said without
  // files.
  void validate() const;
};

// The table of keys.
void describe(config::Section& section, JobConfig& job);
// Those of a plan that is a file of its own.
void describe_decisions(config::Section& section, PlanConfig& plan);

// What validate() would list, with the keys concerned ("phases.0.learns").
struct KeyProblem {
  std::string key = {};
  config::Problem problem = {};
};
std::vector<KeyProblem> problems_of(const JobConfig& job);

}  // namespace braid::train
