#include "braid/io/pt2/symbol_text.h"

#include <cctype>
#include <optional>
#include <vector>

namespace braid::io::pt2 {
namespace {

constexpr size_t kMaxChars = 10'000;
constexpr int kMaxDepth = 50;

struct Term {
  std::string text;
  bool is_sum = false;  // needs brackets inside a product
};

class SymbolReader {
 public:
  explicit SymbolReader(std::string_view text) : text_(text) {}

  std::optional<std::string> read() {
    std::optional<Term> term = read_term(0);
    if (!term || at_ != text_.size()) return std::nullopt;
    return term->text;
  }

 private:
  bool take(char wanted) {
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    return true;
  }

  template <class Is>
  std::string_view take_while(Is is) {
    size_t begin = at_;
    while (at_ < text_.size() && is(text_[at_])) ++at_;
    return text_.substr(begin, at_ - begin);
  }

  static bool is_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
  }

  static bool is_number(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) || c == '-';
  }

  // NAME(...): a symbol, a number or a function of terms.
  std::optional<Term> read_term(int depth) {
    std::string name(take_while(is_word));
    if (name.empty() || depth > kMaxDepth || !take('(')) return std::nullopt;
    if (name == "Symbol") return read_symbol();
    if (name == "Integer") return read_integer();
    std::vector<Term> terms;
    do {
      take_while([](char c) { return c == ' '; });
      std::optional<Term> term = read_term(depth + 1);
      if (!term) return std::nullopt;
      terms.push_back(std::move(*term));
    } while (take(','));
    if (!take(')')) return std::nullopt;
    return join(name, terms);
  }

  // 'name', assumptions)
  std::optional<Term> read_symbol() {
    if (!take('\'')) return std::nullopt;
    std::string name(take_while(is_word));
    if (name.empty() || !take('\'')) return std::nullopt;
    take_while([](char c) { return c != ')' && c != '('; });
    if (!take(')')) return std::nullopt;
    return Term{std::move(name)};
  }

  std::optional<Term> read_integer() {
    std::string number(take_while(is_number));
    if (number.empty() || !take(')')) return std::nullopt;
    return Term{std::move(number)};
  }

  static Term join(const std::string& name, const std::vector<Term>& terms) {
    bool is_sum = name == "Add", is_product = name == "Mul";
    Term result;
    for (size_t i = 0; i < terms.size(); ++i) {
      if (i > 0) result.text += is_sum ? " + " : is_product ? "*" : ", ";
      bool needs_brackets = is_product && terms[i].is_sum;
      result.text += needs_brackets ? "(" + terms[i].text + ")" : terms[i].text;
    }
    result.is_sum = is_sum;
    if (!is_sum && !is_product) result.text = name + "(" + result.text + ")";
    return result;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

std::string symbol_text(std::string_view expression) {
  if (expression.size() > kMaxChars) return std::string(expression);
  return SymbolReader(expression).read().value_or(std::string(expression));
}

}  // namespace braid::io::pt2
