#include "braid/cli/display/front_svg.h"

#include <algorithm>

#include "braid/base/bytes.h"
#include "braid/cli/display/svg_parts.h"

namespace braid::cli {
namespace {

std::string quoted(const std::string& text) {
  std::string safe;
  for (char c : text) {
    if (c == '"' || c == '\\') safe += '\\';
    safe += c;
  }
  return "\"" + safe + "\"";
}

class FrontPicture {
 public:
  explicit FrontPicture(const compile::PlanReport& report) : report_(report) {
    for (const compile::FrontPoint& point : report.front) {
      if (point.fits) add(point.trial);
    }
    if (report.choice.fits) add(report.choice.trial);
    add(report.kept);
  }

  std::string draw() const {
    return svg_begin(frame_) +
           svg_grid(frame_, x_, y_, "device memory in MiB", "ms a step") +
           curve() + chosen() + svg_end();
  }

 private:
  void add(const compile::PlanTrial& trial) {
    auto mib = static_cast<double>(trial.bytes) / (1 << 20);
    x_.least = x_.least < 0 ? mib : std::min(x_.least, mib);
    x_.most = std::max(x_.most, mib);
    y_.most = std::max(y_.most, 1.05e3 * trial.seconds);
  }

  static double mib(const compile::PlanTrial& trial) {
    return static_cast<double>(trial.bytes) / (1 << 20);
  }

  std::string curve() const {
    std::string points, dots;
    for (const compile::FrontPoint& point : report_.front) {
      if (!point.fits) continue;
      double x = x_(mib(point.trial)), y = y_(1e3 * point.trial.seconds);
      points += fmt::format("{:.1f},{:.1f} ", x, y);
      dots += fmt::format(
          "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"3\" fill=\"#1f6feb\"/>\n", x,
          y);
    }
    return svg_curve(points, "#1f6feb") + dots;
  }

  std::string chosen() const {
    if (!report_.choice.fits) return "";
    const compile::PlanTrial& trial = report_.choice.trial;
    double x = x_(mib(trial)), y = y_(1e3 * trial.seconds);
    return fmt::format(
               "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\" fill=\"none\" "
               "stroke=\"#d1242f\" stroke-width=\"2\"/>\n",
               x, y) +
           svg_text(x, y - 12, "middle", "this plan");
  }

  const compile::PlanReport& report_;
  SvgFrame frame_;
  SvgAxis x_{-1, 0, frame_.left, frame_.width - frame_.right};
  SvgAxis y_{0, 0, frame_.height - frame_.bottom, frame_.top};
};

const char* colour_of(const plan::Decision& decision) {
  switch (decision.activations) {
    case plan::Activations::kKeep: return "#dbeafe";
    case plan::Activations::kRecompute: return "#fde68a";
    case plan::Activations::kOffload: return "#fecaca";
  }
  return "white";
}

}  // namespace

std::string front_svg(const compile::PlanReport& report) {
  return FrontPicture(report).draw();
}

std::string plan_dot(const compile::PlanReport& report) {
  std::string dot =
      "digraph plan {\n  node [shape=box, style=filled];\n  rankdir=LR;\n";
  for (size_t i = 0; i < report.segments.size(); ++i) {
    const compile::SegmentReport& s = report.segments[i];
    dot += fmt::format(
        "  s{} [label={}, fillcolor=\"{}\"];\n", i,
        quoted(fmt::format("{}\n{}\n{}", s.name, short_text(s.decision),
                           bytes_text(s.device_bytes))),
        colour_of(s.decision));
    if (i > 0) dot += fmt::format("  s{} -> s{};\n", i - 1, i);
  }
  return dot + "}\n";
}

}  // namespace braid::cli
