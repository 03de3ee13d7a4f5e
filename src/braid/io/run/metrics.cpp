#include "braid/io/run/metrics.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <vector>

#include "braid/base/error.h"

namespace braid::io {
namespace {

using Json = nlohmann::json;

std::string number_text(double number) {
  return std::isfinite(number) ? fmt::format("{}", number) : "null";
}

std::string quote(const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    fail_usage("[metrics] the name '{}' is not UTF-8", text);
  }
}

// Whether a line belongs to a run up to this step.
bool is_kept(std::string_view line, int64_t step) {
  Json row = Json::parse(line, nullptr, false);
  if (!row.is_object() || !row.contains("step")) return false;
  const Json& number = row["step"];
  return number.is_number_integer() && number.get<int64_t>() <= step;
}

std::vector<Bytes> kept_lines(std::string_view text, int64_t step) {
  std::vector<Bytes> lines;
  for (size_t begin = 0, end = 0;; begin = end + 1) {
    end = text.find('\n', begin);
    if (end == text.npos) return lines;  // what follows is no whole line
    std::string_view line = text.substr(begin, end + 1 - begin);
    if (is_kept(line, step)) lines.push_back(std::as_bytes(std::span(line)));
  }
}

}  // namespace

std::string metrics_line(const MetricsRow& row) {
  std::string line = fmt::format(
      R"({{"step":{},"epoch":{},"time_s":{},"split":{})", row.step,
      number_text(row.epoch), number_text(row.time_s), quote(row.split));
  std::set<std::string> names = {"step", "epoch", "time_s", "split"};
  for (const auto& [name, value] : row.values) {
    if (!names.insert(name).second) {
      fail_usage("[metrics] the name '{}' is used twice or reserved", name);
    }
    line += fmt::format(",{}:{}", quote(name), number_text(value));
  }
  return line + "}\n";
}

void MetricsFile::cut_back(const std::filesystem::path& path, int64_t step) {
  auto file = MappedFile::open_if_exists(path);
  if (!file) return;
  std::string_view text(reinterpret_cast<const char*>(file->bytes().data()),
                        file->bytes().size());
  write_file_atomically(path, kept_lines(text, step));
}

}  // namespace braid::io
