// Events of TensorBoard: the messages `Event` and `Summary` of TensorFlow's
// event.proto and summary.proto, as far as scalars need them.
//
//   Event    wall_time 1 (double), step 2, file_version 3 (text), summary 5,
//            session_log 7
//   Summary  value 1, repeated: tag 1 (text), simple_value 2 (float)
//   SessionLog  status 1: START is 1
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "braid/io/file/file.h"
#include "braid/io/run/scalars.h"

namespace braid::io {

// The first event of every file. Times are seconds since 1970.
std::string version_event(double wall_time_s);

// Says that a run begins, or goes on, with this step: TensorBoard forgets what
// it has read of this and later steps.
std::string start_event(double wall_time_s, int64_t step);

// The values become floats; tags must be UTF-8.
std::string scalars_event(double wall_time_s, int64_t step,
                          const Scalars& values);

struct EventFacts {
  int64_t step = 0;
  bool has_version = false;
  bool has_scalars = false;
};

// Nothing when the bytes are no message.
std::optional<EventFacts> read_event(Bytes bytes);

}  // namespace braid::io
