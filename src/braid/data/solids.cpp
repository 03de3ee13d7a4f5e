// Clouds of points on solids: one solid with its kind as label, or two beside
// each other with a label for every point. P points, x is [3, P].
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "braid/base/error.h"
#include "braid/data/sample_random.h"
#include "braid/data/solid_shapes.h"
#include "braid/data/source_rows.h"

namespace braid::data {
namespace {

using Kind = Option::Kind;

constexpr int64_t kTestOffset = int64_t{1} << 62;

struct Solids {
  int64_t points = 512;
  int64_t classes = kNumSolids;
  bool label_points = false;
  bool turn_any = false;  // around any axis, or the upright one alone
  double noise = 0.02;
  int64_t seed = 0;
  int64_t offset = 0;
};

// A turn: rows of an orthogonal matrix.
using Turn = std::array<Vector, 3>;

Turn turn_upright(SampleRandom& random) {
  double angle = 2 * std::numbers::pi * random.unit();
  double c = std::cos(angle), s = std::sin(angle);
  return {{{c, -s, 0}, {s, c, 0}, {0, 0, 1}}};
}

// From a quaternion that is uniform on its sphere.
Turn turn_any(SampleRandom& random) {
  double w = random.normal(), x = random.normal(), y = random.normal(),
         z = random.normal();
  double n = std::sqrt(w * w + x * x + y * y + z * z) + 1e-12;
  w /= n, x /= n, y /= n, z /= n;
  return {
      {{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
       {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
       {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}}};
}

Vector turned(const Turn& turn, Vector v) {
  return {dot(turn[0], v), dot(turn[1], v), dot(turn[2], v)};
}

struct Part {
  int64_t kind;
  Vector stretch;
  Vector centre;
};

double stretch_of(SampleRandom& random) { return random.between(0.8, 1.2); }

Part draw_part(int64_t kind, Vector centre, SampleRandom& random) {
  double x = stretch_of(random), y = stretch_of(random), z = stretch_of(random);
  return {kind, {x, y, z}, centre};
}

std::vector<Part> draw_parts(const Solids& solids, int64_t first,
                             SampleRandom& random) {
  if (!solids.label_points) return {draw_part(first, {}, random)};
  int64_t second =
      (first + 1 + random.below(solids.classes - 1)) % solids.classes;
  return {draw_part(first, {-1.6, 0, 0}, random),
          draw_part(second, {1.6, 0, 0}, random)};
}

Vector draw_point(const Solids& solids, const Part& part, const Turn& turn,
                  SampleRandom& random) {
  Vector p = solid_point(part.kind, random), s = part.stretch;
  double n = solids.noise;
  Vector noise{random.between(-n, n), random.between(-n, n),
               random.between(-n, n)};
  return turned(turn, Vector{s.x * p.x, s.y * p.y, s.z * p.z} + part.centre) +
         noise;
}

// Around the origin, the farthest point at 1.
void fit_to_unit_sphere(std::vector<Vector>& cloud) {
  Vector sum;
  for (Vector point : cloud) sum = sum + point;
  Vector centre = (1.0 / static_cast<double>(cloud.size())) * sum;
  double farthest = 1e-12;
  for (Vector& point : cloud) {
    point = point - centre;
    farthest = std::max(farthest, std::sqrt(dot(point, point)));
  }
  for (Vector& point : cloud) point = (1 / farthest) * point;
}

void write_cloud(const std::vector<Vector>& cloud, float* x) {
  size_t points = cloud.size();
  for (size_t i = 0; i < points; ++i) {
    x[i] = static_cast<float>(cloud[i].x);
    x[points + i] = static_cast<float>(cloud[i].y);
    x[2 * points + i] = static_cast<float>(cloud[i].z);
  }
}

std::vector<Field> fields_of(const Solids& solids) {
  Shape labels = solids.label_points ? Shape{solids.points} : Shape{};
  return {{"x", DType::kFloat32, {3, solids.points}, 0, true},
          {"y", DType::kInt64, labels, solids.classes, true}};
}

class SolidsDataset : public Dataset {
 public:
  SolidsDataset(const Solids& solids, int64_t count)
      : Dataset("solids", fields_of(solids), count), solids_(solids) {}

  // Kinds take turns, so every part of the data is balanced.
  void read(int64_t index, const Draw&,
            std::span<std::byte* const> out) const override {
    SampleRandom random(solids_.seed, "solids", solids_.offset + index);
    int64_t kind = index % solids_.classes;
    std::vector<Part> parts = draw_parts(solids_, kind, random);
    Turn turn = solids_.turn_any ? turn_any(random) : turn_upright(random);
    auto* labels = reinterpret_cast<int64_t*>(out[1]);
    std::vector<Vector> cloud;
    for (int64_t i = 0; i < solids_.points; ++i) {
      const Part& part = parts[static_cast<size_t>(i) % parts.size()];
      cloud.push_back(draw_point(solids_, part, turn, random));
      if (solids_.label_points) labels[i] = part.kind;
    }
    if (!solids_.label_points) *labels = kind;
    fit_to_unit_sphere(cloud);
    write_cloud(cloud, reinterpret_cast<float*>(out[0]));
  }

 private:
  Solids solids_;
};

void check_solids(const Solids& solids, const Options& options) {
  int64_t least = solids.label_points ? 2 : 1;
  if (solids.classes < least || solids.classes > kNumSolids) {
    fail_usage("[{}] expected classes from {} to {}, got {}", options.who(),
               least, kNumSolids, solids.classes);
  }
  if (solids.noise < 0) {
    fail_usage("[{}] expected noise from 0, got {}", options.who(),
               solids.noise);
  }
}

DatasetPtr open_solids(const Options& options) {
  Solids solids{.points = options.whole("points"),
                .classes = options.whole("classes"),
                .label_points = options.text("labels") == "points",
                .turn_any = options.text("turn") == "any",
                .noise = options.number("noise"),
                .seed = options.whole("seed"),
                .offset = options.text("part") == "test" ? kTestOffset : 0};
  check_solids(solids, options);
  return std::make_shared<SolidsDataset>(solids, options.whole("count"));
}

}  // namespace

Source solids_source() {
  return {
      "solids",
      "clouds of points on a sphere, cube, cylinder, cone, torus, pyramid, "
      "capsule or tetrahedron; no download",
      "x f32 [3, points], y i64 (or i64 [points])",
      {{"count", Kind::kWhole, "4000", "clouds"},
       {"points", Kind::kWhole, "512", "of a cloud"},
       {"classes", Kind::kWhole, "8", "the first so many solids"},
       choice_option("labels", {"cloud", "points"},
                     "the kind of the cloud; or two solids in a cloud, and "
                     "the kind of every point"),
       choice_option("turn", {"upright", "any"},
                     "clouds are turned around the upright axis or any"),
       {"noise", Kind::kNumber, "0.02", "of every point"},
       choice_option("part", {"train", "test"}, "two sets that share no draw"),
       seed_option("of the drawing")},
      open_solids};
}

}  // namespace braid::data
