#include "braid/passes/step/gradient_pieces.h"

#include <algorithm>

#include "braid/ops/build/functions.h"

namespace braid::passes {
namespace {

// Where the gradient of a part belongs.
struct Piece {
  Var part;
  int64_t dim = 0, start = 0, size = 0;  // size of the whole dimension
  int64_t end() const { return start + part.dim(dim); }
};

const Node& maker_of(Var x) {
  return x.graph->node(x.graph->value(x.id).producer);
}

Piece piece_of(Var gradient) {
  const Node& node = maker_of(gradient);
  int64_t dim = node.attrs.integer("dim");
  int64_t size = gradient.dim(dim), start = node.attrs.integer("start");
  if (start < 0) start += size;
  return {{gradient.graph, node.inputs[0]},
          dim,
          std::clamp<int64_t>(start, 0, size),
          size};
}

// Sorted; nothing unless they lie side by side in one dimension.
std::vector<Piece> apart(const std::vector<Var>& gradients) {
  std::vector<Piece> pieces;
  for (Var gradient : gradients) pieces.push_back(piece_of(gradient));
  std::ranges::sort(pieces, {}, &Piece::start);
  for (size_t i = 1; i < pieces.size(); ++i) {
    const Piece &before = pieces[i - 1], &piece = pieces[i];
    if (piece.dim != before.dim || piece.start < before.end()) return {};
  }
  return pieces;
}

// Zeros like the piece, of another size in its dimension.
Var zeros(const Piece& piece, int64_t size) {
  Shape shape = piece.part.shape();
  shape[static_cast<size_t>(piece.dim)] = size;
  return full_like(piece.part, shape, 0);
}

Var joined(const std::vector<Piece>& pieces) {
  std::vector<Var> parts;
  int64_t at = 0;
  for (const Piece& piece : pieces) {
    if (piece.start > at) parts.push_back(zeros(piece, piece.start - at));
    parts.push_back(piece.part);
    at = piece.end();
  }
  const Piece& last = pieces.back();
  if (at < last.size) parts.push_back(zeros(last, last.size - at));
  return cat(parts, last.dim);
}

}  // namespace

bool GradientPieces::take(ValueId of, Var gradient) {
  const Node& node = maker_of(gradient);
  if (!node.is(OpKind::kSliceBackward) || node.attrs.integer("step") != 1) {
    return false;
  }
  kept_[of].push_back(gradient);
  return true;
}

Var GradientPieces::join(ValueId of) {
  auto kept = kept_.find(of);
  if (kept == kept_.end()) return {};
  std::vector<Var> gradients = std::move(kept->second);
  kept_.erase(kept);
  if (gradients.size() > 1) {
    std::vector<Piece> pieces = apart(gradients);
    if (!pieces.empty()) return joined(pieces);
  }
  Var sum = gradients[0];
  for (size_t i = 1; i < gradients.size(); ++i) sum = add(sum, gradients[i]);
  return sum;
}

}  // namespace braid::passes
