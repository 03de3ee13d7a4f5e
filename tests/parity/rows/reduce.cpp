#include "../row.h"

namespace braid::parity {
namespace {

void add_rows(std::vector<Row>& rows, const char* op, Shape shape, Ints dims,
              bool keep) {
  bool is_sum = op == std::string("sum");
  rows.push_back({.op = op,
                  .args = {{shape}},
                  .attrs = {{"dims", dims}, {"keep_dims", keep}},
                  .reference =
                      [=](const Tensors& t) {
                        if (dims.empty()) return t[0].clone();
                        return is_sum ? t[0].sum(dims, keep)
                                      : t[0].mean(dims, keep);
                      },
                  .note = shape_text(shape) + shape_text(dims)});
}

}  // namespace

std::vector<Row> reduce_rows() {
  std::vector<Row> rows;
  for (const char* op : {"sum", "mean"}) {
    for (bool keep : {false, true}) {
      add_rows(rows, op, {3, 4, 5}, {0}, keep);
      add_rows(rows, op, {3, 4, 5}, {2}, keep);
      add_rows(rows, op, {3, 4, 5}, {0, 2}, keep);
      add_rows(rows, op, {3, 4, 5}, {0, 1, 2}, keep);
      add_rows(rows, op, {3, 4}, {}, keep);
      add_rows(rows, op, {1}, {0}, keep);
    }
  }
  add_rows(rows, "sum", {0, 3}, {0}, false);
  add_rows(rows, "sum", {400, 300}, {0}, false);
  return rows;
}

}  // namespace braid::parity
