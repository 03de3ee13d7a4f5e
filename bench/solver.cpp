// How good and how fast the planner's solvers are: profiles of equal and of
// unequal layers, limits between the least peak that a plan has (0) and what
// the fastest rows need (1).
//
//   build/bench/solver NUMBER_OF_LAYERS [EFFORT] [PROFILE] [--deep]
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>

#include "braid/base/rng.h"
#include "braid/plan/solve/least_peak.h"
#include "braid/plan/solve/solve.h"
#include "plan_layers.h"

namespace braid::bench {
namespace {

// Of this process: a loaded machine changes them little.
double processor_seconds() {
  return static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

// A transformer layer of so many parameters on so many tokens.
Layer transformer_layer(const std::string& name, double width, double tokens,
                        double more = 1) {
  double parameters = 12 * width * width * more;
  return {.name = name,
          .forward_ns = 2 * parameters * tokens / 150e3,  // 150 TFLOP/s
          .activations = 34 * tokens * width * more,
          .input = 2 * tokens * width,
          .weights = 2 * parameters,
          .optimizer = 12 * parameters};
}

std::vector<Layer> llm(int n) {
  constexpr double kWidth = 5120, kTokens = 4096, kVocabulary = 50e3;
  Layer head = {.name = "head",
                .forward_ns = 2 * kVocabulary * kWidth * kTokens / 150e3,
                .activations = 4 * kTokens * kVocabulary,
                .input = 2 * kTokens * kWidth,
                .weights = 2 * kVocabulary * kWidth,
                .optimizer = 12 * kVocabulary * kWidth};
  Layer embedding = head;
  embedding.name = "embedding";
  embedding.forward_ns = 1e5;
  embedding.activations = embedding.input;
  std::vector<Layer> layers{embedding};
  while (static_cast<int>(layers.size()) + 1 < n) {
    layers.push_back(transformer_layer(fmt::format("layer.{}", layers.size()),
                                       kWidth, kTokens));
  }
  layers.push_back(head);
  return layers;
}

std::vector<Layer> encdec(int n) {
  std::vector<Layer> layers;
  for (int i = 0; i < n; ++i) {
    bool decoder = i >= n / 2;
    layers.push_back(
        transformer_layer(fmt::format("layer.{}", i), decoder ? 4096 : 3072,
                          decoder ? 4096 : 8192, decoder ? 4.0 / 3 : 1));
  }
  return layers;
}

std::vector<Layer> cnn(int n) {
  std::vector<Layer> layers;
  for (int i = 0; i < n; ++i) {
    double at = static_cast<double>(i) / n;
    double activations = 2e9 * std::pow(0.06, at);
    double weights = 1e5 * std::pow(1000, at);
    layers.push_back({.name = fmt::format("block.{}", i),
                      .forward_ns = 2e6 * (1 + 0.5 * at),
                      .activations = activations,
                      .input = activations / 8,
                      .weights = weights,
                      .optimizer = 4 * weights});
  }
  return layers;
}

std::vector<Layer> uneq(int n) {
  std::vector<Layer> layers;
  ElementRandom random(1, "uneq");
  uint64_t count = 0;
  auto factor = [&] { return std::pow(10.0, random.uniform(count++) - 0.5); };
  for (int i = 0; i < n; ++i) {
    Layer layer = transformer_layer(fmt::format("layer.{}", i), 4096, 8192);
    layer.forward_ns *= factor();
    layer.activations *= factor();
    layer.input = layer.activations * 0.1 * factor();
    layer.weights *= factor();
    layer.optimizer = layer.weights * 6;
    layers.push_back(layer);
  }
  return layers;
}

struct Profile {
  const char* name;
  std::vector<Layer> (*layers)(int n);
};

constexpr Profile kProfiles[] = {
    {"llm", llm}, {"encdec", encdec}, {"cnn", cnn}, {"uneq", uneq}};

struct Timed {
  plan::Solution solution;
  double seconds;
};

Timed timed(const plan::Instance& instance, const char* solver,
            int64_t effort = 0) {
  double begin = processor_seconds();
  plan::Solution solution =
      plan::solve(instance, {.solver = solver, .effort = effort});
  return {std::move(solution), processor_seconds() - begin};
}

// How much slower than `best`, in percent.
std::string slower(const plan::Instance& instance, const char* solver,
                   const plan::Solution& best) {
  Timed made = timed(instance, solver);
  if (!made.solution.feasible)
    return fmt::format("{:>10}{:>7.2f}", "-", made.seconds);
  double by = static_cast<double>(made.solution.time_ns()) /
              static_cast<double>(best.time_ns());
  return fmt::format("{:>+10.1f}{:>7.2f}", 100 * (by - 1), made.seconds);
}

struct Settings {
  int n = 48;
  int64_t effort = 0;
  std::string profile;
  bool deep = false, alone = false;
};

std::vector<double> gaps;  // of all that was run

void run_one(const Settings& settings, const Profile& profile, double link) {
  std::vector<int> depths{0, 1, 2, 3};
  if (settings.deep) depths = {0, 1, 2, 3, 5, 8, 12, 16};
  plan::Instance instance =
      instance_of(profile.layers(settings.n), {.link = link}, depths);
  plan::Rows rows = plan::undominated_rows(instance);
  int64_t least = plan::find_least_peak(instance, rows, 300).peak_bytes;
  int64_t most =
      plan::replay(instance, 0, plan::fastest_rows(instance)).peak_bytes;
  for (double limit : {0.0, 0.05, 0.2, 0.5, 0.8, 1.0}) {
    instance.device_bytes =
        least + whole(limit * static_cast<double>(most - least));
    Timed made = timed(instance, "certified", settings.effort);
    const plan::Solution& s = made.solution;
    fmt::print("{:<8}{:>5.0f}{:>7.2f}{:>9.1f}{:>12.3f}{:>8.2f}{:>7}{:>9.3f}",
               profile.name, link, limit, double(instance.device_bytes) / 1e9,
               double(s.time_ns()) / 1e6, 100 * s.gap(), s.depth, made.seconds);
    if (limit >= 0.05) gaps.push_back(100 * s.gap());
    if (!settings.alone) {
      for (const char* other : {"dp", "greedy", "random"}) {
        fmt::print("{}", slower(instance, other, s));
      }
    }
    fmt::print("\n");
    std::fflush(stdout);
  }
}

void run(const Settings& settings) {
  fmt::print("{} segments, depths {}\n", settings.n,
             settings.deep ? "0 1 2 3 5 8 12 16" : "0 1 2 3");
  fmt::print("{:<8}{:>5}{:>7}{:>9}{:>12}{:>8}{:>7}{:>9}", "profile", "GB/s",
             "limit", "GB", "ms", "gap %", "depth", "s");
  if (!settings.alone) {
    for (const char* other : {"dp %", "greedy %", "random %"}) {
      fmt::print("{:>10}{:>7}", other, "s");
    }
  }
  fmt::print("\n");
  std::vector<double> links{25};
  if (settings.n == 48) links = {8, 25, 50};
  for (const Profile& profile : kProfiles) {
    if (!settings.profile.empty() && settings.profile != profile.name) continue;
    for (double link : links) run_one(settings, profile, link);
  }
  std::ranges::sort(gaps);
  if (gaps.empty()) return;
  fmt::print("gap at limits from 0.05: median {:.2f} %, worst {:.2f} %\n",
             gaps[gaps.size() / 2], gaps.back());
}

}  // namespace
}  // namespace braid::bench

int main(int count, char** words) {
  braid::bench::Settings settings;
  int number = 0;
  for (int i = 1; i < count; ++i) {
    if (std::strcmp(words[i], "--deep") == 0) {
      settings.deep = true;
    } else if (std::strcmp(words[i], "--alone") == 0) {
      settings.alone = true;
    } else if (std::isalpha(static_cast<unsigned char>(words[i][0]))) {
      settings.profile = words[i];
    } else if (number++ == 0) {
      settings.n = std::atoi(words[i]);
    } else {
      settings.effort = std::atoll(words[i]);
    }
  }
  braid::bench::run(settings);
}
