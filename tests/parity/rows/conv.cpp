#include "../row.h"

namespace braid::parity {
namespace {

Row conv(Shape x, Shape w, bool bias, Ints stride, Ints padding, Ints dilation,
         int64_t groups, std::string note) {
  Row row{.op = "conv2d",
          .args = {{x}, {w}, {{w[0]}}},
          .attrs = {{"stride", stride},
                    {"padding", padding},
                    {"dilation", dilation},
                    {"groups", groups}},
          .reference =
              [=](const Tensors& t) {
                return at::conv2d(
                    t[0], t[1],
                    t[2].defined() ? std::optional(t[2]) : std::nullopt, stride,
                    padding, dilation, groups);
              },
          .note = std::move(note)};
  if (!bias) row.args[2] = missing();
  return row;
}

Row pool(const char* op, Shape x, Ints kernel, Ints stride, Ints padding) {
  bool is_max = op == std::string("max_pool2d");
  return {
      .op = op,
      .args = {{x}},
      .attrs = {{"kernel", kernel}, {"stride", stride}, {"padding", padding}},
      .reference =
          [=](const Tensors& t) {
            return is_max ? at::max_pool2d(t[0], kernel, stride, padding)
                          : at::avg_pool2d(t[0], kernel, stride, padding);
          },
      .note = shape_text(kernel) + shape_text(stride)};
}

}  // namespace

std::vector<Row> conv_rows() {
  std::vector<Row> rows{
      conv({2, 3, 8, 8}, {4, 3, 3, 3}, true, {1, 1}, {1, 1}, {1, 1}, 1, "3x3"),
      conv({2, 3, 9, 7}, {4, 3, 3, 2}, true, {2, 1}, {0, 1}, {1, 1}, 1,
           "strided"),
      conv({2, 4, 8, 8}, {6, 2, 3, 3}, true, {1, 1}, {1, 1}, {1, 1}, 2,
           "groups"),
      conv({2, 4, 8, 8}, {4, 1, 3, 3}, false, {1, 1}, {1, 1}, {1, 1}, 4,
           "depthwise"),
      conv({2, 3, 9, 9}, {4, 3, 3, 3}, true, {1, 1}, {2, 2}, {2, 2}, 1,
           "dilated"),
      conv({2, 5, 6, 6}, {3, 5, 1, 1}, true, {1, 1}, {0, 0}, {1, 1}, 1, "1x1"),
      conv({1, 1, 1, 1}, {1, 1, 1, 1}, true, {1, 1}, {0, 0}, {1, 1}, 1, "ones"),
      conv({8, 16, 12, 12}, {32, 16, 3, 3}, true, {1, 1}, {1, 1}, {1, 1}, 1,
           "larger"),
  };
  for (const char* op : {"max_pool2d", "avg_pool2d"}) {
    rows.push_back(pool(op, {2, 3, 8, 8}, {2, 2}, {2, 2}, {0, 0}));
    rows.push_back(pool(op, {2, 3, 9, 7}, {3, 2}, {2, 1}, {1, 1}));
    rows.push_back(pool(op, {2, 3, 7, 7}, {3, 3}, {1, 1}, {1, 1}));
    rows.push_back(pool(op, {1, 1, 4, 4}, {4, 4}, {4, 4}, {0, 0}));
  }
  return rows;
}

}  // namespace braid::parity
