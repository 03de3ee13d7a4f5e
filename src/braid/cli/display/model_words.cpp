#include "braid/cli/display/model_words.h"

#include "braid/graph/init.h"
#include "braid/models/models.h"
#include "braid/ops/core/update_kinds.h"
#include "braid/passes/step/schedule.h"
#include "fmt/format.h"

namespace braid::cli {
namespace {

using models::Model;

// "Models: mlp, lenet"
template <class Row>
std::string words_of(const char* title, const std::vector<Row>& rows) {
  std::string words = fmt::format("{}:", title);
  for (const Row& row : rows) {
    words += fmt::format("{} {}", words.back() == ':' ? "" : ",", row.name);
  }
  return words;
}

// Long text goes on in another line, broken after `end`.
std::string wrapped(std::string text, char end, const char* indent) {
  constexpr size_t kWidth = 72;
  for (size_t begin = 0; text.size() - begin > kWidth;) {
    size_t at = text.rfind(end, begin + kWidth);
    if (at == text.npos || at <= begin) break;
    bool is_space = end == ' ';  // it gives way to the line's end
    text.replace(is_space ? at : at + 1, is_space ? 1 : 0,
                 fmt::format("\n{}", indent));
    begin = at + 2;
  }
  return text;
}

// A signature and below it what it means.
std::string entry_of(std::string signature, const std::string& summary) {
  return fmt::format("\n  {}\n      {}",
                     wrapped(std::move(signature), ',', "    "),
                     wrapped(summary, ' ', "      "));
}

}  // namespace

std::string models_in_words() {
  std::string words = "Models:";
  for (const Model& model : models::all_models()) {
    words += entry_of(models::signature_text(model), model.summary);
  }
  return words;
}

std::string optimizers_in_words() {
  return words_of("Optimizers", update_kinds());
}

std::string schedules_in_words() {
  std::string words =
      "Schedules, any with warmup=N,warmup_factor=0; without steps they end\n"
      "with the run, and numbers of steps may be shares of it (warmup=5%):";
  for (const passes::ScheduleKind& kind : passes::schedule_kinds()) {
    words += entry_of(passes::signature_text(kind), kind.summary);
  }
  return words;
}

std::string initialisers_in_words() {
  std::string words = "Initialisers:";
  for (const InitKind& kind : init_kinds()) {
    words += entry_of(signature_text(kind), kind.summary);
  }
  return words;
}

}  // namespace braid::cli
