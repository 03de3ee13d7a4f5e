#include "braid/plan/plan.h"

#include <fmt/ranges.h>

#include "braid/base/error.h"
#include "braid/base/text.h"

namespace braid::plan {
namespace {

const char* word(Activations a) {
  switch (a) {
    case Activations::kKeep: return "keep";
    case Activations::kRecompute: return "recompute";
    case Activations::kOffload: return "offload";
  }
  return "";
}

const char* word(Parameters p) {
  return p == Parameters::kResident ? "resident" : "spilled";
}

const char* word(Update u) { return u == Update::kDevice ? "device" : "host"; }

bool set_word(Decision& d, const std::string& text) {
  for (auto a :
       {Activations::kKeep, Activations::kRecompute, Activations::kOffload}) {
    if (text == word(a)) return d.activations = a, true;
  }
  for (auto p : {Parameters::kResident, Parameters::kSpilled}) {
    if (text == word(p)) return d.parameters = p, true;
  }
  for (auto u : {Update::kDevice, Update::kHost}) {
    if (text == word(u)) return d.update = u, true;
  }
  return false;
}

}  // namespace

Plan keep_all(size_t num_segments) { return uniform(num_segments, {}); }

Plan uniform(size_t num_segments, Decision decision, int depth) {
  return {depth, std::vector<Decision>(num_segments, decision)};
}

std::string short_text(const Decision& d) {
  const Decision usual;
  std::vector<std::string_view> words;
  if (d.activations != usual.activations) words.push_back(word(d.activations));
  if (d.parameters != usual.parameters) words.push_back(word(d.parameters));
  if (d.update != usual.update) words.push_back(word(d.update));
  if (words.empty()) words.push_back(word(usual.activations));
  return fmt::format("{}", fmt::join(words, ","));
}

std::string decision_text(const Decision& d) {
  return fmt::format("{},{},{}", word(d.activations), word(d.parameters),
                     word(d.update));
}

Decision parse_decision(const std::string& text) {
  Decision decision;
  size_t begin = 0;
  while (begin <= text.size()) {
    size_t end = std::min(text.find(',', begin), text.size());
    std::string part = text.substr(begin, end - begin);
    std::erase(part, ' ');
    if (!set_word(decision, part)) {
      fail_usage("[plan] unknown word '{}' in '{}'\nHINT: {}", part, text,
                 name_hint(part, {"keep", "recompute", "offload", "resident",
                                  "spilled", "device", "host"}));
    }
    begin = end + 1;
  }
  return decision;
}

}  // namespace braid::plan
