// Solids of about unit size around the origin, and points on them.
#pragma once

#include <cstdint>
#include <string_view>

#include "braid/data/sample_random.h"

namespace braid::data {

struct Vector {
  double x = 0, y = 0, z = 0;
};

inline Vector operator+(Vector a, Vector b) {
  return {a.x + b.x, a.y + b.y, a.z + b.z};
}
inline Vector operator-(Vector a, Vector b) {
  return {a.x - b.x, a.y - b.y, a.z - b.z};
}
inline Vector operator*(double s, Vector a) {
  return {s * a.x, s * a.y, s * a.z};
}
inline double dot(Vector a, Vector b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

inline constexpr int64_t kNumSolids = 8;

std::string_view solid_name(int64_t kind);

// A point on the surface, every piece of it as likely as its area.
Vector solid_point(int64_t kind, SampleRandom& random);

}  // namespace braid::data
