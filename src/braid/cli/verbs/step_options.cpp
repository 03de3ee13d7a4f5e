#include "braid/cli/verbs/step_options.h"

#include "braid/base/error.h"

namespace braid::cli {
namespace {

void require(bool given, const char* name, const char* what) {
  if (!given) {
    fail_usage(
        "[braid step] {} is missing: {}\n"
        "HINT: see 'braid step --help'",
        name, what);
  }
}

void require_range(const char* name, int64_t value, int64_t low, int64_t high) {
  if (value < low || value > high) {
    fail_usage("[braid step] {} is a whole number from {} to {}, not {}", name,
               low, high, value);
  }
}

}  // namespace

std::optional<io::pt2::NamedLoss> StepOptions::named_loss() const {
  if (job.loss.empty()) return std::nullopt;
  return io::pt2::NamedLoss{job.loss, job.output, job.target};
}

void StepOptions::validate() const {
  require(!job.model.empty(), "MODEL", "a built-in name or a graph file");
  require(!inputs.empty() || !members.empty(), "--inputs",
          "a safetensors file with the tensors of a batch");
  if (form != "train" && form != "eval") {
    fail_usage("[braid step] --form is train or eval, not '{}'", form);
  }
  if (form == "eval" && !members.empty()) {
    fail_usage("[braid step] --form eval is for one model");
  }
  require(form == "eval" || job.steps.has_value(), "--steps",
          "how many steps to run");
  require(form == "eval" || !job.optimizer.kind.empty(), "--optimizer",
          "such as sgd or adamw");
  require(!out.empty(), "--out", "the directory to write to");
  if (job.loss.empty() != job.target.empty()) {
    fail_usage("[braid step] --loss and --target go together");
  }
  constexpr int64_t kMost = int64_t{1} << 40;
  require_range("--steps", job.steps.value_or(1), 1, kMost);
  require_range("--threads", job.threads, 0, 1024);
  require_range("--accumulate", job.accumulate, 1, 65536);
  require_range("--checkpoint-every", job.checkpoint.every, 0, kMost);
  require_range("--seed", job.seed, 0, INT64_MAX);
  const std::string &dtype = job.dtype, &precision = job.precision;
  if (dtype != "" && dtype != "f32" && dtype != "f64") {
    fail_usage("[braid step] --dtype is f32 or f64, not '{}'", dtype);
  }
  if (precision != "f32" && precision != "bf16") {
    fail_usage("[braid step] --precision is f32 or bf16, not '{}'", precision);
  }
}

}  // namespace braid::cli
