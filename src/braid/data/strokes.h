// How digits and letters are drawn: lines on a grid.
#pragma once

#include <cstdint>
#include <vector>

namespace braid::data {

struct Point {
  double x = 0;  // to the right
  double y = 0;  // down
};

using Line = std::vector<Point>;

inline constexpr int64_t kNumGlyphs = 36;

// "0123456789ABC..."[number]
char glyph_name(int64_t number);

// The lines of a glyph, within [0, 1] in height and centred at x = 0.5.
const std::vector<Line>& glyph_lines(int64_t number);

}  // namespace braid::data
