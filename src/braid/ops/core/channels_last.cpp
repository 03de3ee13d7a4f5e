#include "braid/ops/core/channels_last.h"

#include <algorithm>

namespace braid {
namespace {

bool may_be_last(const Shape& shape) {
  return (shape.size() == 4 || shape.size() == 5) && num_elements(shape) > 0;
}

bool has_channels_last(const Value& value) {
  const Shape& shape = value.type.shape;
  return may_be_last(shape) && !is_contiguous(shape, value.strides) &&
         value.strides == channels_last_strides(shape);
}

}  // namespace

Strides channels_last_strides(const Shape& shape) {
  size_t c = shape.size() - 3;  // the dimension of channels
  int64_t channels = shape[c], row = shape[c + 2] * channels;
  int64_t image = shape[c + 1] * row;
  Strides strides{image, 1, row, channels};
  if (c == 2) strides.insert(strides.begin(), shape[1] * image);
  return strides;
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
    bool alike = shape.size() == from.size() &&
                 std::equal(shape.begin(), shape.end() - 2, from.begin());
    if (alike) return channels_last_strides(shape);
  }
  return contiguous_strides(shape);
}

Strides strides_as_told_or_of_input(const NodeView& v) {
  return v.attrs().has("channels_last") ? strides_as_told(v)
                                        : strides_of_input(v);
}

}  // namespace braid
