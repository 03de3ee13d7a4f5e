// Expressions of sizes: what sympy's `srepr` wrote, as people write them.
#pragma once

#include <string>
#include <string_view>

namespace braid::io::pt2 {

// "Mul(Integer(2), Symbol('s0', integer=True))" -> "2*s0". Sums and products
// use + and *, other functions stay calls: "FloorDiv(s0, 2)". Text of another
// form is given back unchanged.
std::string symbol_text(std::string_view expression);

}  // namespace braid::io::pt2
