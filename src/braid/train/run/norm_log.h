// NormLog: norms of gradients and weights at the steps that are logged. It
// looks on while a step runs and changes nothing of it.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "braid/train/run/run_context.h"

namespace braid::train {

// In `log_norms.of`: one for each layer.
inline constexpr const char* kLayers = "layers";

// One thread. What it knows is of the last step that it looked at.
class NormLog {
 public:
  // Before the step of a phase: looks at the gradients of these members.
  void watch(Array& array, size_t phase, const std::vector<Array::Turn>& turns);
  // After it.
  void stop(Array& array);

  // Of a member after a step: norms of its gradients, before they were
  // clipped, and of its weights after the update. Of all parameters
  // together, then by `log_norms.of`. Forgets them.
  io::Scalars take(const MemberRun& member, const Array& array);

 private:
  // The sum of squares of a parameter's gradient, by its own name.
  struct Gradient {
    std::string name;
    double squares;
  };
  // By parameter: in which order they come depends on the plan.
  using ByPhase = std::map<size_t, std::map<SlotId, Gradient>>;

  void add(const Array& array, size_t phase,
           const std::vector<Array::Turn>& turns, SlotId parameter,
           std::span<const std::byte> bytes);

  std::map<MemberId, ByPhase> gradients_;
};

}  // namespace braid::train
