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
  switch (p) {
    case Parameters::kResident: return "resident";
    case Parameters::kSpilled: return "spilled";
    case Parameters::kFile: return "file";
  }
  return "";
}

const char* word(Update u) {
  switch (u) {
    case Update::kDevice: return "device";
    case Update::kHost: return "host";
    case Update::kHostFile: return "host_file";
    case Update::kHostAhead: return "host_ahead";
  }
  return "";
}

bool set_word(Decision& d, const std::string& text) {
  for (auto a :
       {Activations::kKeep, Activations::kRecompute, Activations::kOffload}) {
    if (text == word(a)) return d.activations = a, true;
  }
  for (auto p :
       {Parameters::kResident, Parameters::kSpilled, Parameters::kFile}) {
    if (text == word(p)) return d.parameters = p, true;
  }
  for (auto u : {Update::kDevice, Update::kHost, Update::kHostFile,
                 Update::kHostAhead}) {
    if (text == word(u)) return d.update = u, true;
  }
  return false;
}

}  // namespace

Plan keep_all(size_t num_segments) { return uniform(num_segments, {}); }

Plan uniform(size_t num_segments, Decision decision, int depth) {
  Plan plan;
  plan.depth = depth;
  plan.segments.assign(num_segments, decision);
  return plan;
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
                                  "spilled", "file", "device", "host",
                                  "host_file", "host_ahead"}));
    }
    begin = end + 1;
  }
  return decision;
}

std::string_view order_name(Order order) {
  return order == Order::kLayers ? "layers" : "micro_batches";
}

Order parse_order(std::string_view text) {
  for (Order order : kOrders) {
    if (text == order_name(order)) return order;
  }
  fail_usage("[plan] unknown order '{}'\nHINT: micro_batches or layers", text);
}

}  // namespace braid::plan
