// How the attributes of a fusion are written and read. Graph text may come from
// anywhere, so everything is checked.
#include <algorithm>

#include "braid/base/error.h"
#include "braid/base/numbers.h"
#include "braid/graph/text_tokens.h"
#include "braid/ops/core/fusion.h"

namespace braid {
namespace {

std::string_view trimmed(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  size_t last = text.find_last_not_of(' ');
  return text.substr(0, last == text.npos ? 0 : last + 1);
}

// The part before the first `end`, which goes with it.
std::string_view take_until(std::string_view& text, char end) {
  size_t at = std::min(text.find(end), text.size());
  std::string_view part = trimmed(text.substr(0, at));
  text.remove_prefix(std::min(at + 1, text.size()));
  return part;
}

class StepReader {
 public:
  StepReader(std::string_view text, size_t num_inputs, size_t num_steps)
      : text_(text), num_inputs_(num_inputs), num_steps_(num_steps) {}

  FusionStep run() {
    std::string_view rest = text_;
    if (!rest.ends_with(')')) fail("it does not end with ')'");
    rest.remove_suffix(1);
    std::string_view name = take_until(rest, '(');
    FusionStep step{.op = find_fusion_op(name)};
    if (!step.op) fail("no such op may be in a fusion");
    for (size_t i = 0; i < step.op->operands; ++i) {
      step.operands.push_back(operand(take_until(rest, ',')));
    }
    for (size_t i = 0; i < step.numbers.size(); ++i) {
      const char* number_name = step.op->numbers[i].name;
      if (!number_name) break;
      step.numbers[i] = number(take_until(rest, ','), number_name);
    }
    if (!trimmed(rest).empty()) fail("it has too many values");
    bool allowed = !step.op->allows || step.op->allows(step.numbers);
    if (!allowed) fail("its numbers may not be in a fusion");
    return step;
  }

 private:
  FusionOperand operand(std::string_view text) const {
    bool is_step = text.starts_with('s');
    auto index = parse_whole(text.substr(std::min<size_t>(1, text.size())));
    size_t limit = is_step ? num_steps_ : num_inputs_;
    if ((!is_step && !text.starts_with('x')) || !index || *index < 0 ||
        static_cast<size_t>(*index) >= limit) {
      fail("expected an input or an earlier step, as x0 or s0");
    }
    return {is_step, static_cast<size_t>(*index)};
  }

  double number(std::string_view text, std::string_view name) const {
    bool named = take_until(text, '=') == name;
    auto number = parse_number(trimmed(text));
    if (!named || !number) {
      fail(fmt::format("expected a number as {}=0.5", name));
    }
    return *number;
  }

  [[noreturn]] void fail(std::string_view problem) const {
    fail_usage("cannot read step {} {}: {}", num_steps_, shown(text_), problem);
  }

  std::string_view text_;
  size_t num_inputs_, num_steps_;
};

std::string step_text(const FusionStep& step) {
  std::string list;
  for (const FusionOperand& operand : step.operands) {
    list += fmt::format("{}{}{}", list.empty() ? "" : ", ",
                        operand.is_step ? 's' : 'x', operand.index);
  }
  for (size_t i = 0; i < step.numbers.size(); ++i) {
    if (!step.op->numbers[i].name) break;
    list += fmt::format(", {}={}", step.op->numbers[i].name, step.numbers[i]);
  }
  return fmt::format("{}({})", step.op->name, list);
}

std::vector<size_t> read_outputs(const Ints& list, size_t num_steps) {
  std::vector<size_t> outputs;
  for (int64_t step : list) {
    auto index = static_cast<size_t>(step);
    bool follows = outputs.empty() || outputs.back() < index;
    if (step < 0 || index >= num_steps || !follows) {
      fail_usage("outputs {} are not some of {} steps in order",
                 shape_text(list), num_steps);
    }
    outputs.push_back(index);
  }
  if (outputs.empty() || outputs.size() > kMaxFusionOutputs) {
    fail_usage("expected 1 to {} outputs, got {}", kMaxFusionOutputs,
               outputs.size());
  }
  return outputs;
}

}  // namespace

Attrs fusion_attrs(const Fusion& fusion) {
  std::string text;
  for (const FusionStep& step : fusion.steps) {
    text += (text.empty() ? "" : "; ") + step_text(step);
  }
  return {{"steps", text},
          {"outputs", Ints(fusion.outputs.begin(), fusion.outputs.end())}};
}

Fusion read_fusion(const Attrs& attrs, size_t num_inputs) {
  Fusion fusion;
  std::string_view rest = attrs.text("steps");
  while (!rest.empty()) {
    if (fusion.steps.size() == kMaxFusionSteps) {
      fail_usage("more than {} steps", kMaxFusionSteps);
    }
    std::string_view text = take_until(rest, ';');
    fusion.steps.push_back(
        StepReader(text, num_inputs, fusion.steps.size()).run());
  }
  fusion.outputs = read_outputs(attrs.ints("outputs"), fusion.steps.size());
  return fusion;
}

}  // namespace braid
