#include "braid/io/run/hparams.h"

#include "braid/base/numbers.h"
#include "braid/io/run/event.h"
#include "braid/io/run/message.h"

namespace braid::io {
namespace {

Message value_of(const std::string& text) {
  Message value;
  if (text == "true" || text == "false") {
    return value.add_number(4, text == "true" ? 1 : 0);
  }
  if (auto number = parse_number(text)) return value.add_double(2, *number);
  return value.add_text(3, text);
}

constexpr const char* kPlugin = "hparams";

}  // namespace

std::string hparams_start_event(double wall_time_s, int64_t step,
                                const Hparams& values) {
  Message start, data;
  for (const auto& [name, text] : values) {
    Message entry;
    entry.add_text(1, name).add_text(2, value_of(text).text());
    start.add_text(1, entry.text());
  }
  start.add_double(5, wall_time_s);
  data.add_text(3, start.text());
  return plugin_event(wall_time_s, step, "_hparams_/session_start_info",
                      kPlugin, data.text());
}

std::string hparams_end_event(double wall_time_s, int64_t step,
                              bool succeeded) {
  Message end, data;
  end.add_number(1, succeeded ? 1 : 2).add_double(2, wall_time_s);
  data.add_text(4, end.text());
  return plugin_event(wall_time_s, step, "_hparams_/session_end_info", kPlugin,
                      data.text());
}

}  // namespace braid::io
