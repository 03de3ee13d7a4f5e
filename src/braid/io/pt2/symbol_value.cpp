#include "braid/io/pt2/symbol_value.h"

#include <charconv>

namespace braid::io::pt2 {
namespace {

using Value = std::optional<int64_t>;

constexpr int kMaxDepth = 32;

Value sum(Value a, Value b) {
  int64_t result = 0;
  if (!a || !b || __builtin_add_overflow(*a, *b, &result)) return {};
  return result;
}

Value product(Value a, Value b) {
  int64_t result = 0;
  if (!a || !b || __builtin_mul_overflow(*a, *b, &result)) return {};
  return result;
}

// sum := product {"+" product}; product := factor {"*" factor}
class Reader {
 public:
  Reader(std::string_view text, const std::map<std::string, int64_t>& symbols)
      : text_(text), symbols_(symbols) {}

  Value read() {
    Value value = read_sum(0);
    return at_ == text_.size() ? value : std::nullopt;
  }

 private:
  Value read_sum(int depth) {
    Value value = read_product(depth);
    while (value && take('+')) value = sum(value, read_product(depth));
    return value;
  }

  Value read_product(int depth) {
    Value value = read_factor(depth);
    while (value && take('*')) value = product(value, read_factor(depth));
    return value;
  }

  Value read_factor(int depth) {
    if (depth > kMaxDepth) return {};
    if (take('(')) {
      Value value = read_sum(depth + 1);
      return take(')') ? value : std::nullopt;
    }
    std::string_view word = read_word();
    int64_t number = 0;
    const char* end = word.data() + word.size();
    auto [last, error] = std::from_chars(word.data(), end, number);
    if (error == std::errc() && last == end) return number;
    auto known = symbols_.find(std::string(word));
    return known == symbols_.end() ? Value{} : known->second;
  }

  std::string_view read_word() {
    skip_blanks();
    size_t end = text_.find_first_of(" +*()", at_);
    std::string_view word = text_.substr(at_, end - at_);
    at_ += word.size();
    return word;
  }

  bool take(char c) {
    skip_blanks();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  void skip_blanks() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }

  std::string_view text_;
  const std::map<std::string, int64_t>& symbols_;
  size_t at_ = 0;
};

}  // namespace

std::optional<int64_t> symbol_value(
    std::string_view text, const std::map<std::string, int64_t>& symbols) {
  return Reader(text, symbols).read();
}

}  // namespace braid::io::pt2
