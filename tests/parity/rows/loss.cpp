#include "loss_rows.h"

namespace braid::parity {
namespace {

// Classes last, as models use it.
Row class_last(Shape rows, int64_t classes, double smoothing,
               std::string note) {
  Shape logits = rows;
  logits.push_back(classes);
  return {.op = "cross_entropy_loss",
          .args = {{logits}, index(rows, classes)},
          .attrs = {{"label_smoothing", smoothing}},
          .reference =
              [=](const Tensors& t) {
                return at::cross_entropy_loss(
                    t[0].reshape({-1, classes}), t[1].reshape({-1}),
                    std::nullopt, at::Reduction::Mean, -100, smoothing);
              },
          .note = std::move(note)};
}

struct Case {
  Shape logits;
  Arg target;
  bool weighted = false;
  double smoothing = 0;
  int64_t ignored = -100;
  Reduction reduction = Reduction::kMean;
};

int64_t classes_of(const Case& c) {
  return c.logits.size() == 1 ? c.logits[0] : c.logits[1];
}

ClassLoss options_of(const Case& c, Var weight) {
  return {.weight = weight,
          .ignore_index = c.ignored,
          .label_smoothing = c.smoothing,
          .reduction = c.reduction};
}

Row class_row(const char* op, const Case& c) {
  Arg weight = c.weighted ? positive({classes_of(c)}) : missing();
  return {.op = op,
          .args = {{c.logits}, c.target, weight},
          .attrs = {},
          .reference = {},
          .build = {},
          .note = shape_text(c.logits)};
}

Row cross_entropy_row(const Case& c) {
  Row row = class_row("cross_entropy_loss", c);
  row.reference = [c](const Tensors& t) {
    return at::cross_entropy_loss(t[0], t[1], fixed(t[2]),
                                  torch_reduction(c.reduction), c.ignored,
                                  c.smoothing);
  };
  row.build = [c](const std::vector<Var>& v) {
    return cross_entropy_loss(v[0], v[1], options_of(c, v[2]));
  };
  return row;
}

Row nll_row(const Case& c) {
  Row row = class_row("nll_loss", c);
  row.reference = [c](const Tensors& t) {
    return at::nll_loss_nd(t[0], t[1], fixed(t[2]),
                           torch_reduction(c.reduction), c.ignored);
  };
  row.build = [c](const std::vector<Var>& v) {
    return nll_loss(v[0], v[1], options_of(c, v[2]));
  };
  return row;
}

// Logits and targets of all ranks; target class 2 is left out in some.
void add_hard(std::vector<Row>& rows) {
  const std::pair<Shape, Shape> shapes[] = {
      {{6, 4}, {6}},
      {{4}, {}},
      {{2, 4, 3}, {2, 3}},
      {{2, 4, 3, 2}, {2, 3, 2}},
      {{2, 4, 2, 2, 2}, {2, 2, 2, 2}},
      {{1, 3}, {1}},
  };
  for (const auto& [logits, target] : shapes) {
    Case c{logits, index(target, classes_of({logits, {}}))};
    for (Reduction r : kAll) {
      c.reduction = r;
      for (bool weighted : {false, true}) {
        c.weighted = weighted;
        c.smoothing = 0;
        rows.push_back(cross_entropy_row(c));
        rows.push_back(nll_row(c));
        c.smoothing = 0.2;
        rows.push_back(cross_entropy_row(c));
      }
    }
  }
}

void add_ignored(std::vector<Row>& rows) {
  for (Reduction r : kAll) {
    for (bool weighted : {false, true}) {
      Case c{{16, 4}, index({16}, 4), weighted, 0, 2, r};
      rows.push_back(cross_entropy_row(c));
      rows.push_back(nll_row(c));
      c.smoothing = 0.3;
      rows.push_back(cross_entropy_row(c));
      // All rows left out: a mean of nothing.
      Case none{{3, 1}, index({3}, 1), weighted, 0, 0, r};
      rows.push_back(cross_entropy_row(none));
      rows.push_back(nll_row(none));
    }
    Case empty{{0, 4}, index({0}, 4), false, 0, -100, r};
    rows.push_back(cross_entropy_row(empty));
    rows.push_back(nll_row(empty));
  }
}

void add_soft(std::vector<Row>& rows) {
  for (const Shape& shape : {Shape{6, 4}, {4}, {2, 3, 4}, {2, 3, 2, 2}}) {
    for (Reduction r : kAll) {
      Case c{shape, positive(shape), false, 0, -100, r};
      rows.push_back(cross_entropy_row(c));
      c.weighted = true;
      rows.push_back(cross_entropy_row(c));
      c.smoothing = 0.1;
      rows.push_back(cross_entropy_row(c));
    }
  }
}

// Label smoothing as an operand, one number of each member.
Row smoothed_row(const Case& c) {
  Row row = class_row("cross_entropy_loss", c);
  row.args.push_back(index({}, 5));
  row.note += " smoothing as operand";
  row.reference = [c](const Tensors& t) {
    double smoothing = 0.2 * t[3].item<double>();
    return at::cross_entropy_loss(t[0], t[1], fixed(t[2]), at::Reduction::Mean,
                                  c.ignored, smoothing);
  };
  row.build = [c](const std::vector<Var>& v) {
    Var smoothing = mul_scalar(cast(v[3], DType::kFloat64), 0.2);
    return apply("cross_entropy_loss", {v[0], v[1], v[2], smoothing},
                 {{"ignore_index", c.ignored}});
  };
  return row;
}

void add_smoothed(std::vector<Row>& rows) {
  for (bool weighted : {false, true}) {
    rows.push_back(smoothed_row({{6, 4}, index({6}, 4), weighted}));
    rows.push_back(smoothed_row({{6, 4}, index({6}, 4), weighted, 0, 2}));
    rows.push_back(smoothed_row({{6, 4}, positive({6, 4}), weighted}));
  }
}

// Infinite and missing logits.
void add_special(std::vector<Row>& rows) {
  for (double smoothing : {0.0, 0.1}) {
    Case c{{40, 3}, index({40}, 3), false, smoothing, -100, Reduction::kEach};
    Row row = cross_entropy_row(c);
    row.args[0] = special({40, 3});
    rows.push_back(row);
  }
}

Row mse_row(Shape x, Shape t, Reduction r) {
  return {
      .op = "mse_loss",
      .args = {{x}, {t}},
      .attrs = {},
      .reference =
          [r](const Tensors& a) {
            auto both = at::broadcast_tensors({a[0], a[1]});  // as F.mse_loss
            return at::mse_loss(both[0], both[1], torch_reduction(r));
          },
      .build =
          [r](const std::vector<Var>& v) { return mse_loss(v[0], v[1], r); },
      .note = shape_text(x) + shape_text(t)};
}

}  // namespace

std::vector<Row> loss_rows() {
  std::vector<Row> rows{
      class_last({6}, 4, 0, "plain"),     class_last({6}, 4, 0.1, "smoothed"),
      class_last({2, 5}, 7, 0, "3d"),     class_last({64}, 300, 0, "large"),
      class_last({1}, 1, 0, "one"),       class_last({}, 5, 0, "vector"),
      class_last({2, 3, 2}, 5, 1, "even")};
  for (Reduction r : kAll) {
    rows.push_back(mse_row({4, 3}, {4, 3}, r));
    rows.push_back(mse_row({5}, {5}, r));
    rows.push_back(mse_row({}, {}, r));
    rows.push_back(mse_row({0, 3}, {0, 3}, r));
    rows.push_back(mse_row({2, 3, 4}, {2, 3, 4}, r));
    rows.push_back(mse_row({2, 3, 4}, {3, 1}, r));
  }
  add_hard(rows);
  add_ignored(rows);
  add_soft(rows);
  add_smoothed(rows);
  add_special(rows);
  return rows;
}

}  // namespace braid::parity
