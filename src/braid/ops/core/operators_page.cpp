#include "braid/ops/core/operators_page.h"

#include <algorithm>
#include <array>

namespace braid {
namespace {

// Array rules by name and in words.
struct Rule {
  ArrayRule rule;
  std::string_view name, words;
};
constexpr std::array<Rule, 9> kRules = {{
    {ArrayRule::kPointwise, "pointwise",
     "element by element: members stay where they lie"},
    {ArrayRule::kShiftDims, "shift_dims",
     "dimensions move by one behind the members"},
    {ArrayRule::kFoldBatch, "fold_batch", "members become part of the batch"},
    {ArrayRule::kChannels, "channels",
     "merged channels as they lie, else part of the batch"},
    {ArrayRule::kMergeChannels, "merge_channels",
     "members become groups of channels"},
    {ArrayRule::kLowered, "lowered",
     "groups of channels or members apart, as is fastest"},
    {ArrayRule::kMembers, "members",
     "the kernel works on `[B, ...]`, each member apart"},
    {ArrayRule::kOwn, "own", "a rule of its own"},
    {ArrayRule::kLoop, "loop", "one call per member"},
}};

std::string_view rule_name(ArrayRule rule) {
  const auto* row = std::ranges::find(kRules, rule, &Rule::rule);
  return row == kRules.end() ? "" : row->name;
}

// Text in a table must not end its cell.
std::string cell(const std::string& text) {
  std::string out;
  for (char c : text) out += c == '|' ? "\\|" : std::string(1, c);
  return out;
}

std::string number_of_inputs(const Op& op) {
  if (op.min_inputs == op.max_inputs) return fmt::format("{}", op.max_inputs);
  if (op.max_inputs > 100) return fmt::format("{} or more", op.min_inputs);
  return fmt::format("{} to {}", op.min_inputs, op.max_inputs);
}

// Ops with an array rule are what models consist of.
bool is_for_models(const Op& op) { return static_cast<bool>(op.array); }

std::string row_of(const Op& op) {
  std::string traits(rule_name(op.array_rule));
  if (op.view) traits += ", view";
  if (op.random) traits += ", random";
  return fmt::format("| `{}` | {} | {} | {} | {} |\n", op.name,
                     cell(op.summary), number_of_inputs(op),
                     op.vjp ? "yes" : "", traits);
}

std::string intro(const OpTable& ops) {
  size_t models = 0, gradients = 0, loops = 0;
  for (const auto& [name, op] : ops.all()) {
    models += is_for_models(op);
    gradients += is_for_models(op) && op.vjp;
    loops += op.array_rule == ArrayRule::kLoop;
  }
  return fmt::format(
      "# Operators\n\n"
      "Made from the table in `src/braid/ops` by `make docs`; do not edit.\n\n"
      "{} operators for models, {} of them with a gradient, {} that an array "
      "runs member by member, and {} that passes make (gradients, updates, "
      "slots). Any other operator of ATen runs as a `torch_op`.\n\n"
      "Asking for a gradient through an operator that has none is an error. "
      "What an array makes of an operator:\n\n",
      models, gradients, loops, ops.all().size() - models);
}

}  // namespace

std::string operators_page(const OpTable& ops) {
  std::string page = intro(ops);
  for (const Rule& rule : kRules) {
    page += fmt::format("- *{}*: {}\n", rule.name, rule.words);
  }
  page += "- *view*: no bytes of its own where strides allow\n";
  for (const std::string& family : ops.families()) {
    std::string rows, made;
    for (const auto& [name, op] : ops.all()) {
      if (op.family != family) continue;
      if (is_for_models(op)) {
        rows += row_of(op);
      } else {
        made += fmt::format("{}`{}`", made.empty() ? "" : ", ", name);
      }
    }
    page += fmt::format("\n## {}\n\n", family);
    if (!rows.empty()) {
      page +=
          "| Operator | Computes | Inputs | Gradient | In an array |\n"
          "| --- | --- | --- | --- | --- |\n" +
          rows;
    }
    if (!rows.empty() && !made.empty()) page += "\n";
    if (!made.empty()) page += "Made by passes: " + made + ".\n";
  }
  return page;
}

}  // namespace braid
