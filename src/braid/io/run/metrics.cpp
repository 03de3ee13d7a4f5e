#include "braid/io/run/metrics.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
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

struct Line {
  int64_t step = 0;
  std::string_view text;
};

std::optional<int64_t> step_of(std::string_view line) {
  Json row = Json::parse(line, nullptr, false);
  if (!row.is_object() || !row.contains("step")) return std::nullopt;
  if (!row["step"].is_number_integer()) return std::nullopt;
  return row["step"].get<int64_t>();
}

std::vector<Line> whole_lines(const MappedFile& file) {
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                        file.bytes().size());
  std::vector<Line> lines;
  for (size_t begin = 0, end = 0;; begin = end + 1) {
    end = text.find('\n', begin);
    if (end == text.npos) return lines;  // what follows is no whole line
    std::string_view line = text.substr(begin, end + 1 - begin);
    if (auto step = step_of(line)) lines.push_back({*step, line});
  }
}

}  // namespace

std::string metrics_line(const MetricsRow& row) {
  std::string line = fmt::format(
      R"({{"step":{},"epoch":{},"time_s":{},"split":{})", row.step,
      number_text(row.epoch), number_text(row.time_s), quote(row.split));
  std::set<std::string> names = {"step", "epoch", "time_s", "split"};
  if (!row.weights.empty()) {
    line += fmt::format(R"(,"weights":{})", quote(row.weights));
    names.insert("weights");
  }
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
  std::vector<Bytes> kept;
  for (const Line& line : whole_lines(*file)) {
    if (line.step <= step) kept.push_back(std::as_bytes(std::span(line.text)));
  }
  write_file_atomically(path, kept);
}

int64_t MetricsFile::last_step(const std::filesystem::path& path) {
  int64_t last = -1;
  auto file = MappedFile::open_if_exists(path);
  if (!file) return last;
  for (const Line& line : whole_lines(*file)) last = std::max(last, line.step);
  return last;
}

}  // namespace braid::io
