#include "braid/base/call_text.h"

#include <algorithm>
#include <charconv>

#include "braid/base/error.h"

namespace braid {
namespace {

std::optional<double> parse_plain(std::string_view text) {
  double number = 0;
  const char* end = text.data() + text.size();
  auto read = std::from_chars(text.data(), end, number);
  if (read.ptr != end || read.ec != std::errc()) return std::nullopt;
  return number;
}

class CallReader {
 public:
  CallReader(std::string_view text, std::string_view part, Percents percents)
      : text_(text), rest_(text), part_(part), percents_(percents) {}

  CallText run() {
    CallText call{word()};
    if (take('(') && !take(')')) {
      do {
        add(call);
      } while (take(','));
      expect(')');
    }
    skip_spaces();
    if (!rest_.empty()) fail();
    return call;
  }

 private:
  void add(CallText& call) {
    CallValue value{word(), {}};
    for (const CallValue& before : call.values) {
      if (before.name != value.name) continue;
      fail_usage("{} '{}' has the value '{}' twice", part_, text_, value.name);
    }
    expect('=');
    value.is_list = take('[');
    if (!value.is_list || !take(']')) {
      do {
        add_number(value);
      } while (value.is_list && take(','));
      if (value.is_list) expect(']');
    }
    call.values.push_back(std::move(value));
  }

  void skip_spaces() {
    rest_.remove_prefix(std::min(rest_.find_first_not_of(' '), rest_.size()));
  }

  bool take(char c) {
    skip_spaces();
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }

  void expect(char c) {
    if (!take(c)) fail();
  }

  std::string word() {
    skip_spaces();
    size_t size = std::min(rest_.find_first_of(" ()[]=,"), rest_.size());
    if (size == 0) fail();
    std::string word(rest_.substr(0, size));
    rest_.remove_prefix(size);
    return word;
  }

  void add_number(CallValue& value) {
    std::string text = word();
    auto percent =
        percents_ == Percents::kTaken ? parse_percent(text) : std::nullopt;
    auto number = percent ? percent : parse_plain(text);
    if (!number) {
      fail_usage("{} '{}' is no number, in '{}'", part_, text, text_);
    }
    bool is_percent = percent.has_value();
    if (!value.numbers.empty() && value.is_percent != is_percent) {
      fail_usage("{} '{}' has numbers and percentages in one list", part_,
                 text_);
    }
    value.is_percent = is_percent;
    value.numbers.push_back(*number);
  }

  [[noreturn]] void fail() const {
    fail_usage("{} cannot read '{}'\nHINT: write NAME(value=1,list=[2,3])",
               part_, text_);
  }

  std::string_view text_, rest_, part_;
  Percents percents_;
};

std::string value_text(const CallValue& value) {
  std::string list;
  for (double number : value.numbers) {
    list += fmt::format("{}{}{}", list.empty() ? "" : ",", number,
                        value.is_percent ? "%" : "");
  }
  return fmt::format("{}={}{}{}", value.name, value.is_list ? "[" : "", list,
                     value.is_list ? "]" : "");
}

}  // namespace

CallText parse_call(std::string_view text, std::string_view part,
                    Percents percents) {
  return CallReader(text, part, percents).run();
}

std::optional<double> parse_percent(std::string_view text) {
  if (!text.ends_with('%')) return std::nullopt;
  return parse_plain(text.substr(0, text.size() - 1));
}

std::string call_text(const CallText& call) {
  if (call.values.empty()) return call.name;
  std::string list;
  for (const CallValue& value : call.values) {
    list += (list.empty() ? "" : ",") + value_text(value);
  }
  return fmt::format("{}({})", call.name, list);
}

}  // namespace braid
