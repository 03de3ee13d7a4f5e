#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>

#include "braid/base/error.h"
#include "braid/base/printable.h"
#include "braid/base/text.h"
#include "braid/plan/solve/instance.h"

namespace braid::plan {
namespace {

using Json = nlohmann::json;
using Written = nlohmann::ordered_json;

// Reads the tree and knows where it is, for errors.
class Reader {
 public:
  explicit Reader(const std::string& file) : file_(printable(file)) {}

  Json parse(std::string_view text) {
    std::vector<std::set<std::string>> keys;
    std::string twice;
    auto note = [&](int, Json::parse_event_t event, Json& value) {
      if (event == Json::parse_event_t::object_start) keys.emplace_back();
      if (event == Json::parse_event_t::object_end) keys.pop_back();
      if (event == Json::parse_event_t::key &&
          !keys.back().insert(value.get<std::string>()).second &&
          twice.empty()) {
        twice = value.get<std::string>();
      }
      return true;
    };
    try {
      Json json = Json::parse(text, note);
      if (!twice.empty()) {
        fail_usage("[plan] {}: the key '{}' stands twice in one object", file_,
                   printable(twice));
      }
      return json;
    } catch (const Json::parse_error& error) {
      fail_usage("[plan] {}: not valid JSON at byte {}", file_, error.byte);
    } catch (const Json::out_of_range&) {
      fail_usage("[plan] {}: a number in it is too large", file_);
    }
  }

  Instance instance(const Json& json) {
    check_object(json, "",
                 {"device_bytes", "host_bytes", "depths", "segments", "edges"});
    Instance made;
    made.device_bytes = whole(json, "", "device_bytes", kNoLimit);
    made.host_bytes = whole(json, "", "host_bytes", kNoLimit);
    const Json& depths = list(json, "", "depths");
    for (size_t i = 0; i < depths.size(); ++i) {
      made.depths.push_back(small(depths[i], fmt::format("depths[{}]", i)));
    }
    const Json& segments = list(json, "", "segments");
    for (size_t i = 0; i < segments.size(); ++i) {
      made.segments.push_back(
          segment(segments[i], fmt::format("segments[{}]", i)));
    }
    if (!json.contains("edges")) return made;
    const Json& edges = list(json, "", "edges");
    for (size_t i = 0; i < edges.size(); ++i) {
      made.edges.push_back(edge(edges[i], fmt::format("edges[{}]", i)));
    }
    return made;
  }

 private:
  [[noreturn]] void fail(const std::string& place, const char* expected,
                         const Json& got) const {
    std::string text = got.dump(-1, ' ', false, Json::error_handler_t::replace);
    fail_usage("[plan] {}: {}: expected {}, got {}", file_,
               place.empty() ? "the whole" : place, expected,
               printable(text, 40));
  }

  static std::string at(const std::string& place, const std::string& key) {
    return place.empty() ? key : place + "." + key;
  }

  void check_object(const Json& json, const std::string& place,
                    const std::vector<std::string>& known) const {
    if (!json.is_object()) fail(place, "an object", json);
    for (const auto& [key, unused] : json.items()) {
      if (std::ranges::find(known, key) != known.end()) continue;
      fail_usage("[plan] {}: {}: nobody reads this key\nHINT: {}", file_,
                 at(place, printable(key)), name_hint(key, known));
    }
  }

  const Json& list(const Json& json, const std::string& place,
                   const std::string& key) const {
    static const Json kMissing;
    const Json& found = json.contains(key) ? json.at(key) : kMissing;
    if (!found.is_array()) {
      if (found.is_null()) {
        fail_usage("[plan] {}: {}: expected a list, there is none", file_,
                   at(place, key));
      }
      fail(at(place, key), "a list", found);
    }
    return found;
  }

  int64_t whole(const Json& json, const std::string& place) const {
    bool fits = json.is_number_unsigned()
                    ? json.get<uint64_t>() <= static_cast<uint64_t>(kNoLimit)
                    : json.is_number_integer() && json.get<int64_t>() >= 0;
    if (!fits) fail(place, "a whole number from 0 to 2^63 - 1", json);
    return json.get<int64_t>();
  }

  int64_t whole(const Json& json, const std::string& place,
                std::string_view key, int64_t missing) const {
    auto found = json.find(std::string(key));
    if (found == json.end()) return missing;
    return whole(*found, at(place, std::string(key)));
  }

  int32_t small(const Json& json, const std::string& place) const {
    int64_t number = whole(json, place);
    if (number > 1'000'000'000) fail(place, "a smaller number", json);
    return static_cast<int32_t>(number);
  }

  std::string name(const Json& json, const std::string& place) const {
    auto found = json.find("name");
    if (found == json.end()) return {};
    if (!found->is_string()) fail(at(place, "name"), "a text", *found);
    return found->get<std::string>();
  }

  SegmentModes segment(const Json& json, const std::string& place) const {
    check_object(json, place, {"name", "modes"});
    SegmentModes made{.name = name(json, place)};
    const Json& modes = list(json, place, "modes");
    for (size_t m = 0; m < modes.size(); ++m) {
      made.modes.push_back(
          mode(modes[m], fmt::format("{}.modes[{}]", place, m)));
    }
    return made;
  }

  Mode mode(const Json& json, const std::string& place) const {
    static const std::vector<std::string> kKnown = mode_keys();
    check_object(json, place, kKnown);
    Mode made{.name = name(json, place)};
    auto read = [&](const ModeField& field) {
      made.*(field.at) = whole(json, place, field.name, 0);
    };
    std::ranges::for_each(kTimeFields, read);
    std::ranges::for_each(kByteFields, read);
    read(kHostField);
    if (auto dep = json.find("dep"); dep != json.end()) {
      if (!dep->is_boolean()) fail(at(place, "dep"), "true or false", *dep);
      made.dep = dep->get<bool>();
    }
    return made;
  }

  static std::vector<std::string> mode_keys() {
    std::vector<std::string> keys{"name", "dep", std::string(kHostField.name)};
    for (const ModeField& field : kTimeFields) keys.emplace_back(field.name);
    for (const ModeField& field : kByteFields) keys.emplace_back(field.name);
    return keys;
  }

  Edge edge(const Json& json, const std::string& place) const {
    check_object(json, place, {"from", "to", "bytes"});
    for (const char* key : {"from", "to", "bytes"}) {
      if (!json.contains(key)) {
        fail_usage("[plan] {}: {}: expected a whole number, there is none",
                   file_, at(place, key));
      }
    }
    return {small(json.at("from"), at(place, "from")),
            small(json.at("to"), at(place, "to")),
            whole(json.at("bytes"), at(place, "bytes"))};
  }

  std::string file_;
};

Written mode_json(const Mode& mode) {
  Written json;
  if (!mode.name.empty()) json["name"] = mode.name;
  auto write = [&](const ModeField& field) {
    if (mode.*(field.at) != 0) json[std::string(field.name)] = mode.*(field.at);
  };
  std::ranges::for_each(kTimeFields, write);
  std::ranges::for_each(kByteFields, write);
  write(kHostField);
  if (mode.dep) json["dep"] = true;
  return json.is_null() ? Written::object() : json;
}

}  // namespace

Instance parse_instance(std::string_view text, const std::string& file) {
  Reader reader(file);
  Instance instance = reader.instance(reader.parse(text));
  check_instance(instance, file);
  return instance;
}

std::string instance_text(const Instance& instance) {
  Written json;
  if (instance.device_bytes != kNoLimit) {
    json["device_bytes"] = instance.device_bytes;
  }
  if (instance.host_bytes != kNoLimit) json["host_bytes"] = instance.host_bytes;
  json["depths"] = instance.depths;
  json["segments"] = Written::array();
  for (const SegmentModes& segment : instance.segments) {
    Written made;
    if (!segment.name.empty()) made["name"] = segment.name;
    made["modes"] = Written::array();
    for (const Mode& mode : segment.modes) {
      made["modes"].push_back(mode_json(mode));
    }
    json["segments"].push_back(std::move(made));
  }
  for (const Edge& edge : instance.edges) {
    json["edges"].push_back(
        {{"from", edge.from}, {"to", edge.to}, {"bytes", edge.bytes}});
  }
  return json.dump(1, ' ', false, Written::error_handler_t::replace) + "\n";
}

}  // namespace braid::plan
