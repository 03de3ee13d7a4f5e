// A picture of the time that plans take by the memory they may have.
#pragma once

#include <string>

#include "braid/compile/plan_report.h"

namespace braid::cli {

// SVG: a line through the limits that can be kept, and the chosen plan on it.
// No link, script or font of elsewhere.
std::string front_svg(const compile::PlanReport& report);

// Graphviz: the segments in order, by what is done about them.
std::string plan_dot(const compile::PlanReport& report);

}  // namespace braid::cli
