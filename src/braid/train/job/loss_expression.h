// Loss expressions of phases: networks, losses, detach and arithmetic, as in
// "bce(discriminator(x), 1) + bce(discriminator(detach(generator(z))), 0)".
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "braid/graph/var.h"

namespace braid::train {

struct Expression {
  enum class Kind { kNumber, kName, kCall, kAdd, kSubtract, kMultiply };
  Kind kind = Kind::kNumber;
  double number = 0;
  std::string name = {};  // of a name or a call
  std::vector<Expression> arguments = {};
  std::vector<std::string> keywords = {};  // by argument; empty: by position
};

// Throws std::invalid_argument that quotes the text and points at the place.
Expression parse_expression(std::string_view text);

// Names of all calls and of all plain names in it, in order.
std::vector<std::string> called_names(const Expression& expression);
std::vector<std::string> plain_names(const Expression& expression);

// Makes the values: a network applied to arguments (with keywords), and an
// input by name. Losses and detach are known.
struct ExpressionContext {
  std::function<bool(const std::string& name)> is_network;
  std::function<Var(const std::string& network,
                    const std::vector<Var>& arguments,
                    const std::vector<std::string>& keywords)>
      call;
  std::function<Var(const std::string& name)> input;
};
Var build_expression(const Expression& expression,
                     const ExpressionContext& context);

}  // namespace braid::train
