#include "braid/ops/core/channels_last.h"

namespace braid {
namespace {

bool has_channels_last(const Value& value) {
  const Shape& shape = value.type.shape;
  return shape.size() == 4 && num_elements(shape) > 0 &&
         !is_contiguous(shape, value.strides) &&
         value.strides == channels_last_strides(shape);
}

}  // namespace

Strides channels_last_strides(const Shape& shape) {
  int64_t channels = shape[1], row = shape[3] * channels;
  return {shape[2] * row, 1, row, channels};
}

Strides strides_as_told(const NodeView& v) {
  const Shape& shape = v.output(0).type.shape;
  bool last = v.attrs().flag_or("channels_last", false);
  return last ? channels_last_strides(shape) : contiguous_strides(shape);
}

Strides strides_of_input(const NodeView& v) {
  const Shape& shape = v.output(0).type.shape;
  for (size_t i = 0; i < v.count(); ++i) {
    if (!v.has(i) || !has_channels_last(v.value(i))) continue;
    const Shape& from = v.shape(i);
    if (shape.size() == 4 && from[0] == shape[0] && from[1] == shape[1]) {
      return channels_last_strides(shape);
    }
  }
  return contiguous_strides(shape);
}

}  // namespace braid
