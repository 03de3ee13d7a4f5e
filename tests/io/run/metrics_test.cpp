#include "braid/io/run/metrics.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "io/scratch.h"

namespace braid::io {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

MetricsRow row_of(int64_t step) {
  return {
      step, 0.5, 3.25, "train", {{"loss", 1.0 / static_cast<double>(step)}}};
}

std::vector<int64_t> steps_in(const fs::path& path) {
  std::istringstream lines(read_text(path));
  std::vector<int64_t> steps;
  for (std::string line; std::getline(lines, line);) {
    steps.push_back(Json::parse(line)["step"]);
  }
  return steps;
}

using Steps = std::vector<int64_t>;

TEST(Metrics, line_is_as_documented) {
  MetricsRow row{40, 0.5, 3.2, "train", {{"loss", 1.25}, {"lr", 0.1}}};
  EXPECT_EQ(metrics_line(row),
            "{\"step\":40,\"epoch\":0.5,\"time_s\":3.2,\"split\":\"train\","
            "\"loss\":1.25,\"lr\":0.1}\n");
}

TEST(Metrics, numbers_come_back_exactly) {
  for (double number : {0.1, 1e300, -5e-324, 1e-5, 123456789.0, 0.0,
                        std::numeric_limits<double>::max(), 1.0 / 3, -2.0}) {
    Json row = Json::parse(metrics_line({1, 0, 0, "eval", {{"x", number}}}));
    EXPECT_EQ(row["x"].get<double>(), number);
  }
}

TEST(Metrics, numbers_that_are_not_finite_are_null) {
  Json row = Json::parse(metrics_line(
      {1, NAN, 0, "eval", {{"a", NAN}, {"b", INFINITY}, {"c", -INFINITY}}}));
  for (const char* name : {"epoch", "a", "b", "c"}) {
    EXPECT_TRUE(row.at(name).is_null()) << name;
  }
}

TEST(Metrics, names_are_checked_and_quoted) {
  auto line = [](const Scalars& values) {
    return metrics_line({1, 0, 0, "eval", values});
  };
  EXPECT_EQ(Json::parse(line({{"a\"\n\\", 1}}))["a\"\n\\"], 1);
  EXPECT_THROW(line({{"step", 1}}), std::invalid_argument);
  EXPECT_THROW(line({{"a", 1}, {"a", 2}}), std::invalid_argument);
  EXPECT_THROW(line({{"\xff", 1}}), std::invalid_argument);
}

TEST(Metrics, file_goes_on_where_it_ended) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "metrics.jsonl";
  MetricsFile(path).add(row_of(1));
  MetricsFile file(path);
  file.add(row_of(2));
  file.sync();
  EXPECT_EQ(read_text(path), metrics_line(row_of(1)) + metrics_line(row_of(2)));
}

TEST(Metrics, are_cut_back_to_a_step) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "metrics.jsonl";
  MetricsFile file(path);
  for (int64_t step : {1, 2, 3, 3, 4, 10}) file.add(row_of(step));
  MetricsFile::cut_back(path, 12);
  EXPECT_EQ(steps_in(path), (Steps{1, 2, 3, 3, 4, 10}));
  MetricsFile::cut_back(path, 3);
  EXPECT_EQ(steps_in(path), (Steps{1, 2, 3, 3}));
  MetricsFile::cut_back(path, -1);
  EXPECT_EQ(read_text(path), "");
  MetricsFile::cut_back(scratch.path() / "no", 1);
  EXPECT_EQ(num_entries(scratch.path()), 1u);
}

TEST(Metrics, cut_back_keeps_whole_lines_only) {
  ScratchDirectory scratch(fast_parent());
  fs::path path = scratch.path() / "metrics.jsonl";
  std::string first = metrics_line(row_of(1)), second = metrics_line(row_of(2));
  for (size_t n = 0; n <= second.size(); ++n) {
    write_text(path, first + second.substr(0, n));
    MetricsFile::cut_back(path, 5);
    EXPECT_EQ(read_text(path), n < second.size() ? first : first + second);
  }
  std::string nested(100'000, '[');
  write_text(path, "no json\n{}\n{\"step\":\"1\"}\n[1]\n\n" + first + "\xff\n" +
                       nested + "\n" + second);
  MetricsFile::cut_back(path, 5);
  EXPECT_EQ(read_text(path), first + second);
}

TEST(Metrics, last_step_is_that_of_whole_lines) {
  ScratchDirectory scratch(fast_parent());
  fs::path path = scratch.path() / "metrics.jsonl";
  EXPECT_EQ(MetricsFile::last_step(path), -1);
  std::string first = metrics_line(row_of(3)), second = metrics_line(row_of(7));
  write_text(path, first + second.substr(0, second.size() - 1));
  EXPECT_EQ(MetricsFile::last_step(path), 3);
  write_text(path, second + first + "no json\n");
  EXPECT_EQ(MetricsFile::last_step(path), 7);
}

TEST(Metrics, full_disk_keeps_the_lines_before) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "metrics.jsonl";
  MetricsFile file(path);
  file.add(row_of(1));
  SmallDisk disk(fs::file_size(path) + 10);
  EXPECT_THROW(file.add(row_of(2)), std::runtime_error);
  EXPECT_EQ(read_text(path), metrics_line(row_of(1)));
}

}  // namespace
}  // namespace braid::io
