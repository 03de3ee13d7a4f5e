#include "braid/train/job/job_keys.h"

#include <algorithm>
#include <array>

#include "braid/config/page.h"
#include "braid/ops/core/update_kinds.h"
#include "braid/train/job/job_config.h"
#include "fmt/format.h"

namespace braid::train {
namespace {

struct OtherName {
  std::string_view name, key;
  std::string_view value = {};  // that the name alone says
};

constexpr std::array<OtherName, 39> kOtherNames = {{
    {"learning_rate", "optimizer.lr"},
    {"optimizer", "optimizer.kind"},
    {"optim", "optimizer.kind"},
    {"wd", "optimizer.weight_decay"},
    {"lr_scheduler", "schedule"},
    {"scheduler", "schedule"},
    {"bs", "batch_size"},
    {"batch", "batch_size"},
    {"num_epochs", "epochs"},
    {"n_epochs", "epochs"},
    {"max_epochs", "epochs"},
    {"epoch", "epochs"},
    {"num_steps", "steps"},
    {"max_steps", "steps"},
    {"iterations", "steps"},
    {"step", "steps"},
    {"grad_accum", "accumulate"},
    {"gradient_accumulation_steps", "accumulate"},
    {"clip_norm", "clip.norm"},
    {"clip_value", "clip.value"},
    {"grad_clip", "clip.norm"},
    {"max_grad_norm", "clip.norm"},
    {"ema_decay", "ema"},
    {"memory", "memory_limit"},
    {"max_memory", "memory_limit"},
    {"gpu", "device", "cuda"},
    {"cuda", "device", "cuda"},
    {"cpu", "device", "cpu"},
    {"bf16", "precision", "bf16"},
    {"amp", "precision", "bf16"},
    {"fp32", "precision", "f32"},
    {"num_threads", "threads"},
    {"random_seed", "seed"},
    {"metric", "eval.metrics"},
    {"early_stopping", "eval.early_stop.patience"},
    {"dataset", "data.source"},
    {"data", "data.source"},
    {"init", "init.file"},
    {"checkpoint", "checkpoint.every"},
}};

std::string with_underscores(std::string_view name) {
  std::string text(name);
  std::ranges::replace(text, '-', '_');
  return text;
}

const OtherName* find_other(const std::string& name) {
  const auto* found = std::ranges::find(kOtherNames, name, &OtherName::name);
  return found == kOtherNames.end() ? nullptr : found;
}

bool is_value_of_optimizer(const std::string& name) {
  constexpr std::array<std::string_view, 6> kCommon = {
      "betas",           "skip_nonfinite", "loss_scale",
      "growth_interval", "growth_factor",  "backoff_factor"};
  if (std::ranges::find(kCommon, name) != kCommon.end()) return true;
  return std::ranges::any_of(update_kinds(), [&](const UpdateKind& kind) {
    auto has = [&](const auto& values) {
      return std::ranges::any_of(
          values, [&](const auto& value) { return value.first == name; });
    };
    return has(kind.values) || has(kind.flags);
  });
}

// Keys without those that stand for any name or number.
const std::vector<std::string>& plain_keys() {
  static const std::vector<std::string> keys = [] {
    std::vector<std::string> plain;
    for (const config::Row& row : config::rows_of<JobConfig>()) {
      bool has_any = std::ranges::any_of(
          row.key, [](char c) { return c >= 'A' && c <= 'Z'; });
      if (!has_any) plain.push_back(row.key);
    }
    return plain;
  }();
  return keys;
}

// "eval_every" is eval.every; "patience" ends one key alone.
std::string by_parts(const std::string& name) {
  std::string found;
  for (const std::string& key : plain_keys()) {
    std::string joined = key;
    std::ranges::replace(joined, '.', '_');
    if (joined == name) return key;
    bool is_end = key.ends_with("." + name) || joined.ends_with("_" + name);
    if (!is_end) continue;
    if (!found.empty()) return "";
    found = key;
  }
  return found;
}

}  // namespace

std::string find_job_key(std::string_view written) {
  std::string name = with_underscores(written);
  const auto& keys = plain_keys();
  const OtherName* other = find_other(name);
  if (other) return std::string(other->key);
  if (std::ranges::find(keys, name) != keys.end()) return name;
  std::string_view last = name;
  if (name.starts_with("optimizer.")) last.remove_prefix(10);
  if (is_value_of_optimizer(std::string(last))) {
    return fmt::format("optimizer.{}", last);
  }
  return name.size() < 3 ? "" : by_parts(name);
}

std::string job_word(std::string_view name, std::string_view value) {
  std::string key = find_job_key(name);
  if (key.empty()) return "";
  const OtherName* other = find_other(with_underscores(name));
  if (other && !other->value.empty()) value = other->value;
  return fmt::format("{}={}", key, value.empty() ? "VALUE" : value);
}

}  // namespace braid::train
