#include "braid/train/job/job_plan.h"

#include "braid/base/error.h"
#include "braid/config/file_text.h"
#include "braid/io/file/file.h"

namespace braid::train {
namespace {

namespace fs = std::filesystem;

// A file of a plan names no other.
struct PlanFile {
  PlanConfig plan = {};
};

void describe(config::Section& section, PlanFile& file) {
  describe_decisions(section, file.plan);
}

plan::Decision decision_of(const config::Option& option) {
  try {
    return plan::parse_decision(option.text);
  } catch (const std::invalid_argument& error) {
    ErrorParts parts = parts_of(error);
    parts.where = "plan";
    if (!option.where.empty()) parts.text = option.where + ": " + parts.text;
    throw std::invalid_argument(parts.message());
  }
}

// "blocks.0, blocks.1"
std::vector<std::string> layers_of(std::string_view text) {
  std::vector<std::string> layers;
  for (size_t at = 0; at < text.size();) {
    size_t begin = text.find_first_not_of(", ", at);
    if (begin == std::string_view::npos) break;
    at = std::min(text.find_first_of(", ", begin), text.size());
    layers.emplace_back(text.substr(begin, at - begin));
  }
  return layers;
}

void add_decisions(const PlanConfig& config, plan::NamedPlan& plan) {
  if (config.depth) plan.depth = static_cast<int>(*config.depth);
  if (!config.solver.empty()) plan.solver = config.solver;
  if (config.buffer) plan.buffer_bytes = *config.buffer;
  if (!config.order.empty()) plan.order = plan::parse_order(config.order);
  for (const std::string& text : config.join) {
    plan.joined.push_back(layers_of(text));
  }
  for (const config::Option& option : config.segments) {
    plan.segments.push_back({option.name, decision_of(option), option.where});
  }
}

}  // namespace

plan::NamedPlan read_plan_file(const fs::path& path) {
  io::MappedFile file(path);
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                        file.bytes().size());
  auto read = config::read_file_text<PlanFile>(
      text, "plan", path.string(),
      {fs::absolute(path).parent_path(), fs::current_path()});
  plan::NamedPlan plan;
  add_decisions(read.plan, plan);
  return plan;
}

plan::NamedPlan named_plan(const PlanConfig& config) {
  plan::NamedPlan plan;
  if (!config.file.empty()) plan = read_plan_file(config.file);
  add_decisions(config, plan);
  return plan;
}

compile::PlanRequest plan_request(const PlanConfig& config) {
  if (config == PlanConfig{}) return {};
  return {.named = named_plan(config)};
}

}  // namespace braid::train
