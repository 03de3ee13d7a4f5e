#include "braid/train/job/job_hooks.h"

#include "braid/base/error.h"

namespace braid::train {
namespace {

// `text` is what the config says of `key`.
void mark(std::string& text, const char* key, bool has_hook) {
  bool is_custom = text == kCustom;
  if (has_hook && !text.empty() && !is_custom) {
    fail_usage(
        "[job] {} is '{}', and the program gives its own\n"
        "HINT: leave one of them out",
        key, text);
  }
  if (!has_hook && is_custom) {
    fail_usage(
        "[job] {} is of the program that the job was made by\n"
        "HINT: go on with that program",
        key);
  }
  if (has_hook) text = kCustom;
}

}  // namespace

JobConfig with_hooks(JobConfig config, const JobHooks& hooks) {
  if (hooks.loss && !config.phases.empty()) {
    fail_usage("[job] a loss of the program does not go with phases");
  }
  mark(config.loss, "loss", hooks.loss != nullptr);
  mark(config.data.source, "data", hooks.train != nullptr);
  if (hooks.eval && !config.eval.data) config.eval.data = DataConfig{};
  if (config.eval.data) {
    mark(config.eval.data->source, "eval.data", hooks.eval != nullptr);
  }
  return config;
}

}  // namespace braid::train
