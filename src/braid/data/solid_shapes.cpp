#include "braid/data/solid_shapes.h"

#include <array>
#include <cmath>
#include <numbers>

namespace braid::data {
namespace {

constexpr double kPi = std::numbers::pi;

Vector on_circle(double radius, double z, SampleRandom& random) {
  double angle = 2 * kPi * random.unit();
  return {radius * std::cos(angle), radius * std::sin(angle), z};
}

Vector on_disc(double z, SampleRandom& random) {
  return on_circle(std::sqrt(random.unit()), z, random);
}

Vector on_triangle(Vector a, Vector b, Vector c, SampleRandom& random) {
  double s = std::sqrt(random.unit()), t = random.unit();
  return (1 - s) * a + s * (1 - t) * b + s * t * c;
}

// Archimedes: the height of a point of a sphere is uniform.
Vector on_sphere(SampleRandom& random) {
  double z = random.between(-1, 1);
  return on_circle(std::sqrt(1 - z * z), z, random);
}

Vector on_cube(SampleRandom& random) {
  int64_t face = random.below(6);
  double end = face < 3 ? -1 : 1;
  double u = random.between(-1, 1), v = random.between(-1, 1);
  if (face % 3 == 0) return {end, u, v};
  return face % 3 == 1 ? Vector{u, end, v} : Vector{u, v, end};
}

// Radius 1, height 2: the side has twice the area of both ends.
Vector on_cylinder(SampleRandom& random) {
  if (random.unit() < 2.0 / 3)
    return on_circle(1, random.between(-1, 1), random);
  return on_disc(random.below(2) == 0 ? -1 : 1, random);
}

// Radius 1, height 2: the side is sqrt(5) times as large as the base.
Vector on_cone(SampleRandom& random) {
  double side = std::sqrt(5.0);
  if (random.unit() * (side + 1) >= side) return on_disc(-1, random);
  double down = std::sqrt(random.unit());
  return on_circle(down, 1 - 2 * down, random);
}

// Radii 1 and 0.4; the outer half is larger, so inner points are drawn again.
Vector on_torus(SampleRandom& random) {
  for (;;) {
    double angle = 2 * kPi * random.unit();
    double radius = 1 + 0.4 * std::cos(angle);
    if (random.unit() * 1.4 > radius) continue;
    return on_circle(radius, 0.4 * std::sin(angle), random);
  }
}

// A square base of side 2 and height 2: a side is sqrt(5), the base 4 large.
Vector on_pyramid(SampleRandom& random) {
  double side = std::sqrt(5.0);
  if (random.unit() * (4 + 4 * side) < 4) {
    return {random.between(-1, 1), random.between(-1, 1), -1};
  }
  constexpr std::array<Vector, 4> kBase = {
      {{-1, -1, -1}, {1, -1, -1}, {1, 1, -1}, {-1, 1, -1}}};
  auto i = static_cast<size_t>(random.below(4));
  return on_triangle(kBase[i], kBase[(i + 1) % 4], {0, 0, 1}, random);
}

// Radius 0.5, straight part 2 long: twice as large as the round ends.
Vector on_capsule(SampleRandom& random) {
  if (random.unit() < 2.0 / 3) {
    return on_circle(0.5, random.between(-1, 1), random);
  }
  Vector point = 0.5 * on_sphere(random);
  return point + Vector{0, 0, point.z < 0 ? -1.0 : 1.0};
}

Vector on_tetrahedron(SampleRandom& random) {
  constexpr std::array<Vector, 4> kCorners = {
      {{1, 1, 1}, {1, -1, -1}, {-1, 1, -1}, {-1, -1, 1}}};
  auto i = static_cast<size_t>(random.below(4));  // the corner left out
  return on_triangle(kCorners[(i + 1) % 4], kCorners[(i + 2) % 4],
                     kCorners[(i + 3) % 4], random);
}

struct Solid {
  std::string_view name;
  Vector (*point)(SampleRandom& random);
};

constexpr std::array<Solid, kNumSolids> kSolids = {
    {{"sphere", on_sphere},
     {"cube", on_cube},
     {"cylinder", on_cylinder},
     {"cone", on_cone},
     {"torus", on_torus},
     {"pyramid", on_pyramid},
     {"capsule", on_capsule},
     {"tetrahedron", on_tetrahedron}}};

}  // namespace

std::string_view solid_name(int64_t kind) {
  return kSolids[static_cast<size_t>(kind)].name;
}

Vector solid_point(int64_t kind, SampleRandom& random) {
  return kSolids[static_cast<size_t>(kind)].point(random);
}

}  // namespace braid::data
