#include "braid/cli/numbers.h"

#include <charconv>
#include <string>

#include "braid/cli/verb.h"
#include "fmt/format.h"

namespace braid::cli {
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

std::string check_whole(const std::string& text) {
  if (parse_whole(text)) return "";
  return fmt::format("'{}' is not a whole number", text);
}

std::optional<bool> parse_flag(std::string_view text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  return std::nullopt;
}

}  // namespace braid::cli
