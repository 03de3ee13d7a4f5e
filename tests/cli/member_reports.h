// Reports of several jobs for tests of displays.
#pragma once

#include <cmath>

#include "braid/train/run/listener.h"

namespace braid::cli {

// One of each state.
inline train::ArrayReport some_members() {
  using State = train::MemberState;
  train::ArrayReport report;
  report.members = {{"lr=0.001,seed=1",
                     State::kTraining,
                     300,
                     1000,
                     1.2,
                     4,
                     0.5,
                     1e-3,
                     {{"loss", 0.61}, {"accuracy", 0.75}},
                     {},
                     {"accuracy", true, 0.75, 300}},
                    {"lr=0.003",
                     State::kStoppedEarly,
                     500,
                     1000,
                     2,
                     4,
                     0.25,
                     3e-3,
                     {{"loss", 0.31}, {"accuracy", 0.875}},
                     {},
                     {"accuracy", true, 0.875, 400}},
                    {"wild", State::kFailed, 7, 1000, 0.1, 4, NAN, 1.0, {}},
                    {"next", State::kWaiting, 0, 1000, 0, 4, {}, {}, {}}};
  report.model_steps = 807;
  report.samples = 8070;
  report.memory_bytes = 3 << 20;
  return report;
}

// `count` members that train, each at its own step.
inline train::ArrayReport many_members(size_t count) {
  train::ArrayReport report;
  for (size_t i = 0; i < count; ++i) {
    auto step = static_cast<int64_t>(i);
    report.members.push_back({.name = "m" + std::to_string(i),
                              .state = train::MemberState::kTraining,
                              .step = step,
                              .steps = 100,
                              .loss = 1.0});
  }
  return report;
}

}  // namespace braid::cli
