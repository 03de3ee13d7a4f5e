#include "braid/train/job/loss_expression.h"

#include <cctype>
#include <charconv>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/ops/build/functions.h"
#include "braid/ops/build/named_losses.h"

namespace braid::train {
namespace {

using Kind = Expression::Kind;

// Trees are walked by recursion: they are as deep as brackets and as sums are
// long.
constexpr int kDeepest = 32, kMostPairs = 256;

double count(Kind kind, double a, double b) {
  if (kind == Kind::kMultiply) return a * b;
  return kind == Kind::kAdd ? a + b : a - b;
}

class Parser {
 public:
  explicit Parser(std::string_view text) : text_(text) {}

  Expression parse() {
    Expression result = sum();
    peek();
    if (at_ < text_.size()) fail("expected an operator");
    return result;
  }

 private:
  [[noreturn]] void fail(std::string_view what) const {
    fail_usage("[loss] '{}': {} at '{}'", text_, what,
               at_ < text_.size() ? text_.substr(at_) : "its end");
  }

  char peek() {
    while (at_ < text_.size() &&
           std::isspace(static_cast<unsigned char>(text_[at_]))) {
      ++at_;
    }
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (peek() != c) return false;
    ++at_;
    return true;
  }

  void go_deeper() {
    if (++depth_ > kDeepest) fail("too deep");
  }

  Expression sum() {
    go_deeper();
    Expression left = product();
    for (;;) {
      Kind kind = peek() == '+' ? Kind::kAdd : Kind::kSubtract;
      if (!take('+') && !take('-')) break;
      left = pair(kind, std::move(left), product());
    }
    --depth_;
    return left;
  }

  Expression product() {
    Expression left = factor();
    while (take('*')) {
      left = pair(Kind::kMultiply, std::move(left), factor());
    }
    return left;
  }

  // Numbers alone are counted at once.
  Expression pair(Kind kind, Expression left, Expression right) {
    if (++pairs_ > kMostPairs) fail("too long");
    if (left.kind == Kind::kNumber && right.kind == Kind::kNumber) {
      return number_of(count(kind, left.number, right.number));
    }
    Expression result{.kind = kind};
    result.arguments = {std::move(left), std::move(right)};
    result.keywords = {"", ""};
    return result;
  }

  static Expression number_of(double value) {
    Expression result;
    result.number = value;
    return result;
  }

  static bool begins_word(char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
  }

  static bool begins_number(char c) {
    return std::isdigit(static_cast<unsigned char>(c)) || c == '.';
  }

  Expression factor() {
    char c = peek();
    if (take('-')) return negated();
    if (take('(')) {
      Expression inner = sum();
      if (!take(')')) fail("expected ')'");
      return inner;
    }
    if (begins_number(c)) return number();
    if (!begins_word(c)) fail("expected a name or a number");
    Expression result{.kind = Kind::kName, .name = word()};
    if (take('(')) arguments(result);
    return result;
  }

  Expression negated() {
    go_deeper();
    Expression result = pair(Kind::kMultiply, number_of(-1), factor());
    --depth_;
    return result;
  }

  Expression number() {
    Expression result;
    const char* begin = text_.data() + at_;
    auto [end, error] =
        std::from_chars(begin, text_.data() + text_.size(), result.number);
    if (error != std::errc()) fail("expected a number");
    at_ += static_cast<size_t>(end - begin);
    return result;
  }

  std::string word() {
    size_t begin = at_;
    auto is_part = [](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
    };
    while (at_ < text_.size() && is_part(text_[at_])) ++at_;
    return std::string(text_.substr(begin, at_ - begin));
  }

  void arguments(Expression& call) {
    call.kind = Kind::kCall;
    if (take(')')) return;
    do {
      size_t before = at_;
      std::string keyword;
      if (begins_word(peek())) {
        keyword = word();
        if (!take('=')) {
          keyword.clear();
          at_ = before;
        }
      }
      call.keywords.push_back(keyword);
      call.arguments.push_back(sum());
    } while (take(','));
    if (!take(')')) fail("expected ')'");
  }

  std::string_view text_;
  size_t at_ = 0;
  int depth_ = 0, pairs_ = 0;
};

template <class Visit>
void visit_all(const Expression& e, const Visit& visit) {
  visit(e);
  for (const Expression& argument : e.arguments) visit_all(argument, visit);
}

// "bce(y, t)" with further values by keyword; a number is compared with every
// element.
Var build_loss(const Expression& e, const ExpressionContext& c) {
  CallText call{e.name, {}};
  std::vector<const Expression*> operands;
  for (size_t i = 0; i < e.arguments.size(); ++i) {
    if (e.keywords[i].empty()) {
      operands.push_back(&e.arguments[i]);
    } else if (e.arguments[i].kind == Kind::kNumber) {
      call.values.push_back({e.keywords[i], {e.arguments[i].number}, false});
    } else {
      fail_usage("[loss] {}: '{}' is a number, got an expression", e.name,
                 e.keywords[i]);
    }
  }
  NamedLossCall loss = parse_loss(call_text(call));
  if (operands.size() != 2) {
    fail_usage("[loss] {} takes what is compared and a target, got {}", e.name,
               operands.size());
  }
  Var y = build_expression(*operands[0], c);
  const Expression& target = *operands[1];
  if (target.kind == Kind::kNumber) {
    return loss(y, full_like(y, y.shape(), target.number));
  }
  return loss(y, build_expression(target, c));
}

Var build_call(const Expression& e, const ExpressionContext& c) {
  if (!c.is_network(e.name) && e.name != "detach" && e.name != "mean") {
    return build_loss(e, c);
  }
  std::vector<Var> arguments;
  for (const Expression& argument : e.arguments) {
    arguments.push_back(build_expression(argument, c));
  }
  if (c.is_network(e.name)) return c.call(e.name, arguments, e.keywords);
  if (arguments.size() != 1) fail_usage("[loss] {} takes one value", e.name);
  if (!e.keywords[0].empty()) {
    fail_usage("[loss] {} has no value '{}'", e.name, e.keywords[0]);
  }
  Var x = arguments[0];
  return e.name == "detach" ? detach(x) : mean(reshape(x, {-1}), {0});
}

// A number and a value.
Var build_scaled(Kind kind, double number, Var x) {
  if (kind == Kind::kMultiply) return mul_scalar(x, number);
  return add_scalar(kind == Kind::kAdd ? x : mul_scalar(x, -1), number);
}

Var build_pair(const Expression& e, const ExpressionContext& c) {
  const Expression &a = e.arguments[0], &b = e.arguments[1];
  if (a.kind == Kind::kNumber) {
    return build_scaled(e.kind, a.number, build_expression(b, c));
  }
  Var left = build_expression(a, c);
  if (b.kind == Kind::kNumber && e.kind == Kind::kSubtract) {
    return add_scalar(left, -b.number);
  }
  if (b.kind == Kind::kNumber) return build_scaled(e.kind, b.number, left);
  Var right = build_expression(b, c);
  if (e.kind == Kind::kAdd) return add(left, right);
  return e.kind == Kind::kSubtract ? sub(left, right) : mul(left, right);
}

}  // namespace

Expression parse_expression(std::string_view text) {
  return Parser(text).parse();
}

std::vector<std::string> called_names(const Expression& expression) {
  std::vector<std::string> names;
  visit_all(expression, [&](const Expression& e) {
    if (e.kind == Kind::kCall) names.push_back(e.name);
  });
  return names;
}

std::vector<std::string> plain_names(const Expression& expression) {
  std::vector<std::string> names;
  visit_all(expression, [&](const Expression& e) {
    if (e.kind == Kind::kName) names.push_back(e.name);
  });
  return names;
}

Var build_expression(const Expression& e, const ExpressionContext& c) {
  switch (e.kind) {
    case Kind::kNumber:
      fail_usage("[loss] the number {} stands where a value is expected",
                 e.number);
    case Kind::kName: return c.input(e.name);
    case Kind::kCall: return build_call(e, c);
    case Kind::kAdd:
    case Kind::kSubtract:
    case Kind::kMultiply: return build_pair(e, c);
  }
  return {};
}

}  // namespace braid::train
