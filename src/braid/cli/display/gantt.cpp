#include "braid/cli/display/gantt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <string_view>

#include "braid/cli/display/svg_parts.h"
#include "braid/cli/display/terminal.h"

namespace braid::cli {
namespace {

constexpr std::string_view kLetters =
    "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
constexpr std::array<const char*, 10> kColours = {
    "#1f6feb", "#d1242f", "#1a7f37", "#9a6700", "#8250df",
    "#bf3989", "#57606a", "#0a3069", "#bc4c00", "#0f766e"};

char letter_of(size_t job) { return kLetters[job % kLetters.size()]; }

// Spans of one job on one device that follow each other, as one.
std::vector<schedule::Span> joined(const schedule::Outcome& outcome) {
  std::map<int32_t, size_t> last;  // of a device
  std::vector<schedule::Span> spans;
  for (const schedule::Span& span : outcome.spans) {
    auto before = last.find(span.device);
    if (before != last.end() && spans[before->second].job == span.job &&
        spans[before->second].end_ns == span.begin_ns) {
      spans[before->second].end_ns = span.end_ns;
      continue;
    }
    last[span.device] = spans.size();
    spans.push_back(span);
  }
  return spans;
}

// The job that has most of the time from begin to end; -1: nobody has any.
int32_t owner_of(const std::vector<schedule::Span>& spans, int32_t device,
                 double begin, double end) {
  std::map<int32_t, double> held;
  for (const schedule::Span& span : spans) {
    if (span.device != device) continue;
    double from = std::max(begin, static_cast<double>(span.begin_ns));
    double to = std::min(end, static_cast<double>(span.end_ns));
    if (to > from) held[span.job] += to - from;
  }
  auto most = std::ranges::max_element(
      held, {}, [](const auto& entry) { return entry.second; });
  return most == held.end() ? -1 : most->first;
}

}  // namespace

std::vector<std::string> gantt_lines(const schedule::Outcome& outcome,
                                     const std::vector<std::string>& devices,
                                     const std::vector<std::string>& jobs,
                                     int width) {
  size_t name_width = 0;
  for (const std::string& name : devices) {
    name_width = std::max(name_width, name.size());
  }
  int cells = std::max(width - static_cast<int>(name_width) - 2, 10);
  double cell_ns = static_cast<double>(outcome.end_ns) / cells;
  std::vector<schedule::Span> spans = joined(outcome);
  std::vector<std::string> lines;
  for (size_t d = 0; d < devices.size(); ++d) {
    std::string line = fmt::format("{:<{}}  ", devices[d], name_width);
    for (int i = 0; i < cells; ++i) {
      int32_t job = owner_of(spans, static_cast<int32_t>(d), i * cell_ns,
                             (i + 1) * cell_ns);
      line += job < 0 ? '.' : letter_of(static_cast<size_t>(job));
    }
    lines.push_back(std::move(line));
  }
  for (size_t j = 0; j < std::min(jobs.size(), kLetters.size()); ++j) {
    lines.push_back(
        fit_text(fmt::format("  {}  {}", letter_of(j), jobs[j]), width));
  }
  return lines;
}

std::string gantt_svg(const schedule::Outcome& outcome,
                      const std::vector<std::string>& devices,
                      const std::vector<std::string>& jobs) {
  constexpr double kRow = 26, kLegendRow = 16;
  SvgFrame frame;
  frame.width = 800;
  auto rows = static_cast<double>(devices.size());
  double legend = kLegendRow * static_cast<double>((jobs.size() + 3) / 4);
  frame.height = frame.top + kRow * rows + frame.bottom + legend;
  SvgAxis x{0, static_cast<double>(outcome.end_ns) * 1e-9, frame.left,
            frame.width - frame.right};
  std::string svg = svg_begin(frame);
  double below = frame.top + kRow * rows;
  constexpr int kTicks = 8;
  for (int i = 0; i <= kTicks; ++i) {
    double at = x.most * i / kTicks;
    svg += svg_line(x(at), frame.top - 4, x(at), below, "#ddd") +
           svg_text(x(at), below + 16, "middle", fmt::format("{:.3g} s", at));
  }
  for (size_t d = 0; d < devices.size(); ++d) {
    double y = frame.top + kRow * static_cast<double>(d);
    svg += svg_text(frame.left - 8, y + 16, "end", devices[d]);
  }
  for (const schedule::Span& span : joined(outcome)) {
    double begin = x(static_cast<double>(span.begin_ns) * 1e-9);
    double end = x(static_cast<double>(span.end_ns) * 1e-9);
    svg += fmt::format(
        "<rect x=\"{:.2f}\" y=\"{:.1f}\" width=\"{:.2f}\" height=\"{:.1f}\" "
        "fill=\"{}\"/>\n",
        begin, frame.top + kRow * span.device + 3, std::max(end - begin, 0.3),
        kRow - 6, kColours[static_cast<size_t>(span.job) % kColours.size()]);
  }
  for (size_t j = 0; j < jobs.size(); ++j) {
    double y = below + 40 + kLegendRow * static_cast<double>(j / 4);
    double at = frame.left + 175 * static_cast<double>(j % 4);
    svg += fmt::format(
        "<rect x=\"{:.1f}\" y=\"{:.1f}\" width=\"10\" height=\"10\" "
        "fill=\"{}\"/>\n",
        at, y - 9, kColours[j % kColours.size()]);
    svg += svg_text(at + 15, y, "start", fit_text(jobs[j], 24));
  }
  return svg + svg_end();
}

}  // namespace braid::cli
