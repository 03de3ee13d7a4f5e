#include "braid/plan/profile.h"

#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "braid/base/error.h"

namespace braid::plan {
namespace {

using Json = nlohmann::json;

void check_seconds(const std::string& key, double seconds) {
  if (std::isfinite(seconds) && seconds >= 0) return;
  fail_world("[profile] expected seconds from 0 for '{}', got {}", key,
             seconds);
}

}  // namespace

std::optional<double> Profile::find(std::string_view key) const {
  auto found = seconds_.find(key);
  if (found == seconds_.end()) return std::nullopt;
  return found->second;
}

void Profile::set(std::string key, double seconds) {
  check_seconds(key, seconds);
  seconds_.insert_or_assign(std::move(key), seconds);
}

void Profile::add(const Profile& other) {
  for (const auto& [key, seconds] : other.seconds_) {
    seconds_.insert_or_assign(key, seconds);
  }
}

std::string Profile::text() const {
  Json json{{"seconds", seconds_}};
  return json.dump(1) + "\n";
}

Profile Profile::parse(const std::string& text) {
  try {
    Profile profile;
    Json json = Json::parse(text);
    using Seconds = std::map<std::string, double>;
    for (const auto& [key, seconds] : json.at("seconds").get<Seconds>()) {
      profile.set(key, seconds);
    }
    return profile;
  } catch (const Json::exception&) {
    fail_world(
        "[profile] cannot be read: it is not of the form that is written\n"
        "HINT: delete the file; it is made anew");
  }
}

}  // namespace braid::plan
