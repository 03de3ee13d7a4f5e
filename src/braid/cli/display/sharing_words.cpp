#include "braid/cli/display/sharing_words.h"

#include <fmt/format.h>

#include "braid/cli/display/display_words.h"

namespace braid::cli {

std::string sharing_words(const train::SharingPlan& plan,
                          const train::JobDevices& devices) {
  train::PredictedSpan span = predict_span(
      plan.works, static_cast<int>(devices.ids.size()), plan.at_once);
  std::string where = devices.ids.size() == 1
                          ? "on " + device_text(devices.ids[0])
                          : fmt::format("on {} devices", devices.ids.size());
  std::string turns =
      plan.at_once > 1 ? fmt::format(", {} at once on each", plan.at_once) : "";
  return fmt::format("share  {} array{} {}{}: about {}, {} at least",
                     plan.works.size(), plan.works.size() == 1 ? "" : "s",
                     where, turns, duration_text(span.seconds),
                     duration_text(span.least_s));
}

}  // namespace braid::cli
