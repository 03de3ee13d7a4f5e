#include "braid/train/job/job_names.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <map>
#include <set>

#include "braid/base/call_text.h"
#include "braid/base/error.h"
#include "braid/base/numbers.h"
#include "braid/config/writer.h"
#include "braid/config/yaml_writer.h"

namespace braid::train {
namespace {

using config::Node;
using Names = std::vector<std::string>;
using Values = std::map<std::string, std::string>;  // key with points -> text

bool is_safe(unsigned char c) {
  return std::isalnum(c) || std::string_view("._=,+-").find(
                                static_cast<char>(c)) != std::string_view::npos;
}

// What else lies beside the folders of jobs, or in that of a run.
bool is_reserved(std::string_view name) {
  constexpr std::array<std::string_view, 10> kFiles = {
      "jobs.json",     "jobs.yaml",   "config.yaml",  "profile.json", "log.txt",
      "metrics.jsonl", "checkpoints", "results.json", "results.csv",  "queue"};
  if (std::ranges::find(kFiles, name) != kFiles.end()) return true;
  if (!name.starts_with("array-") || name.size() == 6) return false;
  return name.find_first_not_of("0123456789", 6) == name.npos;
}

std::string list_text(const CallValue& value) {
  std::string text;
  for (double number : value.numbers) {
    text += fmt::format("{}{}{}", text.empty() ? "" : ",", number,
                        value.is_percent ? "pct" : "");
  }
  return text;
}

// A value, or several: "mlp(hidden=64)" is the model mlp with a size of its
// own.
void add_text(const std::string& key, const std::string& text, Names& keys,
              Values& values) {
  auto add = [&](const std::string& name, const std::string& content) {
    keys.push_back(name);
    values[name] = content;
  };
  if (!text.ends_with(')')) return add(key, text);
  try {
    CallText call = parse_call(text, "", Percents::kTaken);
    add(key, call.name);
    for (const CallValue& value : call.values) {
      add(key + "." + value.name, list_text(value));
    }
  } catch (const std::invalid_argument&) {  // another kind of text
    add(key, text);
  }
}

// All values of a job, with the keys in the order of the table. Empty lists
// are absent.
void flatten(const Node& node, const std::string& key, Names& keys,
             Values& values) {
  bool is_plain = std::ranges::all_of(node.items, &Node::is_value);
  if (!node.is_value() && node.items.empty()) return;
  if (node.is_value() || (node.is_list() && is_plain)) {
    return add_text(key, node.is_value() ? node.text : config::flow_text(node),
                    keys, values);
  }
  for (size_t i = 0; i < node.items.size(); ++i) {
    const Node& item = node.items[i];
    std::string word = node.is_list() ? std::to_string(i) : item.key;
    flatten(item, key.empty() ? word : key + "." + word, keys, values);
  }
}

// As short as can be: 0.001 -> 1e-3, 0.1 -> 0.1
std::string number_text(double number) {
  std::string plain = fmt::format("{}", number);
  std::string text = plain;
  if (plain.find('e') == plain.npos && std::abs(number) < 1) {
    for (int digits = 0; digits < 16; ++digits) {
      text = fmt::format("{:.{}e}", number, digits);
      if (parse_number(text) == number) break;
    }
  }
  size_t sign = text.find('e');  // e-03 -> e-3
  if (sign != text.npos && text[sign + 2] == '0') text.erase(sign + 2, 1);
  return text.size() < plain.size() ? text : plain;
}

// 3e-3 and 0.003 are one number; of a path the last part tells most.
std::string value_text(const std::string& text) {
  if (parse_whole(text)) return text;
  if (auto number = parse_number(text)) return number_text(*number);
  return safe_name(text.substr(text.rfind('/') + 1));
}

std::string last_word(const std::string& key) {
  return key.substr(key.rfind('.') + 1);
}

// What differs between jobs, and the names that are made of it.
class Differences {
 public:
  explicit Differences(const std::vector<JobConfig>& jobs) {
    Names keys;
    std::set<std::string> seen;
    for (const JobConfig& job : jobs) {
      Names own;
      flatten(config::write_config(job), "", own, values_.emplace_back());
      for (const std::string& key : own) {
        if (seen.insert(key).second) keys.push_back(key);
      }
    }
    for (const std::string& key : keys) {
      if (differs(key)) keys_.push_back(key);
    }
    for (const std::string& key : keys_) ++uses_[last_word(key)];
  }

  std::string name(size_t job) const {
    std::string text;
    for (const std::string& key : keys_) {
      auto found = values_[job].find(key);
      if (found == values_[job].end()) continue;
      std::string word = uses_.at(last_word(key)) > 1 ? key : last_word(key);
      text += fmt::format("{}{}={}", text.empty() ? "" : ",", safe_name(word),
                          value_text(found->second));
    }
    return text.empty() ? "base" : text;
  }

  // Values as they are written, under their keys.
  std::vector<std::pair<std::string, std::string>> values(size_t job) const {
    std::vector<std::pair<std::string, std::string>> own;
    for (const std::string& key : keys_) {
      auto found = values_[job].find(key);
      if (found != values_[job].end()) own.emplace_back(key, found->second);
    }
    return own;
  }

 private:
  bool differs(const std::string& key) const {
    auto text = [&](const Values& values) {
      auto found = values.find(key);
      return found == values.end() ? "\n" : found->second;
    };
    std::string first = text(values_[0]);
    return std::ranges::any_of(
        values_, [&](const Values& values) { return text(values) != first; });
  }

  std::vector<Values> values_;
  Names keys_;
  std::map<std::string, int> uses_;  // of last words
};

std::string numbered(size_t index, size_t count) {
  size_t digits = std::max<size_t>(2, std::to_string(count - 1).size());
  return fmt::format("member-{:0{}}", index, digits);
}

bool are_good(const Names& names) {
  std::set<std::string> different(names.begin(), names.end());
  return different.size() == names.size() &&
         std::ranges::all_of(names, [](const std::string& name) {
           return name_problem(name).empty();
         });
}

}  // namespace

std::string name_problem(const std::string& name, size_t most) {
  if (name.empty()) return "is empty";
  if (name.size() > most) {
    return fmt::format("is longer than {} characters", most);
  }
  if (is_reserved(name)) return "is the name of something else there";
  if (name[0] == '.' || name[0] == '-') {
    return fmt::format("begins with '{}'", name[0]);
  }
  if (!std::ranges::all_of(name, is_safe)) {
    return "has other characters than letters, digits and . _ = , + -";
  }
  return "";
}

std::string safe_name(std::string_view text) {
  std::string name;
  for (char c : text) {
    bool fits = is_safe(static_cast<unsigned char>(c)) && c != '-';
    if (fits) {
      name += c;
    } else if (!name.ends_with('-')) {
      name += '-';
    }
  }
  while (name.ends_with('-') && name.size() > 1) name.pop_back();
  return name;
}

std::vector<std::vector<std::pair<std::string, std::string>>> differing_values(
    const std::vector<JobConfig>& jobs) {
  std::vector<std::vector<std::pair<std::string, std::string>>> values;
  if (jobs.empty()) return values;
  Differences differences(jobs);
  for (size_t i = 0; i < jobs.size(); ++i) {
    values.push_back(differences.values(i));
  }
  return values;
}

Names member_names(const std::vector<JobConfig>& jobs, const Names& given) {
  Names names = given;
  Differences differences(jobs);
  for (size_t i = 0; i < names.size(); ++i) {
    if (given[i].empty()) names[i] = differences.name(i);
  }
  if (are_good(names)) return names;
  for (size_t i = 0; i < names.size(); ++i) {
    if (given[i].empty()) names[i] = numbered(i, names.size());
  }
  make_different(names);
  return names;
}

void make_different(Names& names) {
  std::set<std::string> all(names.begin(), names.end()), taken;
  for (std::string& name : names) {
    std::string wanted = name;
    for (int i = 2; is_reserved(name) || taken.contains(name); ++i) {
      name = fmt::format("{}-{}", wanted, i);
      if (all.contains(name)) name = wanted;  // another one's
    }
    taken.insert(name);
  }
}

}  // namespace braid::train
