// Section: one description of a struct that serves reading, overriding,
// writing, the docs and --help.
//
//   struct CheckpointConfig { int64_t every = 0; int64_t keep = 2; };
//
//   void describe(config::Section& s, CheckpointConfig& c) {
//     s.whole("every", c.every, "Steps between; 0: only at the end").min(0);
//     s.whole("keep", c.keep, "Newest checkpoints that stay").min(1);
//   }
//
// Each visitor (reader.h, writer.h, page.h) is a Section that describe() is
// called with. The value a member has when described is its default. An
// optional member may be absent: it is then null in the file and not written.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <typeindex>
#include <vector>

#include "braid/config/node.h"
#include "braid/config/report.h"

namespace braid::config {

class Section;

// A value by name whose type someone else knows, as it was written: lists are
// "[1,2]". Errors about it begin with `where`: "train.yaml line 7"; a
// relative path in it begins at `folder`.
struct Option {
  std::string name;
  std::string text;
  std::string where = {};
  std::filesystem::path folder = {};

  // What was written counts, not where.
  bool operator==(const Option& other) const {
    return name == other.name && text == other.text;
  }
};
using Options = std::vector<Option>;

// The option of that name; null when there is none.
const Option* find_option(const Options& options, std::string_view name);

// A text that may also be a map: {kind: cosine, steps: 9} is
// "cosine(steps=9)".
struct CallForm {
  std::string_view name_key = "kind";
  // Whether the text is a path, so that a relative one is made absolute.
  bool (*is_path)(std::string_view text) = nullptr;
};

// One key with a value, as visitors see it.
struct Field {
  std::string_view name;
  std::string type;  // in tables: "whole number"
  std::string_view meaning;
  // Takes what the node holds; tells what is wrong with it, without the key:
  // "is a number, got 'fast'". Relative paths begin at the folder.
  std::function<std::optional<Problem>(const Node&,
                                       const std::filesystem::path& folder)>
      read;
  std::function<Node()> write;
  // The numbers that limits apply to.
  std::function<std::vector<double>()> numbers = {};
};

// Allowed numbers, chained behind the value they belong to.
class Limits {
 public:
  explicit Limits(Section& section) : section_(section) {}

  Limits& min(double bound);
  Limits& max(double bound);
  Limits& above(double bound);
  Limits& below(double bound);

 private:
  Section& section_;
};

struct Limit {
  enum class Kind { kMin, kMax, kAbove, kBelow };
  Kind kind;
  double bound;

  bool allows(double number) const;
  std::string text() const;  // "at least 0"
};

using Describe = std::function<void(Section&)>;

// A section inside another, as visitors see it.
struct Group {
  std::string_view name;
  std::string_view meaning;
  std::type_index type;  // of the struct; void: none
  Describe describe;
  bool is_present = true;  // false: an optional one is absent
  std::function<void(bool)> set_present = {};  // empty unless it is optional
};

// Sections in a list or under names of the user's choice, as visitors see
// them.
struct Items {
  std::string_view name;
  std::string_view meaning;
  std::type_index type;  // of the struct
  bool is_list;
  std::vector<std::string> names;  // those there are; of a list "0", "1", ...
  std::function<void()> clear;
  // Makes the item when there is none of that name; a list grows at its end.
  std::function<void(const std::string& name, Section&)> describe;
  Describe describe_new;
};

class Section {
 public:
  using Name = std::string_view;
  using Meaning = std::string_view;

  virtual ~Section() = default;

  Limits whole(Name name, int64_t& value, Meaning meaning);
  Limits whole(Name name, std::optional<int64_t>& value, Meaning meaning);
  Limits number(Name name, double& value, Meaning meaning);
  Limits number(Name name, std::optional<double>& value, Meaning meaning);
  Limits bytes(Name name, int64_t& value, Meaning meaning);
  Limits bytes(Name name, std::optional<int64_t>& value, Meaning meaning);
  void flag(Name name, bool& value, Meaning meaning);
  void flag(Name name, std::optional<bool>& value, Meaning meaning);
  void text(Name name, std::string& value, Meaning meaning);
  // A relative path begins at the folder of the file, one of an override at
  // the working directory; what is read is absolute.
  void path(Name name, std::filesystem::path& value, Meaning meaning);
  void choice(Name name, std::string& value,
              const std::vector<std::string>& allowed, Meaning meaning);
  void call(Name name, std::string& value, const CallForm& form,
            Meaning meaning);
  void texts(Name name, std::vector<std::string>& value, Meaning meaning);
  Limits wholes(Name name, std::vector<int64_t>& value, Meaning meaning);
  Limits numbers(Name name, std::vector<double>& value, Meaning meaning);
  void texts_by_name(Name name, std::map<std::string, std::string>& value,
                     Meaning meaning);

  template <class T>
  void section(Name name, T& value, Meaning meaning);
  // Absent unless the file has it.
  template <class T>
  void section(Name name, std::optional<T>& value, Meaning meaning);
  template <class T>
  void sections(Name name, std::vector<T>& value, Meaning meaning);
  template <class T>
  void sections_by_name(Name name, std::map<std::string, T>& value,
                        Meaning meaning);

  // A section all of whose keys are options; `what` is as of rest().
  void options(Name name, Options& value, Name what, Meaning meaning);

  // First in a description: a bare value or list in place of the section is
  // the value of this key.
  virtual void bare(Name) {}
  // Last in a description: all other keys. `what` names one in the docs:
  // "VALUE".
  virtual void rest(Options& options, Name what, Meaning meaning) = 0;

 protected:
  friend class Limits;

  virtual void value(const Field& field) = 0;
  virtual void limit(const Limit&) {}  // of the value before
  virtual void group(const Group& group) = 0;
  virtual void groups(const Items& items) = 0;
};

template <class T>
void Section::section(Name name, T& value, Meaning meaning) {
  group({name, meaning, typeid(T), [&](Section& s) { describe(s, value); }});
}

template <class T>
void Section::section(Name name, std::optional<T>& value, Meaning meaning) {
  auto visit = [&](Section& s) {
    T absent;
    describe(s, value ? *value : absent);
  };
  auto set = [&](bool present) {
    present ? void(value.emplace()) : value.reset();
  };
  group({name, meaning, typeid(T), visit, value.has_value(), set});
}

template <class T>
void Section::sections(Name name, std::vector<T>& value, Meaning meaning) {
  std::vector<std::string> names;
  for (size_t i = 0; i < value.size(); ++i) names.push_back(std::to_string(i));
  auto visit = [&](const std::string& index, Section& s) {
    size_t i = std::stoul(index);
    if (i >= value.size()) value.resize(i + 1);
    describe(s, value[i]);
  };
  auto visit_new = [](Section& s) {
    T item;
    describe(s, item);
  };
  groups({name, meaning, typeid(T), true, names, [&] { value.clear(); }, visit,
          visit_new});
}

template <class T>
void Section::sections_by_name(Name name, std::map<std::string, T>& value,
                               Meaning meaning) {
  std::vector<std::string> names;
  for (const auto& [key, unused] : value) names.push_back(key);
  auto visit = [&](const std::string& key, Section& s) {
    describe(s, value[key]);
  };
  auto visit_new = [](Section& s) {
    T item;
    describe(s, item);
  };
  groups({name, meaning, typeid(T), false, names, [&] { value.clear(); }, visit,
          visit_new});
}

}  // namespace braid::config
