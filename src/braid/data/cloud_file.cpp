#include "braid/data/cloud_file.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <string_view>

#include "braid/base/error.h"
#include "braid/base/rng.h"
#include "braid/data/sample_random.h"
#include "braid/io/file/file.h"
#include "braid/io/problems.h"

namespace braid::data {
namespace {

bool is_gap(char c) { return c == ' ' || c == '\t' || c == ',' || c == '\r'; }

std::string_view without_gap(std::string_view text) {
  while (!text.empty() && is_gap(text.front())) text.remove_prefix(1);
  return text;
}

// Takes a number from the front of the text; false when there is none.
template <class Number>
bool take_number(std::string_view& text, Number& number) {
  text = without_gap(text);
  if (text.starts_with('+')) text.remove_prefix(1);
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  bool is_end = rest == end || is_gap(*rest);
  if (error != std::errc() || !is_end) return false;
  text.remove_prefix(static_cast<size_t>(rest - text.data()));
  return true;
}

class LineReader {
 public:
  LineReader(const std::filesystem::path& path, const std::string& who)
      : path_(path), who_(who), file_(path) {
    text_ = {reinterpret_cast<const char*>(file_.bytes().data()),
             file_.bytes().size()};
  }

  // The next line that is not empty; false at the end.
  bool next(std::string_view& line) {
    while (!text_.empty()) {
      size_t end = std::min(text_.find('\n'), text_.size());
      line = without_gap(text_.substr(0, end));
      text_.remove_prefix(std::min(end + 1, text_.size()));
      ++line_;
      if (!line.empty()) return true;
    }
    file_.check();
    return false;
  }

  int64_t line() const { return line_; }

  [[noreturn]] void fail(std::string_view expected,
                         std::string_view got) const {
    fail_world("[{}] expected {}, got {} ({}, line {})", who_, expected, got,
               path_.string(), line_);
  }
  [[noreturn]] void fail_line(std::string_view expected,
                              std::string_view line) const {
    fail(expected, fmt::format("'{}'", io::shown(line)));
  }

 private:
  const std::filesystem::path& path_;
  const std::string& who_;
  io::MappedFile file_;
  std::string_view text_;
  int64_t line_ = 0;
};

// A first line that holds one whole number.
bool is_count(const LineReader& reader, std::string_view line) {
  int64_t count = 0;
  return reader.line() == 1 && take_number(line, count) &&
         without_gap(line).empty();
}

}  // namespace

std::vector<Point> read_points(const std::filesystem::path& path,
                               const std::string& who) {
  LineReader reader(path, who);
  std::vector<Point> points;
  for (std::string_view line; reader.next(line);) {
    if (is_count(reader, line)) continue;
    std::string_view rest = line;
    Point point = {};
    for (float& value : point) {
      if (take_number(rest, value) && std::isfinite(value)) continue;
      reader.fail_line("a point as 'x y z'", line);
    }
    points.push_back(point);
  }
  if (points.empty()) reader.fail("points", "none");
  return points;
}

std::vector<int64_t> read_point_labels(const std::filesystem::path& path,
                                       const std::string& who) {
  LineReader reader(path, who);
  std::vector<int64_t> labels;
  for (std::string_view line; reader.next(line);) {
    std::string_view rest = line;
    int64_t label = 0;
    if (!take_number(rest, label) || !without_gap(rest).empty()) {
      reader.fail_line("the whole number of a part", line);
    }
    labels.push_back(label);
  }
  return labels;
}

void normalise_points(std::vector<Point>& points) {
  std::array<double, 3> middle = {};
  for (const Point& point : points) {
    for (size_t i = 0; i < 3; ++i) middle[i] += point[i];
  }
  for (double& value : middle) value /= static_cast<double>(points.size());
  auto distance = [&](const Point& point) {
    double sum = 0;
    for (size_t i = 0; i < 3; ++i) {
      sum += (point[i] - middle[i]) * (point[i] - middle[i]);
    }
    return std::sqrt(sum);
  };
  double most = 0;
  for (const Point& point : points) most = std::max(most, distance(point));
  if (most == 0) most = 1;  // one point, or all in one place
  for (Point& point : points) {
    for (size_t i = 0; i < 3; ++i) {
      point[i] = static_cast<float>((point[i] - middle[i]) / most);
    }
  }
}

std::vector<size_t> draw_points(size_t size, size_t count, int64_t seed,
                                const std::string& name) {
  SampleRandom random(seed, "cloud", static_cast<int64_t>(stable_hash(name)));
  auto below = [&](size_t bound) {
    return static_cast<size_t>(random.below(static_cast<int64_t>(bound)));
  };
  std::vector<size_t> drawn(size);
  std::iota(drawn.begin(), drawn.end(), size_t{0});
  for (size_t i = 0; i < std::min(size, count); ++i) {
    std::swap(drawn[i], drawn[i + below(size - i)]);
  }
  drawn.resize(std::min(size, count));
  while (drawn.size() < count) drawn.push_back(below(size));
  return drawn;
}

}  // namespace braid::data
