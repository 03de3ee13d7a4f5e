// A stroke is a row of points "xy", each on a grid of 0 to 8, joined by '-';
// one that begins with '~' is made round. Glyphs that people confuse differ
// in a stroke: 0 has a bar, I has serifs, 5 and Z have corners.
#include "braid/data/strokes.h"

#include <array>
#include <string_view>

namespace braid::data {
namespace {

constexpr std::string_view kNames = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";

constexpr std::array<std::string_view, kNumGlyphs> kStrokes = {
    "~40-60-72-76-68-28-16-12-20-40 62-26",               // 0
    "22-40-48",                                           // 1
    "~12-20-60-72-73-55-18 18-78",                        // 2
    "~11-20-60-71-73-64-34 ~34-64-75-77-68-28-17",        // 3
    "50-15-75 52-58",                                     // 4
    "70-20-13 ~13-53-74-77-58-28-17",                     // 5
    "~60-30-13-16-28-58-76-75-54-24-16",                  // 6
    "10-70-38 25-65",                                     // 7
    "~44-13-11-20-60-71-73-44 ~44-15-17-28-68-77-75-44",  // 8
    "~72-64-34-13-12-30-50-72-75-58-28",                  // 9
    "08-40-88 25-65",                                     // A
    "10-18 ~10-60-72-64-14 ~14-64-76-68-18",              // B
    "~71-50-30-12-16-38-58-77",                           // C
    "10-18 ~10-50-72-76-58-18",                           // D
    "70-10-18-78 14-54",                                  // E
    "70-10-18 14-54",                                     // F
    "~71-50-30-12-16-38-58-76-75 45-75-78",               // G
    "10-18 70-78 14-74",                                  // H
    "20-60 28-68 40-48",                                  // I
    "30-70 ~60-66-48-28-16",                              // J
    "10-18 70-14-78",                                     // K
    "10-18-78",                                           // L
    "08-00-44-80-88",                                     // M
    "18-10-78-70",                                        // N
    "~40-60-82-86-68-28-06-02-20-40",                     // O
    "18-10 ~10-60-72-73-64-14",                           // P
    "~40-60-82-86-68-28-06-02-20-40 55-88",               // Q
    "18-10 ~10-60-72-73-64-14 44-78",                     // R
    "~71-60-20-11-13-75-77-68-28-17",                     // S
    "00-80 40-48",                                        // T
    "~10-16-28-68-76-70",                                 // U
    "00-48-80",                                           // V
    "00-28-42-68-80",                                     // W
    "10-78 70-18",                                        // X
    "00-44-80 44-48",                                     // Y
    "10-70-18-78",                                        // Z
};

Point point_at(std::string_view text) {
  return {(text[0] - '0') / 8.0, (text[1] - '0') / 8.0};
}

Line read_points(std::string_view text) {
  Line line;
  for (size_t i = 0; i + 1 < text.size(); i += 3) {
    line.push_back(point_at(text.substr(i, 2)));
  }
  return line;
}

Point mix(Point a, Point b, double t) {
  return {a.x + (b.x - a.x) * t, a.y + (b.y - a.y) * t};
}

// Chaikin: cuts every corner at a quarter of its sides; the ends stay.
Line cut_corners(const Line& line) {
  Line cut = {line.front()};
  for (size_t i = 0; i + 1 < line.size(); ++i) {
    cut.push_back(mix(line[i], line[i + 1], 0.25));
    cut.push_back(mix(line[i], line[i + 1], 0.75));
  }
  cut.push_back(line.back());
  return cut;
}

Line read_stroke(std::string_view text) {
  if (!text.starts_with('~')) return read_points(text);
  return cut_corners(cut_corners(read_points(text.substr(1))));
}

std::vector<Line> read_glyph(std::string_view text) {
  std::vector<Line> lines;
  while (!text.empty()) {
    std::string_view stroke = text.substr(0, text.find(' '));
    lines.push_back(read_stroke(stroke));
    text.remove_prefix(stroke.size());
    if (!text.empty()) text.remove_prefix(1);
  }
  return lines;
}

}  // namespace

char glyph_name(int64_t number) { return kNames[static_cast<size_t>(number)]; }

const std::vector<Line>& glyph_lines(int64_t number) {
  static const std::vector<std::vector<Line>> glyphs = [] {
    std::vector<std::vector<Line>> all;
    for (std::string_view text : kStrokes) all.push_back(read_glyph(text));
    return all;
  }();
  return glyphs[static_cast<size_t>(number)];
}

}  // namespace braid::data
