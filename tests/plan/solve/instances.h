// Random planning problems for tests.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <random>

#include "braid/plan/solve/replay.h"
#include "braid/plan/solve/solve.h"

namespace braid::plan {

using Random = std::mt19937_64;

inline int64_t number_between(Random& random, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(random);
}

inline bool one_in(Random& random, int count) {
  return number_between(random, 1, count) == 1;
}

#ifdef __has_feature
inline constexpr bool kIsSanitized = __has_feature(address_sanitizer);
#elif defined(__SANITIZE_ADDRESS__)
inline constexpr bool kIsSanitized = true;
#else
inline constexpr bool kIsSanitized = false;
#endif

// More of a test with BRAID_TEST_LONG, less under a sanitizer.
inline int long_or_short(int long_form, int short_form) {
  if (std::getenv("BRAID_TEST_LONG")) return long_form;
  return kIsSanitized ? std::max(short_form / 10, 1) : short_form;
}

struct RandomInstance {
  int least_segments = 3, most_segments = 5;
  std::vector<int> depths = {0, 1, 2, 3};
  bool equal = false;  // all segments alike
  bool host_limit = false;
  bool extras = false;  // collectives, gradients that stay, edges
};

// What a layer computes and holds.
struct RandomLayer {
  int64_t forward, activations, input, weights, optimizer;
};

inline RandomLayer random_layer(Random& random) {
  int64_t activations = number_between(random, 20, 2000);
  int64_t weights = number_between(random, 10, 800);
  return {number_between(random, 10, 1000), activations,
          number_between(random, 1, activations), weights,
          number_between(random, weights, 6 * weights)};
}

// One of 12 rows: activations kept, recomputed or offloaded; weights resident
// or spilled; update on the device or on the host. `link` is bytes per ns.
inline Mode random_row(const RandomLayer& layer, int act, bool spilled,
                       bool on_host, double link) {
  auto copy = [&](int64_t bytes) {
    return static_cast<int64_t>(static_cast<double>(bytes) / link);
  };
  Mode m{.name = std::to_string(4 * act + 2 * spilled + on_host)};
  m.f = layer.forward;
  m.b = 2 * layer.forward + (on_host ? 0 : layer.optimizer / 50);
  m.xf = layer.input;
  m.xb = 2 * layer.input + layer.weights;
  if (act == 0) m.keep = layer.activations;
  if (act == 1) {
    m.keep = layer.input;
    m.xb += layer.activations - layer.input;
    m.b += layer.forward;
  }
  if (act == 2) {
    m.of = m.hb = copy(layer.activations);
    m.xf += layer.activations;
    m.lf = m.wb = layer.activations;
    m.dep = true;
  }
  m.host = (spilled ? layer.weights : 0) + (on_host ? layer.optimizer : 0);
  if (spilled || on_host) m.hf += copy(layer.weights);
  if (spilled) {
    m.hb += copy(layer.weights);
    m.wf += layer.weights;
    m.wb += layer.weights;
  } else {
    m.res += layer.weights;
  }
  if (spilled || on_host) {
    m.ob += copy(layer.weights);
    m.lb += layer.weights;
  }
  if (on_host) m.u = layer.optimizer / 10;
  if (!on_host) m.res += layer.optimizer;
  return m;
}

inline void add_extras(Random& random, Instance& instance) {
  bool gathers = one_in(random, 2), scatters = one_in(random, 2);
  bool always = one_in(random, 2);  // every row has them
  bool holds = one_in(random, 2);
  for (SegmentModes& segment : instance.segments) {
    for (Mode& mode : segment.modes) {
      auto some = [&] {
        return always || one_in(random, 2) ? number_between(random, 1, 900) : 0;
      };
      if (gathers) mode.gf = some();
      if (gathers) mode.gb = some();
      if (scatters) mode.rb = some();
      if (holds && one_in(random, 2)) {
        mode.grad = number_between(random, 1, 300);
        mode.xb += mode.grad;
      }
    }
  }
  int n = instance.num_segments();
  if (n < 2 || one_in(random, 3)) return;
  auto from = static_cast<int32_t>(number_between(random, 0, n - 2));
  auto to = static_cast<int32_t>(number_between(random, from + 1, n - 1));
  instance.edges.push_back({from, to, number_between(random, 1, 800)});
}

inline int64_t peak_of_largest(const Instance& instance) {
  int64_t most = 0;
  for (int32_t row = 0; row < 12; ++row) {
    std::vector<int32_t> modes(instance.segments.size(), row);
    auto bytes = slot_bytes(instance, instance.depths.back(), modes);
    most = std::max(most, *std::ranges::max_element(bytes));
  }
  return most;
}

inline Instance random_instance(Random& random, const RandomInstance& form) {
  Instance instance{.depths = form.depths};
  auto n = number_between(random, form.least_segments, form.most_segments);
  double link = static_cast<double>(number_between(random, 1, 40)) / 10;
  RandomLayer layer = random_layer(random);
  for (int64_t i = 0; i < n; ++i) {
    if (!form.equal) layer = random_layer(random);
    instance.segments.push_back({.name = "segment." + std::to_string(i)});
    for (int row = 0; row < 12; ++row) {
      instance.segments.back().modes.push_back(
          random_row(layer, row / 4, row / 2 % 2 == 1, row % 2 == 1, link));
    }
  }
  if (form.extras) add_extras(random, instance);
  int64_t most = peak_of_largest(instance);
  instance.device_bytes = number_between(random, most / 5, most);
  if (form.host_limit) {
    int64_t host = 0;
    for (const SegmentModes& segment : instance.segments) {
      host += segment.modes[3].host;
    }
    instance.host_bytes = number_between(random, 0, host);
  }
  return instance;
}

// Each of the forms in turn.
inline RandomInstance form_of(int number) {
  return {.equal = number % 4 == 0,
          .host_limit = number % 3 == 0,
          .extras = number % 5 < 2};
}

inline std::vector<int32_t> random_modes(Random& random,
                                         const Instance& instance) {
  std::vector<int32_t> modes;
  for (const SegmentModes& segment : instance.segments) {
    modes.push_back(static_cast<int32_t>(number_between(
        random, 0, static_cast<int64_t>(segment.modes.size()) - 1)));
  }
  return modes;
}

}  // namespace braid::plan
