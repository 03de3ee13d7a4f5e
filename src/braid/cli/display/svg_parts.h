// What pictures are made of.
#pragma once

#include <string>

#include <fmt/format.h>

namespace braid::cli {

// The frame of a diagram inside a picture.
struct SvgFrame {
  double width = 640, height = 400;
  double left = 80, right = 20, top = 40, bottom = 60;
};

// From numbers to the picture.
struct SvgAxis {
  double least, most, begin, end;

  double operator()(double number) const {
    double span = most > least ? most - least : 1;
    return begin + (number - least) / span * (end - begin);
  }
};

std::string svg_text(double x, double y, const char* anchor,
                     const std::string& text);
std::string svg_line(double x1, double y1, double x2, double y2,
                     const char* colour);
std::string svg_curve(const std::string& points, const char* colour);

// A white picture of that size; the content goes before svg_end().
std::string svg_begin(const SvgFrame& frame);
inline std::string svg_end() { return "</svg>\n"; }

// Lines across the frame with their numbers, and the titles of both axes.
std::string svg_grid(const SvgFrame& frame, const SvgAxis& x, const SvgAxis& y,
                     const std::string& x_title, const std::string& y_title);

}  // namespace braid::cli
