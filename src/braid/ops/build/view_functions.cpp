// Functions that are compositions of views, expands, reshapes and cats.
#include <algorithm>
#include <numeric>

#include "braid/base/error.h"
#include "braid/ops/build/functions.h"

namespace braid {
namespace {

size_t at(int64_t dim) { return static_cast<size_t>(dim); }

Shape all_broadcast(const std::vector<Var>& xs) {
  Shape shape;
  for (const Var& x : xs) {
    shape = broadcast_shapes(shape, x.shape(), "broadcast_tensors");
  }
  return shape;
}

}  // namespace

Var stack(const std::vector<Var>& xs, int64_t dim) {
  std::vector<Var> rows;
  for (const Var& x : xs) rows.push_back(unsqueeze(x, dim));
  return cat(rows, normalize_dim(dim, xs.at(0).rank() + 1, "stack"));
}

Var repeat(Var x, Ints counts) {
  auto rank = static_cast<int64_t>(counts.size());
  if (rank < x.rank()) {
    fail_usage("[repeat] {} counts for rank {}", rank, x.rank());
  }
  Shape shape = x.shape();
  shape.insert(shape.begin(), at(rank - x.rank()), 1);
  Shape apart, spread, joined;
  for (size_t d = 0; d < counts.size(); ++d) {
    apart.insert(apart.end(), {1, shape[d]});
    spread.insert(spread.end(), {counts[d], shape[d]});
    joined.push_back(counts[d] * shape[d]);
  }
  return reshape(expand(reshape(x, apart), spread), joined);
}

Var repeat_interleave(Var x, int64_t count) {
  return repeat_interleave(reshape(x, {-1}), count, 0);
}

Var repeat_interleave(Var x, int64_t count, int64_t dim) {
  if (x.rank() == 0) x = reshape(x, {1});
  dim = normalize_dim(dim, x.rank(), "repeat_interleave");
  Var apart = unsqueeze(x, dim + 1);
  Shape spread = apart.shape(), joined = x.shape();
  spread[at(dim + 1)] = count;
  joined[at(dim)] *= count;
  return reshape(expand(apart, spread), joined);
}

std::vector<Var> broadcast_tensors(const std::vector<Var>& xs) {
  Shape shape = all_broadcast(xs);
  std::vector<Var> results;
  for (const Var& x : xs) results.push_back(expand(x, shape));
  return results;
}

std::vector<Var> unbind(Var x, int64_t dim) {
  std::vector<Var> parts;
  for (int64_t i = 0; i < x.dim(dim); ++i) parts.push_back(select(x, dim, i));
  return parts;
}

std::vector<Var> split(Var x, int64_t size, int64_t dim) {
  int64_t total = x.dim(dim);
  if (size < 0 || (size == 0 && total > 0)) {
    fail_usage("[split] parts of {} entries", size);
  }
  std::vector<Var> parts;
  int64_t start = 0;
  do {
    int64_t end = std::min(start + size, total);
    parts.push_back(slice(x, dim, start, end));
    start = end;
  } while (start < total);
  return parts;
}

std::vector<Var> split_with_sizes(Var x, const Ints& sizes, int64_t dim) {
  int64_t total = std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
  if (total != x.dim(dim)) {
    fail_usage("[split_with_sizes] {} do not add up to {}", shape_text(sizes),
               x.dim(dim));
  }
  std::vector<Var> parts;
  int64_t start = 0;
  for (int64_t size : sizes) {
    parts.push_back(slice(x, dim, start, start + size));
    start += size;
  }
  return parts;
}

std::vector<Var> chunk(Var x, int64_t count, int64_t dim) {
  if (count < 1) fail_usage("[chunk] {} parts", count);
  int64_t total = x.dim(dim);
  int64_t size = (total + count - 1) / count;
  if (total > 0) return split(x, size, dim);
  return split_with_sizes(x, Ints(at(count), 0), dim);
}

Var narrow(Var x, int64_t dim, int64_t start, int64_t length) {
  int64_t size = x.dim(dim);
  if (start < 0) start += size;
  if (start < 0 || length < 0 || start + length > size) {
    fail_usage("[narrow] {} entries from {} of {}", length, start, size);
  }
  return slice(x, dim, start, start + length);
}

Var squeeze(Var x) {
  Shape shape;
  for (int64_t size : x.shape()) {
    if (size != 1) shape.push_back(size);
  }
  return reshape(x, shape);
}

Var squeeze(Var x, Ints dims) {
  for (int64_t& d : dims) d = normalize_dim(d, x.rank(), "squeeze");
  Shape shape;
  for (int64_t d = 0; d < x.rank(); ++d) {
    bool listed = std::find(dims.begin(), dims.end(), d) != dims.end();
    if (!listed || x.dim(d) != 1) shape.push_back(x.dim(d));
  }
  return reshape(x, shape);
}

Var unflatten(Var x, int64_t dim, Shape sizes) {
  dim = normalize_dim(dim, x.rank(), "unflatten");
  int64_t known = 1;
  for (int64_t size : sizes) known *= size == -1 ? 1 : size;
  for (int64_t& size : sizes) {
    if (size == -1) size = known == 0 ? 0 : x.dim(dim) / known;
  }
  if (num_elements(sizes) != x.dim(dim)) {
    fail_usage("[unflatten] {} do not hold {} entries", shape_text(sizes),
               x.dim(dim));
  }
  Shape shape = x.shape();
  shape.erase(shape.begin() + dim);
  shape.insert(shape.begin() + dim, sizes.begin(), sizes.end());
  return reshape(x, shape);
}

Var movedim(Var x, Ints from, Ints to) {
  if (from.size() != to.size()) {
    fail_usage("[movedim] {} dimensions to {} places", from.size(), to.size());
  }
  if (x.rank() == 0) return x;
  Ints order(at(x.rank()), -1), rest;
  std::vector<bool> moved(order.size());
  for (size_t i = 0; i < from.size(); ++i) {
    int64_t source = normalize_dim(from[i], x.rank(), "movedim");
    order[at(normalize_dim(to[i], x.rank(), "movedim"))] = source;
    moved[at(source)] = true;
  }
  int64_t next = 0;
  for (int64_t& d : order) {
    while (next < x.rank() && moved[at(next)]) ++next;
    if (d == -1) d = next++;
  }
  return permute(x, order);
}

std::vector<Var> meshgrid(const std::vector<Var>& xs, bool xy) {
  Shape shape;
  for (const Var& x : xs) shape.push_back(x.numel());
  std::vector<Var> grids;
  for (size_t i = 0; i < xs.size(); ++i) {
    Shape ones(xs.size(), 1);
    ones[i] = shape[i];
    Var grid = expand(reshape(xs[i], ones), shape);
    grids.push_back(xy && xs.size() > 1 ? transpose(grid, 0, 1) : grid);
  }
  return grids;
}

}  // namespace braid
