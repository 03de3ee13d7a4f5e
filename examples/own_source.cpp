// A source of data of your own: points on the arms of a spiral, as a shared
// library that examples/own_source.yaml trains on.
//
//   braid train examples/own_source.yaml --out runs/spiral
//
// It needs this one header of Braid and nothing to link with:
//
//   c++ -std=c++20 -shared -fPIC -I PREFIX/include own_source.cpp -o libown.so
#include "braid/data/own_source.h"

#include <cmath>
#include <random>

namespace {

using braid::own::Draw;
using braid::own::Field;
using braid::own::Options;

// x f32 [2], y i64: a point and the arm that it lies on.
class Spiral : public braid::own::Source {
 public:
  explicit Spiral(const Options& options)
      : count_(options.whole("count", 3000)),
        arms_(options.whole("arms", 3)),
        noise_(options.number("noise", 0.05)),
        seed_(options.whole("seed", 0)) {
    if (arms_ < 1) throw std::invalid_argument("expected 1 arm or more");
  }

  std::vector<Field> fields() const override {
    return {{"x", "f32", {2}}, {"y", "i64", {}, arms_}};
  }
  int64_t size() const override { return count_; }

  // A sample depends on its number and the options alone, so that every run
  // and every thread sees the same. Random changes would use `draw` too.
  void read(int64_t index, const Draw&, void* const* out) const override {
    std::mt19937_64 random(static_cast<uint64_t>(seed_ * 1'000'003 + index));
    double share = std::uniform_real_distribution<>()(random);
    std::normal_distribution<> noise(0, noise_);
    int64_t arm = index % arms_;
    double angle = 6.283185307179586 * (share + static_cast<double>(arm) /
                                                    static_cast<double>(arms_));
    auto* x = static_cast<float*>(out[0]);
    x[0] = static_cast<float>(share * std::cos(angle) + noise(random));
    x[1] = static_cast<float>(share * std::sin(angle) + noise(random));
    *static_cast<int64_t*>(out[1]) = arm;
  }

 private:
  int64_t count_, arms_;
  double noise_;
  int64_t seed_;
};

}  // namespace

BRAID_SOURCE(Spiral);
