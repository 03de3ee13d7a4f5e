// Events of TensorBoard: the messages `Event` and `Summary` of TensorFlow's
// event.proto and summary.proto, as far as scalars, texts and the values of
// jobs need them.
//
//   Event    wall_time 1 (double), step 2, file_version 3 (text), summary 5,
//            session_log 7
//   Summary  value 1, repeated: tag 1 (text), simple_value 2 (float),
//            tensor 8, metadata 9
//   SessionLog  status 1: START is 1
//   Tensor   dtype 1: a text is 7; shape 2: dim 2: size 1; string_val 8
//   Metadata plugin_data 1: plugin_name 1, content 2; data_class 4
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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

// A text in Markdown, as the plugin for texts shows it.
std::string text_event(double wall_time_s, int64_t step, std::string_view tag,
                       std::string_view markdown);

// What a plugin of TensorBoard knows about a run, in its own form.
std::string plugin_event(double wall_time_s, int64_t step, std::string_view tag,
                         std::string_view plugin, std::string_view content);

struct EventFacts {
  int64_t step = 0;
  bool has_version = false;
  bool has_scalars = false;
};

// Nothing when the bytes are no message.
std::optional<EventFacts> read_event(Bytes bytes);

}  // namespace braid::io
