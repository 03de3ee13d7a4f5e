// Products of rows in groups. Groups are those of random experts, so members
// of an array differ in them; libtorch's side is one product per group.
// S rows, E groups, K inputs, N outputs.
#include "built.h"

namespace braid::parity {
namespace {

using Rows = std::vector<Row>;
using at::Tensor;

// How rows are shared out: experts below `drawn` get some, of `groups`; those
// beyond the groups leave rows behind that belong to none.
struct Routing {
  int64_t rows, groups, drawn;
  bool from_last = false;  // experts are counted from the last
  DType type = DType::kInt32;
};

std::string text_of(const Routing& r) {
  return fmt::format("{} rows {} of {}{}{}", r.rows, r.drawn, r.groups,
                     r.from_last ? " from last" : "",
                     r.type == DType::kInt64 ? " i64" : "");
}

Arg experts(const Routing& r) { return index({r.rows}, r.drawn); }

// Where groups end: counts, summed up.
Var ends(Var experts, const Routing& r) {
  if (r.from_last) experts = rsub_scalar(experts, double(r.groups - 1));
  Var counts = bincount(experts, std::max(r.groups, r.drawn));
  return cast(cumsum(slice(counts, 0, 0, r.groups), 0), r.type);
}

std::vector<int64_t> ends(const Tensor& experts, const Routing& r) {
  std::vector<int64_t> counts(size_t(std::max(r.groups, r.drawn)));
  for (int64_t i = 0; i < experts.numel(); ++i) {
    auto expert = experts[i].item<int64_t>();
    ++counts[size_t(r.from_last ? r.groups - 1 - expert : expert)];
  }
  std::vector<int64_t> list;
  int64_t end = 0;
  for (int64_t e = 0; e < r.groups; ++e)
    list.push_back(end += counts[size_t(e)]);
  return list;
}

Tensor rows_reference(const Tensor& a, const Tensor& b,
                      const std::vector<int64_t>& ends) {
  std::vector<Tensor> parts;
  int64_t begin = 0;
  for (size_t e = 0; e < ends.size(); ++e) {
    parts.push_back(at::mm(a.narrow(0, begin, ends[e] - begin),
                           b[static_cast<int64_t>(e)]));
    begin = ends[e];
  }
  parts.push_back(a.new_zeros({a.size(0) - begin, b.size(2)}));
  return at::cat(parts, 0);
}

Tensor contract_reference(const Tensor& a, const Tensor& b,
                          const std::vector<int64_t>& ends) {
  std::vector<Tensor> parts;
  int64_t begin = 0;
  for (int64_t end : ends) {
    parts.push_back(at::mm(a.narrow(1, begin, end - begin),
                           b.narrow(0, begin, end - begin)));
    begin = end;
  }
  return at::stack(parts);
}

void add_rows(Rows& rows, const Routing& r, int64_t k, int64_t n) {
  std::string text = fmt::format("{} {}x{}", text_of(r), k, n);
  rows.push_back(built(
      "grouped_mm", {{{r.rows, k}}, {{r.groups, k, n}}, experts(r)},
      [r](const Vars& v) { return grouped_mm(v[0], v[1], ends(v[2], r)); },
      [r](const Tensors& t) {
        return rows_reference(t[0], t[1], ends(t[2], r));
      },
      text));
  // Weights as layers keep them, and rows that lie in columns.
  rows.push_back(built(
      "grouped_mm", {{{k, r.rows}}, {{r.groups, n, k}}, experts(r)},
      [r](const Vars& v) {
        return grouped_mm(transpose(v[0], 0, 1), transpose(v[1], 1, 2),
                          ends(v[2], r));
      },
      [r](const Tensors& t) {
        return rows_reference(t[0].t(), t[1].transpose(1, 2), ends(t[2], r));
      },
      text + " swapped"));
  rows.push_back(built(
      "grouped_mm", {{{r.groups, n, k}}, {{k, r.rows}}, experts(r)},
      [r](const Vars& v) { return grouped_mm(v[0], v[1], ends(v[2], r)); },
      [r](const Tensors& t) {
        return rows_reference(t[1].t(), t[0].transpose(1, 2), ends(t[2], r))
            .t();
      },
      text + " columns"));
}

void add_contractions(Rows& rows, const Routing& r, int64_t m, int64_t n) {
  std::string text = fmt::format("{} {}x{}", text_of(r), m, n);
  rows.push_back(built(
      "grouped_mm_contract", {{{m, r.rows}}, {{r.rows, n}}, experts(r)},
      [r](const Vars& v) { return grouped_mm(v[0], v[1], ends(v[2], r)); },
      [r](const Tensors& t) {
        return contract_reference(t[0], t[1], ends(t[2], r));
      },
      text));
  rows.push_back(built(
      "grouped_mm_contract", {{{r.rows, m}}, {{n, r.rows}}, experts(r)},
      [r](const Vars& v) {
        return grouped_mm(transpose(v[0], 0, 1), transpose(v[1], 0, 1),
                          ends(v[2], r));
      },
      [r](const Tensors& t) {
        return contract_reference(t[0].t(), t[1].t(), ends(t[2], r));
      },
      text + " swapped"));
}

}  // namespace

std::vector<Row> grouped_rows() {
  Rows rows;
  constexpr DType kLong = DType::kInt64;
  for (const Routing& r :
       {Routing{12, 4, 4}, Routing{5, 8, 8}, Routing{9, 4, 1},
        Routing{9, 4, 1, true}, Routing{9, 4, 2, true, kLong},
        Routing{10, 3, 5}, Routing{6, 1, 1}, Routing{1, 3, 3}, Routing{0, 3, 1},
        Routing{7, 3, 3, false, kLong}}) {
    add_rows(rows, r, 5, 3);
    add_contractions(rows, r, 5, 3);
  }
  Routing some{12, 4, 4};
  add_rows(rows, some, 1, 1);
  add_rows(rows, some, 0, 3);
  add_rows(rows, some, 4, 0);
  add_contractions(rows, some, 1, 1);
  add_contractions(rows, some, 0, 3);
  Routing many{200, 6, 6}, large{64, 2, 2};  // own loops, then BLAS
  add_rows(rows, many, 40, 48);
  add_contractions(rows, many, 40, 48);
  add_rows(rows, large, 192, 256);
  add_contractions(rows, large, 192, 256);
  rows.push_back(built(
      "matmul", {{{2, 3, 4}}, {{2, 4, 5}}},
      [](const Vars& v) { return grouped_mm(v[0], v[1]); },
      [](const Tensors& t) { return at::bmm(t[0], t[1]); }, "batches"));
  return rows;
}

}  // namespace braid::parity
