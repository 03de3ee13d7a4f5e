#include "braid/cli/display/svg_parts.h"

namespace braid::cli {
namespace {

// What would end a text or begin a mark.
std::string escaped(const std::string& text) {
  std::string safe;
  for (char c : text) {
    switch (c) {
      case '<': safe += "&lt;"; break;
      case '>': safe += "&gt;"; break;
      case '&': safe += "&amp;"; break;
      default: safe += c;
    }
  }
  return safe;
}

}  // namespace

std::string svg_text(double x, double y, const char* anchor,
                     const std::string& text) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y,
      anchor, escaped(text));
}

std::string svg_line(double x1, double y1, double x2, double y2,
                     const char* colour) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" "
      "stroke=\"{}\"/>\n",
      x1, y1, x2, y2, colour);
}

std::string svg_curve(const std::string& points, const char* colour) {
  return fmt::format(
      "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" "
      "stroke-width=\"2\"/>\n",
      points, colour);
}

std::string svg_begin(const SvgFrame& frame) {
  return fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
      "height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" "
      "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
      "fill=\"white\"/>\n",
      frame.width, frame.height);
}

std::string svg_grid(const SvgFrame& frame, const SvgAxis& x, const SvgAxis& y,
                     const std::string& x_title, const std::string& y_title) {
  constexpr int kTicks = 5;
  double below = frame.height - frame.bottom;
  std::string svg =
      svg_text(frame.width / 2, frame.height - 15, "middle", x_title) +
      svg_text(frame.left, frame.top - 15, "middle", y_title);
  for (int i = 0; i <= kTicks; ++i) {
    double at_x = x.least + (x.most - x.least) * i / kTicks;
    double at_y = y.least + (y.most - y.least) * i / kTicks;
    svg += svg_line(x(at_x), frame.top, x(at_x), below, "#ddd");
    svg += svg_text(x(at_x), below + 18, "middle", fmt::format("{:.4g}", at_x));
    svg += svg_line(frame.left, y(at_y), frame.width - frame.right, y(at_y),
                    "#ddd");
    svg += svg_text(frame.left - 8, y(at_y) + 4, "end",
                    fmt::format("{:.4g}", at_y));
  }
  return svg;
}

}  // namespace braid::cli
