#include "braid/ops/core/operators_page.h"

#include <array>

namespace braid {
namespace {

// Which array rule an op has, in words.
struct Trait {
  std::string_view name, words;
};
constexpr std::array<Trait, 9> kTraits = {{
    {"pointwise", "element by element: members stay where they lie"},
    {"shift_dims", "dimensions move by one behind the members"},
    {"fold_batch", "members become part of the batch"},
    {"channels", "merged channels as they lie, else part of the batch"},
    {"merge_channels", "members become groups of channels"},
    {"lowered", "groups of channels or members apart, as is fastest"},
    {"members", "the kernel works on `[B, ...]`, each member apart"},
    {"own", "a rule of its own"},
    {"loop", "one call per member"},
}};

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
  std::string traits = op.view ? op.trait + ", view" : op.trait;
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
    loops += op.trait == "loop";
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
  for (const Trait& trait : kTraits) {
    page += fmt::format("- *{}*: {}\n", trait.name, trait.words);
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
