// Profile: seconds that were measured, by a text that says what was measured
// on what. Choices that depend on speed are functions of a profile, so that a
// saved one gives them again.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace braid::plan {

// Plain values; no file is opened here.
class Profile {
 public:
  std::optional<double> find(std::string_view key) const;
  void set(std::string key, double seconds);
  void add(const Profile& other);  // its seconds count over those here
  size_t size() const { return seconds_.size(); }
  bool operator==(const Profile&) const = default;

  // JSON, sorted by key. Reading throws std::runtime_error for anything else,
  // and for seconds that are no finite number from 0.
  std::string text() const;
  static Profile parse(const std::string& text);

 private:
  std::map<std::string, double, std::less<>> seconds_;
};

}  // namespace braid::plan
