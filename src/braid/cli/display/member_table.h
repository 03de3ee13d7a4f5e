// Many jobs as text: a row for each, and one line for all. Pure functions of
// how they stand.
#pragma once

#include <string>
#include <vector>

#include "braid/cli/display/display_words.h"
#include "braid/train/run/listener.h"

namespace braid::cli {

// Per second, all members together; not finite: not known.
struct ArrayRates {
  double model_steps = 0;
  double samples = 0;
};

// "training", "stopped early", "failed: NaN"
std::string state_text(train::MemberState state, bool is_error = false);

// Whether a member will take no more steps.
bool has_ended(const train::MemberReport& member);

// The value that an evaluation is known by: that of the metric, else the first
// that is not the loss, or the loss. Null before the first evaluation.
const std::pair<std::string, double>* main_metric(
    const io::Scalars& values, const std::string& metric = "");

// A bar over all steps, a line of sums, and a table of members in the order of
// the list. Where there are more than `most_rows`, the best ones come first
// and the others are counted.
std::vector<std::string> draw_members(const train::ArrayReport& report,
                                      const ArrayRates& rates,
                                      const DrawOptions& options = {});

// "models  2 training, 1 done  step  40/100  loss 0.5..1.2  best lr=1e-3:
// accuracy 0.97  ...  eta 7s"
std::string plain_members_text(const train::ArrayReport& report,
                               const ArrayRates& rates);

}  // namespace braid::cli
