// Layers as a planner sees them, for benchmarks: from what a layer computes and
// holds to the rows of an instance.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "braid/plan/solve/instance.h"

namespace braid::bench {

// Times in ns, sizes in bytes.
struct Layer {
  std::string name;
  double forward_ns = 0;   // backward takes twice as long
  double activations = 0;  // that backward reads
  double input = 0;        // of those, enough to make the rest again
  double weights = 0;      // as much as their gradients
  double optimizer = 0;    // masters and moments
};

struct Machine {
  double link = 25;       // GB/s = bytes/ns, each way
  double host_adam = 40;  // bytes/ns of optimizer state on the host
  double device_adam = 800;
};

inline int64_t whole(double number) { return std::llround(number); }

// keep, recompute or offload the activations; resident or spilled weights;
// optimizer on the device or on the host: 12 rows.
inline std::vector<plan::Mode> twelve_rows(const Layer& layer,
                                           const Machine& machine) {
  std::vector<plan::Mode> rows;
  auto copy_ns = [&](double bytes) { return whole(bytes / machine.link); };
  int64_t a = whole(layer.activations), c = whole(layer.input);
  int64_t w = whole(layer.weights), s = whole(layer.optimizer);
  for (const char* act : {"keep", "recompute", "offload"}) {
    for (const char* where : {"resident", "spilled"}) {
      for (const char* update : {"device", "host"}) {
        plan::Mode m{.name = std::string(act) + "," + where + "," + update};
        m.f = whole(layer.forward_ns);
        m.b = 2 * m.f;
        m.xf = c;
        m.xb = 2 * c + w;  // gradients of the input and of the weights
        if (act[0] == 'k') m.keep = a;
        if (act[0] == 'r') {
          m.keep = c;
          m.xb += a - c;
          m.b += m.f;
        }
        if (act[0] == 'o') {
          m.of = m.hb = copy_ns(layer.activations);
          m.xf += a;
          m.lf = m.wb = a;
          m.dep = true;
        }
        bool spilled = where[0] == 's', on_host = update[0] == 'h';
        if (spilled) {
          m.hf += copy_ns(layer.weights);
          m.hb += copy_ns(layer.weights);
          m.wf += w;
          m.wb += w;
          m.host += w;
        } else {
          m.res += w;
        }
        if (on_host) {
          m.ob += copy_ns(layer.weights);
          m.lb += w;
          m.u = whole(layer.optimizer / machine.host_adam);
          m.host += s;
          if (!spilled) m.hf += copy_ns(layer.weights);  // what is new
        } else {
          m.res += s;
          m.b += whole(layer.optimizer / machine.device_adam);
          if (spilled) {
            m.ob += copy_ns(layer.weights);
            m.lb += w;
          }
        }
        rows.push_back(std::move(m));
      }
    }
  }
  return rows;
}

inline plan::Instance instance_of(const std::vector<Layer>& layers,
                                  const Machine& machine,
                                  std::vector<int> depths) {
  plan::Instance instance{.depths = std::move(depths)};
  for (const Layer& layer : layers) {
    instance.segments.push_back({layer.name, twelve_rows(layer, machine)});
  }
  return instance;
}

}  // namespace braid::bench
