#include "braid/base/numbers.h"

#include <charconv>
#include <cmath>
#include <string>

#include "fmt/format.h"

namespace braid {
namespace {

template <class Number>
std::optional<Number> read_all(std::string_view text) {
  Number number = 0;
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, number);
  if (text.empty() || error != std::errc() || rest != end) return std::nullopt;
  return number;
}

std::string_view without_plus(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  return text;
}

}  // namespace

std::optional<double> parse_number(std::string_view text) {
  text = without_plus(text);
  // YAML writes infinity and "no number" with a point.
  if (text == ".inf" || text == ".Inf" || text == ".INF") text = "inf";
  if (text == "-.inf" || text == "-.Inf" || text == "-.INF") text = "-inf";
  if (text == ".nan" || text == ".NaN" || text == ".NAN") text = "nan";
  return read_all<double>(text);
}

std::optional<int64_t> parse_whole(std::string_view text) {
  return read_all<int64_t>(without_plus(text));
}

std::optional<bool> parse_flag(std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

std::string yaml_number(double number) {
  if (std::isnan(number)) return ".nan";
  if (std::isinf(number)) return number > 0 ? ".inf" : "-.inf";
  std::string text = fmt::format("{}", number);
  // YAML 1.1 reads 1e-08 as a text.
  size_t exponent = text.find('e');
  bool has_point = text.find('.') != text.npos;
  if (exponent != text.npos && !has_point) text.insert(exponent, ".0");
  return text;
}

}  // namespace braid
