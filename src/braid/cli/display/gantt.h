// Who has which device when: as text and as a picture. Pure functions.
#pragma once

#include <string>
#include <vector>

#include "braid/schedule/outcome.h"

namespace braid::cli {

// A line per device, a letter for the job that has it most of that time, '.'
// for none; then the letters with names. `width` is that of the lines.
std::vector<std::string> gantt_lines(const schedule::Outcome& outcome,
                                     const std::vector<std::string>& devices,
                                     const std::vector<std::string>& jobs,
                                     int width);

// SVG: a row per device, a colour per job. No link, script or font of
// elsewhere.
std::string gantt_svg(const schedule::Outcome& outcome,
                      const std::vector<std::string>& devices,
                      const std::vector<std::string>& jobs);

}  // namespace braid::cli
