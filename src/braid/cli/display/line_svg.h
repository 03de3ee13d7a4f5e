// A picture of lines over two axes.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace braid::cli {

struct SvgLine {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x rises
};

// SVG, axes from 0; names stand beside colours. No link, script or font of
// elsewhere.
std::string line_svg(const std::string& x_title, const std::string& y_title,
                     const std::vector<SvgLine>& lines);

}  // namespace braid::cli
