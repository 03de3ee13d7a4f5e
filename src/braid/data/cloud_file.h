// Clouds of points as text: a .pts file has a point per line, a .seg file the
// part that each of them belongs to.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace braid::data {

using Point = std::array<float, 3>;

// "x y z" per line, parted by spaces, tabs or commas; what follows (colours,
// normals) is passed over, as is a first line that has the number of points.
// Blocks on the disk. Throws std::runtime_error with the line for anything
// else, and for a file without points.
std::vector<Point> read_points(const std::filesystem::path& path,
                               const std::string& who);

// A whole number per line.
std::vector<int64_t> read_point_labels(const std::filesystem::path& path,
                                       const std::string& who);

// The middle of all points becomes 0, and the largest distance from it 1.
void normalise_points(std::vector<Point>& points);

// Which `count` of `size` points stand for a cloud: all different ones while
// there are enough, then some again. A function of the seed and the name.
std::vector<size_t> draw_points(size_t size, size_t count, int64_t seed,
                                const std::string& name);

}  // namespace braid::data
