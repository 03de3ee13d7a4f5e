// Our loops (runtime/kernels/loops, at the level that this machine takes)
// beside the same loops written with Highway: time per element, largest error
// and what becomes of NaN, infinities and numbers that are not normal.
//   highway [PAIRS]
// Times are of the thread, in pairs of one and the other in turns; ratios are
// medians of pairs with their interval of 95 %.
#include <ctime>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#define HWY_TARGET_INCLUDE "highway_loops.h"
#include <hwy/foreach_target.h>

#include "highway_loops.h"

// The one function of ours that no loop gives alone: see loops/level/level.h.
#define BRAID_LEVEL highway_bench
#include "braid/runtime/kernels/loops/level/math.h"

namespace braid::bench {

HWY_EXPORT(make);

namespace {

using runtime::Loops;
using runtime::LoopsOf;

#if defined(__x86_64__) && !defined(__clang__)
#define BRAID_CLONES \
  [[gnu::target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")]]
#else
#define BRAID_CLONES
#endif

BRAID_CLONES void own_log_f32(float* y, const float* x, int64_t count) {
  BRAID_ELEMENTWISE
  for (int64_t i = 0; i < count; ++i) {
    y[i] = runtime::highway_bench::log_of_sum(x[i]);
  }
}

void own_log_f64(double* y, const double* x, int64_t count) {
  for (int64_t i = 0; i < count; ++i) y[i] = std::log(x[i]);
}

template <class T>
using Function = std::function<void(T* y, const T* x, int64_t count)>;

template <class T>
using Exact = long double (*)(long double x);

// A function of one number: ours, the library's and that with its ends mended.
template <class T>
struct Pair {
  const char* name;
  Function<T> own, bare, mended;
  Exact<T> exact;
};

template <class T>
Function<T> fusion(const LoopsOf<T>& loops, const char* op) {
  auto loop = loops.fusion_loop(op);
  return [loop](T* y, const T* x, int64_t count) {
    loop(y, x, x, x, 0, 0, count);
  };
}

template <class T>
Function<T> own_log() {
  if constexpr (sizeof(T) == 4) {
    return own_log_f32;
  } else {
    return own_log_f64;
  }
}

long double exact_gelu(long double x) {
  // The constants are those of the type that is nearest to long double.
  long double bell = 0.7978845608028654 * (x + 0.044715 * x * x * x);
  // 1 + tanh(z) without the loss of what they have in common.
  return x / (1 + std::exp(-2 * bell));
}

template <class T>
std::vector<Pair<T>> functions(const LoopsOf<T>& own, const HighwayOf<T>& hwy) {
  return {
      {"exp", fusion(own, "exp"), hwy.bare_exp, hwy.exp,
       [](long double x) { return std::exp(x); }},
      {"log", own_log<T>(), hwy.bare_log, hwy.log,
       [](long double x) { return std::log(x); }},
      {"tanh", fusion(own, "tanh"), hwy.bare_tanh, hwy.tanh,
       [](long double x) { return std::tanh(x); }},
      {"sigmoid", fusion(own, "sigmoid"), hwy.bare_sigmoid, hwy.sigmoid,
       [](long double x) { return 1 / (1 + std::exp(-x)); }},
      {"gelu", fusion(own, "gelu"), hwy.bare_gelu, hwy.gelu, exact_gelu},
  };
}

// --- time

double thread_s() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) +
         1e-9 * static_cast<double>(now.tv_nsec);
}

double time_s(const std::function<void()>& run, int64_t times) {
  double start = thread_s();
  for (int64_t i = 0; i < times; ++i) run();
  return (thread_s() - start) / static_cast<double>(times);
}

// How often to run so that one measurement takes about a millisecond.
int64_t times_for(const std::function<void()>& run) {
  run();
  double once = std::max(time_s(run, 3), 1e-8);
  return std::max<int64_t>(1, static_cast<int64_t>(1e-3 / once));
}

double middle(std::vector<double> x) {
  std::sort(x.begin(), x.end());
  return x[x.size() / 2];
}

struct Timed {
  double own_s, other_s, ratio, low, high;
};

Timed compare(const std::function<void()>& own,
              const std::function<void()>& other, int pairs) {
  int64_t times = std::max(times_for(own), times_for(other));
  std::vector<double> own_s, other_s, ratios;
  for (int i = 0; i < pairs; ++i) {
    double first = time_s(i % 2 ? own : other, times);
    double second = time_s(i % 2 ? other : own, times);
    own_s.push_back(i % 2 ? first : second);
    other_s.push_back(i % 2 ? second : first);
    ratios.push_back(other_s.back() / own_s.back());
  }
  std::sort(ratios.begin(), ratios.end());
  // Ranks that enclose the median in 95 of 100 cases.
  double spread = 0.98 * std::sqrt(pairs);
  auto rank = [&](double at) {
    return ratios[static_cast<size_t>(std::clamp(at, 0.0, pairs - 1.0))];
  };
  return {middle(own_s), middle(other_s), middle(ratios),
          rank(pairs / 2.0 - spread), rank(pairs / 2.0 + spread)};
}

struct Printer {
  const char* type;
  int64_t elements;
  int pairs;

  void row(const std::string& name, const std::function<void()>& own,
           const std::function<void()>& other) const {
    Timed t = compare(own, other, pairs);
    double per = 1e9 / static_cast<double>(elements);
    std::printf("%-22s %-4s %8lld %9.4f %9.4f   %5.3f  [%5.3f, %5.3f]\n",
                name.c_str(), type, static_cast<long long>(elements),
                t.own_s * per, t.other_s * per, t.ratio, t.low, t.high);
    std::fflush(stdout);
  }
};

template <class T>
std::vector<T> numbers(int64_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  std::vector<T> x(static_cast<size_t>(count));
  for (T& v : x) v = static_cast<T>(normal(random));
  return x;
}

template <class T>
void time_functions(const Printer& print, const LoopsOf<T>& own,
                    const HighwayOf<T>& hwy) {
  auto x = numbers<T>(print.elements, 1), y = x;
  for (const Pair<T>& f : functions<T>(own, hwy)) {
    if (f.name == std::string("log")) {
      for (T& v : x) v = std::fabs(v);
    }
    auto run = [&](const Function<T>& g) {
      return [&, g] { g(y.data(), x.data(), print.elements); };
    };
    print.row(f.name + std::string(", bare"), run(f.own), run(f.bare));
    print.row(f.name, run(f.own), run(f.mended));
    x = numbers<T>(print.elements, 1);
  }
}

template <class T>
void time_pointwise(const Printer& print, const LoopsOf<T>& own,
                    const HighwayOf<T>& hwy) {
  int64_t n = print.elements;
  auto a = numbers<T>(n, 1), b = numbers<T>(n, 2), c = numbers<T>(n, 3), y = a;
  auto addcmul = own.fusion_loop("addcmul");
  print.row(
      "fusion: addcmul",
      [&] { addcmul(y.data(), a.data(), b.data(), c.data(), T(0.3), 0, n); },
      [&] { hwy.addcmul(y.data(), a.data(), b.data(), c.data(), T(0.3), n); });
  auto hardswish = own.fusion_loop("hardswish");
  print.row(
      "fusion: hardswish",
      [&] { hardswish(y.data(), a.data(), a.data(), a.data(), 0, 0, n); },
      [&] { hwy.hardswish(y.data(), a.data(), n); });
}

template <class T>
void time_rows(const Printer& print, const LoopsOf<T>& own,
               const HighwayOf<T>& hwy, int64_t columns) {
  int64_t rows = print.elements / columns;
  auto named = [&](const char* loop) {
    return loop + std::string(" of ") + std::to_string(columns);
  };
  auto x = numbers<T>(print.elements, 1), y = x;
  print.row(
      named("softmax"),
      [&] {
        for (int64_t r = 0; r < rows; ++r) {
          own.softmax_row(y.data() + r * columns, x.data() + r * columns,
                          T(0.5), columns, columns);
        }
      },
      [&] { hwy.softmax(y.data(), x.data(), T(0.5), rows, columns); });
  auto w = numbers<T>(columns, 2), b = numbers<T>(columns, 3);
  auto mean = numbers<T>(rows, 4), rstd = mean;
  print.row(
      named("layer norm"),
      [&] {
        own.layer_norm(y.data(), x.data(), w.data(), b.data(), rows, columns,
                       1e-5, mean.data(), rstd.data());
      },
      [&] {
        hwy.layer_norm(y.data(), x.data(), w.data(), b.data(), rows, columns,
                       1e-5, mean.data(), rstd.data());
      });
  print.row(
      named("sum of rows"),
      [&] { own.sum_rows(y.data(), x.data(), rows, columns, columns); },
      [&] { hwy.sum_rows(y.data(), x.data(), rows, columns, columns); });
}

template <class T>
void time_update(const Printer& print, const LoopsOf<T>& own,
                 const HighwayOf<T>& hwy) {
  int64_t n = print.elements;
  const runtime::UpdateRow<T>* row = own.updates;
  while (std::string(row->kind) != "adamw") ++row;
  runtime::UpdateInputs in;
  double values[] = {1e-3, 0.9, 0.999, 1e-8, 0.01};
  std::copy(std::begin(values), std::end(values), in.value);
  in.step = 100;
  runtime::UpdateCoefficients rule = row->make(in);
  AdamwNumbers<T> same;
  std::memcpy(&same, rule.bytes, sizeof same);
  auto p = numbers<T>(n, 1), g = numbers<T>(n, 2), s0 = p, s1 = p;
  for (T& v : s1) v = v * v;
  runtime::UpdatePlaces<T> at;
  at.p = p.data();
  at.before = p.data();
  at.g = g.data();
  at.s[0] = s0.data();
  at.s[1] = s1.data();
  at.s_before[0] = s0.data();
  at.s_before[1] = s1.data();
  print.row(
      "AdamW", [&] { row->loop(rule, T(1), at, 0, n); },
      [&] {
        hwy.adamw(same, T(1), p.data(), g.data(), s0.data(), s1.data(), n);
      });
}

// Elements are those of y.
template <class T>
void time_product(const Printer& print, const LoopsOf<T>& own,
                  const HighwayOf<T>& hwy) {
  int64_t n = 32, k = 32, m = print.elements / n / 8 * 8;
  auto a = numbers<T>(m * k, 1), b = numbers<T>(k * n, 2),
       y = numbers<T>(m * n, 3);
  runtime::SmallProduct<T> p{y.data(), a.data(), b.data(), nullptr, m, n,
                             k,        k,        1,        n,       1};
  Printer of{print.type, m * n, print.pairs};
  of.row(
      "product, K = N = 32", [&] { own.product(p); },
      [&] { hwy.product(y.data(), a.data(), b.data(), m, n, k); });
}

template <class T>
void time_all(const char* type, const LoopsOf<T>& own, const HighwayOf<T>& hwy,
              int pairs) {
  for (int64_t elements : {1000, 1000000}) {
    Printer print{type, elements, pairs};
    time_functions(print, own, hwy);
    time_pointwise(print, own, hwy);
    for (int64_t columns : {125, 128}) {
      int64_t rows = elements / columns;
      time_rows(Printer{type, rows * columns, pairs}, own, hwy, columns);
    }
    time_update(print, own, hwy);
    time_product(print, own, hwy);
  }
}

// --- errors

// All exponents with several fractions, of both signs, and random numbers: half
// of them any bits, half of the sizes that models have.
template <class T>
std::vector<T> all_sizes() {
  std::vector<T> x;
  constexpr int kDigits = std::numeric_limits<T>::digits;
  std::mt19937_64 random(5);
  for (int e = std::numeric_limits<T>::min_exponent - kDigits;
       e < std::numeric_limits<T>::max_exponent; ++e) {
    for (int i = 0; i < 64; ++i) {
      double fraction =
          1 + std::ldexp(static_cast<double>(random() >> 11), -53);
      T value = std::ldexp(static_cast<T>(i == 0 ? 1 : fraction), e);
      x.push_back(value);
      x.push_back(-value);
    }
  }
  std::normal_distribution<double> normal(0, sizeof(T) == 4 ? 20 : 100);
  for (int i = 0; i < 1000000; ++i) {
    T value = static_cast<T>(normal(random));
    if (i % 2) {
      uint64_t bits = random();
      std::memcpy(&value, &bits, sizeof value);
    }
    if (std::isfinite(value)) x.push_back(value);
  }
  return x;
}

// Distance in units of the last place of what is right, where that is normal.
template <class T>
double units(T found, long double right) {
  auto nearest = static_cast<T>(right);
  if (found == nearest || !std::isnormal(nearest)) return 0;
  int exponent = std::ilogb(nearest);
  long double unit =
      std::ldexp(1.0L, exponent - std::numeric_limits<T>::digits + 1);
  return static_cast<double>(std::fabs(found - right) / unit);
}

template <class T>
std::string worst(const Function<T>& f, Exact<T> exact, bool positive) {
  std::vector<T> x = all_sizes<T>();
  if (positive) {
    // What a sum of exponentials can be.
    for (T& v : x) v = std::max(std::fabs(v), std::numeric_limits<T>::min());
  }
  std::vector<T> y(x.size());
  f(y.data(), x.data(), static_cast<int64_t>(x.size()));
  double most = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    double found = units(y[i], exact(static_cast<long double>(x[i])));
    most = found <= most ? most : found;  // NaN is the most
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.3g", most);
  return text;
}

template <class T>
bool alike(T a, T b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  if (a == 0 || b == 0 || std::isinf(a) || std::isinf(b)) {
    return std::memcmp(&a, &b, sizeof a) == 0;
  }
  return std::fabs(a - b) <=
         8 * std::numeric_limits<T>::epsilon() * std::fabs(b) +
             2 * std::numeric_limits<T>::denorm_min();
}

// Names of the numbers of which `f` makes something else than ours.
template <class T>
std::string differing(const Function<T>& own, const Function<T>& f) {
  using L = std::numeric_limits<T>;
  const T far = sizeof(T) == 4 ? T(100) : T(740);
  const std::pair<const char*, T> all[] = {{"nan", L::quiet_NaN()},
                                           {"inf", L::infinity()},
                                           {"-inf", -L::infinity()},
                                           {"0", T(0)},
                                           {"-0", -T(0)},
                                           {"least", L::denorm_min()},
                                           {"-least", -L::denorm_min()},
                                           {"max", L::max()},
                                           {"-max", L::lowest()},
                                           {"over", far},
                                           {"under", -far}};
  std::string names;
  for (auto [name, value] : all) {
    T ours = 0, other = 0;
    own(&ours, &value, 1);
    f(&other, &value, 1);
    if (!alike(ours, other)) {
      names += (names.empty() ? "" : " ") + std::string(name);
    }
  }
  return names.empty() ? "none" : names;
}

// Whether an element's bits depend on its place or on the length of the row.
template <class T>
bool same_everywhere(const Function<T>& f) {
  auto x = numbers<T>(200, 3);
  for (T& v : x) v = std::fabs(v) * 4;
  std::vector<T> whole(x.size()), part(x.size());
  f(whole.data(), x.data(), static_cast<int64_t>(x.size()));
  for (int64_t from = 0; from < 70; ++from) {
    for (int64_t count = 1; from + count < 140; ++count) {
      f(part.data(), x.data() + from, count);
      if (std::memcmp(part.data(), whole.data() + from,
                      static_cast<size_t>(count) * sizeof(T))) {
        return false;
      }
    }
  }
  return true;
}

template <class T>
void check_all(const char* type, const LoopsOf<T>& own,
               const HighwayOf<T>& hwy) {
  for (const Pair<T>& f : functions<T>(own, hwy)) {
    bool positive = f.name == std::string("log");
    std::printf("%-8s %-4s %10s %10s %10s   %s %s %s   %-32s %s\n", f.name,
                type, worst<T>(f.own, f.exact, positive).c_str(),
                worst<T>(f.bare, f.exact, positive).c_str(),
                worst<T>(f.mended, f.exact, positive).c_str(),
                same_everywhere<T>(f.own) ? "yes" : "no ",
                same_everywhere<T>(f.bare) ? "yes" : "no ",
                same_everywhere<T>(f.mended) ? "yes" : "no ",
                differing<T>(f.own, f.bare).c_str(),
                differing<T>(f.own, f.mended).c_str());
    std::fflush(stdout);
  }
}

void run(int pairs) {
  const Loops own = runtime::all_loops().back();
  // The first call chooses the target.
  const HighwayLoops hwy = HWY_DYNAMIC_DISPATCH(make)();
  std::printf(
      "compiler %s %s, Highway %d.%d.%d\nours at %s, Highway at %s; %d pairs\n"
      "\nns per element; ratio of Highway to ours (above 1: ours is faster)\n"
      "'bare': the library's function alone, else with NaN and infinities as "
      "ours\n%-22s %-4s %8s %9s %9s   %5s  %s\n",
#ifdef __clang__
      "clang", __clang_version__,
#else
      "g++", __VERSION__,
#endif
      HWY_MAJOR, HWY_MINOR, HWY_PATCH, own.level, hwy.target, pairs, "loop",
      "type", "elements", "ours", "Highway", "ratio", "95 %");
  time_all("f32", own.f32, hwy.f32, pairs);
  time_all("f64", own.f64, hwy.f64, pairs);
  std::printf(
      "\nlargest error in units of the last place where the result is normal "
      "(ours, bare, mended);\nwhether bits are alike at every place (the same "
      "three); numbers of which bare and mended\nmake something else than "
      "ours\n");
  check_all("f32", own.f32, hwy.f32);
  check_all("f64", own.f64, hwy.f64);
}

}  // namespace
}  // namespace braid::bench

int main(int count, char** words) {
  braid::bench::run(count > 1 ? std::max(1, std::atoi(words[1])) : 61);
}
