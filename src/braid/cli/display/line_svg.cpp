#include "braid/cli/display/line_svg.h"

#include <algorithm>
#include <array>

#include "braid/cli/display/svg_parts.h"

namespace braid::cli {
namespace {

constexpr std::array<const char*, 8> kColours = {
    "#1f6feb", "#d1242f", "#1a7f37", "#9a6700",
    "#8250df", "#bf3989", "#57606a", "#0a3069"};

}  // namespace

std::string line_svg(const std::string& x_title, const std::string& y_title,
                     const std::vector<SvgLine>& lines) {
  SvgFrame frame;
  SvgAxis x{0, 0, frame.left, frame.width - frame.right};
  SvgAxis y{0, 0, frame.height - frame.bottom, frame.top};
  for (const SvgLine& line : lines) {
    for (const auto& [px, py] : line.points) {
      x.most = std::max(x.most, px);
      y.most = std::max(y.most, py);
    }
  }
  std::string svg = svg_begin(frame) + svg_grid(frame, x, y, x_title, y_title);
  for (size_t i = 0; i < lines.size(); ++i) {
    const char* colour = kColours[i % kColours.size()];
    std::string points;
    for (const auto& [px, py] : lines[i].points) {
      points += fmt::format("{:.1f},{:.1f} ", x(px), y(py));
    }
    double at = frame.height - frame.bottom - 12 -
                16 * static_cast<double>(lines.size() - 1 - i);
    double end = frame.width - frame.right - 10;
    svg += svg_curve(points, colour) +
           svg_line(end - 20, at - 4, end, at - 4, colour) +
           svg_text(end - 26, at, "end", lines[i].name);
  }
  return svg + svg_end();
}

}  // namespace braid::cli
