#include "braid/io/run/event.h"

#include <bit>

#include "braid/io/run/message.h"

namespace braid::io {
namespace {

// Numbers of the fields.
enum EventField : uint32_t {
  kWallTime = 1,
  kStep = 2,
  kFileVersion = 3,
  kSummary = 5,
  kSessionLog = 7,
};
constexpr uint32_t kValue = 1, kTag = 1, kSimpleValue = 2;
constexpr uint32_t kTensor = 8, kMetadata = 9;
constexpr uint64_t kTextType = 7, kTensorClass = 2;
constexpr uint32_t kStatus = 1, kStart = 1;

Message begin_event(double wall_time_s, int64_t step) {
  Message event;
  event.add_double(kWallTime, wall_time_s);
  event.add_number(kStep, static_cast<uint64_t>(step));
  return event;
}

// A message being read. Each call is false at the end and where the message
// is cut.
class MessageReader {
 public:
  explicit MessageReader(Bytes bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }

  bool read_varint(uint64_t& value) {
    value = 0;
    for (uint32_t shift = 0; shift < 64 && !rest_.empty(); shift += 7) {
      auto byte = std::to_integer<uint64_t>(rest_.front());
      rest_ = rest_.subspan(1);
      value |= (byte & 0x7f) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  }

  // Passes over a value; a varint's is returned.
  bool read_value(uint64_t wire, uint64_t& value) {
    switch (wire) {
      case kVarint: return read_varint(value);
      case kFixed64: return skip(8);
      case kFixed32: return skip(4);
      case kText: return read_varint(value) && skip(value);
      default: return false;
    }
  }

 private:
  bool skip(uint64_t count) {
    if (count > rest_.size()) return false;
    rest_ = rest_.subspan(count);
    return true;
  }

  Bytes rest_;
};

}  // namespace

std::string version_event(double wall_time_s) {
  return Message()
      .add_double(kWallTime, wall_time_s)
      .add_text(kFileVersion, "brain.Event:2")
      .text();
}

std::string start_event(double wall_time_s, int64_t step) {
  Message log;
  log.add_number(kStatus, kStart);
  return begin_event(wall_time_s, step)
      .add_text(kSessionLog, log.text())
      .text();
}

std::string scalars_event(double wall_time_s, int64_t step,
                          const Scalars& values) {
  Message summary;
  for (const auto& [tag, number] : values) {
    Message value;
    value.add_text(kTag, tag);
    value.add_float(kSimpleValue, static_cast<float>(number));
    summary.add_text(kValue, value.text());
  }
  return begin_event(wall_time_s, step)
      .add_text(kSummary, summary.text())
      .text();
}

std::string text_event(double wall_time_s, int64_t step, std::string_view tag,
                       std::string_view markdown) {
  Message one, shape, tensor, plugin, metadata, value, summary;
  one.add_number(1, 1);
  shape.add_text(2, one.text());
  tensor.add_number(1, kTextType);
  tensor.add_text(2, shape.text());
  tensor.add_text(8, markdown);
  plugin.add_text(1, "text");
  metadata.add_text(1, plugin.text());
  metadata.add_number(4, kTensorClass);
  value.add_text(kTag, tag);
  value.add_text(kTensor, tensor.text());
  value.add_text(kMetadata, metadata.text());
  summary.add_text(kValue, value.text());
  return begin_event(wall_time_s, step)
      .add_text(kSummary, summary.text())
      .text();
}

std::string plugin_event(double wall_time_s, int64_t step, std::string_view tag,
                         std::string_view plugin, std::string_view content) {
  Message data, metadata, value, summary;
  data.add_text(1, plugin).add_text(2, content);
  metadata.add_text(1, data.text());
  value.add_text(kTag, tag).add_text(kMetadata, metadata.text());
  summary.add_text(kValue, value.text());
  return begin_event(wall_time_s, step)
      .add_text(kSummary, summary.text())
      .text();
}

std::optional<EventFacts> read_event(Bytes bytes) {
  EventFacts facts;
  MessageReader reader(bytes);
  while (!reader.at_end()) {
    uint64_t key = 0, value = 0;
    if (!reader.read_varint(key) || !reader.read_value(key & 7, value)) {
      return std::nullopt;
    }
    if (key >> 3 == kStep) facts.step = std::bit_cast<int64_t>(value);
    facts.has_version |= key >> 3 == kFileVersion;
    facts.has_scalars |= key >> 3 == kSummary;
  }
  return facts;
}

}  // namespace braid::io
