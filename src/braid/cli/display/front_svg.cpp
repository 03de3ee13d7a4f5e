#include "braid/cli/display/front_svg.h"

#include <algorithm>

#include "braid/base/bytes.h"

namespace braid::cli {
namespace {

constexpr double kWidth = 640, kHeight = 400;
constexpr double kLeft = 80, kRight = 20, kTop = 40, kBottom = 60;

// From numbers to the picture.
struct Axis {
  double least, most, begin, end;

  double operator()(double number) const {
    double span = most > least ? most - least : 1;
    return begin + (number - least) / span * (end - begin);
  }
};

std::string text_at(double x, double y, const char* anchor,
                    const std::string& text) {
  return fmt::format(
      "<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y,
      anchor, text);
}

std::string line(double x1, double y1, double x2, double y2,
                 const char* colour) {
  return fmt::format(
      "<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" "
      "stroke=\"{}\"/>\n",
      x1, y1, x2, y2, colour);
}

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
    std::string svg = fmt::format(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" "
        "height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" "
        "font-size=\"12\">\n<rect width=\"100%\" height=\"100%\" "
        "fill=\"white\"/>\n",
        kWidth, kHeight);
    return svg + ticks() + curve() + chosen() + "</svg>\n";
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

  std::string ticks() const {
    constexpr int kTicks = 5;
    std::string svg =
        text_at(kWidth / 2, kHeight - 15, "middle", "device memory in MiB") +
        text_at(kLeft, kTop - 15, "middle", "ms a step");
    for (int i = 0; i <= kTicks; ++i) {
      double x = x_.least + (x_.most - x_.least) * i / kTicks;
      double y = y_.least + (y_.most - y_.least) * i / kTicks;
      svg += line(x_(x), kTop, x_(x), kHeight - kBottom, "#ddd");
      svg += text_at(x_(x), kHeight - kBottom + 18, "middle",
                     fmt::format("{:.4g}", x));
      svg += line(kLeft, y_(y), kWidth - kRight, y_(y), "#ddd");
      svg += text_at(kLeft - 8, y_(y) + 4, "end", fmt::format("{:.4g}", y));
    }
    return svg;
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
    return fmt::format(
               "<polyline points=\"{}\" fill=\"none\" stroke=\"#1f6feb\" "
               "stroke-width=\"2\"/>\n",
               points) +
           dots;
  }

  std::string chosen() const {
    if (!report_.choice.fits) return "";
    const compile::PlanTrial& trial = report_.choice.trial;
    double x = x_(mib(trial)), y = y_(1e3 * trial.seconds);
    return fmt::format(
               "<circle cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"6\" fill=\"none\" "
               "stroke=\"#d1242f\" stroke-width=\"2\"/>\n",
               x, y) +
           text_at(x, y - 12, "middle", "this plan");
  }

  const compile::PlanReport& report_;
  Axis x_{-1, 0, kLeft, kWidth - kRight};
  Axis y_{0, 0, kHeight - kBottom, kTop};
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
