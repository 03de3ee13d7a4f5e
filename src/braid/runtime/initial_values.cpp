#include "braid/runtime/initial_values.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>
#include <numeric>

#include "braid/base/error.h"
#include "braid/base/rng.h"
#include "braid/graph/init.h"

namespace braid::runtime {
namespace {

// One element after the other.
template <class F>
InitialValues each(F value) {
  return [value](std::span<double> to, uint64_t first) {
    for (size_t i = 0; i < to.size(); ++i) to[i] = value(first + i);
  };
}

InitialValues uniform(const Init& init, const ElementRandom& random) {
  return [=](std::span<double> to, uint64_t first) {
    random.uniforms(to, first);
    for (double& x : to) x = init.a + (init.b - init.a) * x;
  };
}

InitialValues normal(const Init& init, const ElementRandom& random) {
  return [=](std::span<double> to, uint64_t first) {
    random.normals(to, first);
    for (double& x : to) x = init.a + init.b * x;
  };
}

double normal_cdf(double x) { return std::erfc(-x / std::numbers::sqrt2) / 2; }

// A uniform number between the two ends' probabilities, turned back into the
// normal number with that probability.
InitialValues trunc_normal(const Init& init, const ElementRandom& random) {
  double low = normal_cdf((init.c - init.a) / init.b);
  double high = normal_cdf((init.d - init.a) / init.b);
  return each([=](uint64_t element) {
    double share = low + (high - low) * random.uniform(element);
    double x =
        inverse_erf(std::clamp(2 * share - 1, -1 + 0x1p-53, 1 - 0x1p-53));
    return std::clamp(init.a + init.b * std::numbers::sqrt2 * x, init.c,
                      init.d);
  });
}

// Columns [columns][rows] of Q of a QR decomposition, signs fixed so that the
// diagonal of R is positive: with normal numbers, Q is then spread evenly over
// all orthogonal matrices. Needs rows >= columns.
class Orthogonal {
 public:
  Orthogonal(size_t rows, size_t columns, const ElementRandom& random)
      : rows_(rows), columns_(columns), a_(rows * columns), q_(rows * columns) {
    for (size_t i = 0; i < a_.size(); ++i) a_[i] = random.normal(i);
    for (size_t k = 0; k < columns; ++k) reflect(k);
    for (size_t k = 0; k < columns; ++k) unfold(k);
  }

  double at(size_t row, size_t column) const {
    return q_[column * rows_ + row];
  }

 private:
  double* column(std::vector<double>& m, size_t k) { return &m[k * rows_]; }

  // Takes twice the part along the k-th reflection's vector out of x.
  void apply(size_t k, double* x) {
    const double* v = column(a_, k);
    double dot = std::inner_product(v + k, v + rows_, x + k, 0.0);
    for (size_t i = k; i < rows_; ++i) x[i] -= 2 * dot * v[i];
  }

  // Column k of A below the diagonal becomes the vector of its reflection.
  void reflect(size_t k) {
    double* v = column(a_, k);
    double norm = std::sqrt(std::inner_product(v + k, v + rows_, v + k, 0.0));
    // R's diagonal is -norm where the number was positive.
    signs_.push_back(v[k] > 0 ? -1 : 1);
    v[k] += v[k] > 0 ? norm : -norm;
    double length = std::sqrt(std::inner_product(v + k, v + rows_, v + k, 0.0));
    for (size_t i = k; i < rows_ && length > 0; ++i) v[i] /= length;
    for (size_t j = k + 1; j < columns_; ++j) apply(k, column(a_, j));
  }

  // Column k of Q: all reflections of the k-th unit vector.
  void unfold(size_t k) {
    double* x = column(q_, k);
    x[k] = signs_[k];
    for (size_t j = k + 1; j-- > 0;) apply(j, x);
  }

  size_t rows_, columns_;
  std::vector<double> a_, q_;
  std::vector<double> signs_;
};

InitialValues orthogonal(const Slot& slot, const ElementRandom& random) {
  auto rows = static_cast<size_t>(slot.shape[0]);
  size_t columns =
      rows == 0 ? 0 : static_cast<size_t>(num_elements(slot.shape)) / rows;
  bool wide = rows < columns;
  auto q = std::make_shared<Orthogonal>(std::max(rows, columns),
                                        std::min(rows, columns), random);
  return each([=, gain = slot.init.a](uint64_t element) {
    size_t row = element / columns, column = element % columns;
    return gain * (wide ? q->at(column, row) : q->at(row, column));
  });
}

InitialValues eye(const Slot& slot) {
  auto columns = static_cast<uint64_t>(slot.shape[1]);
  return each([columns](uint64_t element) {
    return element / columns == element % columns ? 1.0 : 0.0;
  });
}

// Each output copies the input of its number, at the middle of the kernel.
InitialValues dirac(const Slot& slot) {
  uint64_t middle = 0, field = 1;
  for (size_t i = 2; i < slot.shape.size(); ++i) {
    auto size = static_cast<uint64_t>(slot.shape[i]);
    middle = middle * size + size / 2;
    field *= size;
  }
  auto inputs = static_cast<uint64_t>(slot.shape[1]);
  return each([=](uint64_t element) {
    uint64_t pair = element / field;
    bool same = pair / inputs == pair % inputs;
    return same && element % field == middle ? 1.0 : 0.0;
  });
}

}  // namespace

// A formula that is right to 2e-3 (Winitzki), made exact by Halley's steps.
double inverse_erf(double y) {
  constexpr double kShape = 0.147;
  double log = std::log1p(-y * y);
  double half = 2 / (std::numbers::pi * kShape) + log / 2;
  double x =
      std::copysign(std::sqrt(std::sqrt(half * half - log / kShape) - half), y);
  for (int i = 0; i < 3; ++i) {
    double off = y > 0 ? (1 - y) - std::erfc(x) : std::erfc(-x) - (1 + y);
    double slope = 2 * std::numbers::inv_sqrtpi * std::exp(-x * x);
    x -= off / (slope + x * off);
  }
  return x;
}

InitialValues initial_values(const Slot& slot, int64_t seed) {
  std::string problem = init_problem(slot.init, slot.shape);
  if (!problem.empty()) fail_usage("[init] slot '{}': {}", slot.name, problem);
  ElementRandom random(static_cast<uint64_t>(seed), slot.name);
  Init init = resolved(slot.init, slot.shape);
  switch (init.kind) {
    case Init::Kind::kUniform: return uniform(init, random);
    case Init::Kind::kNormal: return normal(init, random);
    case Init::Kind::kTruncNormal: return trunc_normal(init, random);
    case Init::Kind::kOrthogonal: return orthogonal(slot, random);
    case Init::Kind::kEye: return eye(slot);
    case Init::Kind::kDirac: return dirac(slot);
    default: return each([value = init.a](uint64_t) { return value; });
  }
}

}  // namespace braid::runtime
