#include "braid/io/checkpoint/checkpoint_marker.h"

#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "braid/base/error.h"

namespace braid::io {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr std::string_view kMarkerName = "COMPLETE";

std::string sum_text(uint32_t sum) { return fmt::format("{:08x}", sum); }

bool is_entry(const Json& entry) {
  auto has = [&](const char* key, Json::value_t type) {
    return entry.contains(key) && entry[key].type() == type;
  };
  return entry.is_object() && has("name", Json::value_t::string) &&
         has("bytes", Json::value_t::number_unsigned) &&
         has("crc32", Json::value_t::string);
}

// What is wrong with the file that an entry describes.
std::string damage_of_file(const fs::path& directory, const Json& entry) {
  if (!is_entry(entry)) return "its marker is damaged";
  std::string name = entry["name"];
  std::optional<FileSum> sum = sum_file(directory / name);
  if (!sum) return fmt::format("'{}' is missing or not readable", name);
  auto bytes = entry["bytes"].get<uint64_t>();
  if (sum->bytes != bytes) {
    return fmt::format("'{}' has {} bytes, {} were written", name, sum->bytes,
                       bytes);
  }
  if (sum_text(sum->crc32) == entry["crc32"].get<std::string>()) return "";
  return fmt::format("'{}' has other content than was written (checksum)",
                     name);
}

}  // namespace

void write_marker(const fs::path& directory,
                  const std::vector<MarkedFile>& files) {
  Json list = Json::array();
  for (const MarkedFile& file : files) {
    list.push_back({{"name", file.name},
                    {"bytes", file.sum.bytes},
                    {"crc32", sum_text(file.sum.crc32)}});
  }
  write_file_atomically(directory / kMarkerName, json_text(list));
}

FileSum marked_sum(const fs::path& file) {
  MappedFile marker(file.parent_path() / kMarkerName);
  Json list = parse_json(marker.bytes());
  for (const Json& entry : list.is_array() ? list : Json::array()) {
    if (!is_entry(entry) || entry["name"] != file.filename().string()) continue;
    auto text = entry["crc32"].get<std::string>();
    uint32_t sum = 0;
    std::from_chars(text.data(), text.data() + text.size(), sum, 16);
    return {entry["bytes"].get<uint64_t>(), sum};
  }
  fail_world("[checkpoint] '{}' is not in the marker of its checkpoint",
             file.string());
}

std::string damage_of(const fs::path& directory) {
  auto marker = MappedFile::open_if_exists(directory / kMarkerName);
  if (!marker) return "it has no completion marker";
  Json list = parse_json(marker->bytes());
  if (!list.is_array() || list.empty()) return "its marker is damaged";
  for (const Json& entry : list) {
    std::string damage = damage_of_file(directory, entry);
    if (!damage.empty()) return damage;
  }
  return "";
}

std::string json_text(const Json& json) {
  try {
    return json.dump(2) + "\n";
  } catch (const Json::exception&) {
    fail_usage("[checkpoint.save] names and meta data must be UTF-8");
  }
}

Json parse_json(Bytes bytes) {
  auto begin = reinterpret_cast<const char*>(bytes.data());
  return Json::parse(begin, begin + bytes.size(), nullptr, false);
}

}  // namespace braid::io
