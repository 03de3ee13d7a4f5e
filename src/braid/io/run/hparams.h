// What the plugin "hparams" of TensorBoard needs to compare runs: the values of
// each, and how it ended; see its plugin_data.proto and api.proto.
//
//   PluginData        version 1, session_start_info 3, session_end_info 4
//   SessionStartInfo  hparams 1: a map from a name to a Value, start_time 5
//   SessionEndInfo    status 1: SUCCESS is 1, FAILURE 2; end_time 2
//   Value             number_value 2 (double), string_value 3, bool_value 4
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace braid::io {

// Values of a run as texts; numbers, true and false are told from others.
using Hparams = std::vector<std::pair<std::string, std::string>>;

// Says what a run begins with.
std::string hparams_start_event(double wall_time_s, int64_t step,
                                const Hparams& values);

// Says that it has ended.
std::string hparams_end_event(double wall_time_s, int64_t step, bool succeeded);

}  // namespace braid::io
