// Moves of the random graphs: a table with one row per move. A move looks at
// the values there are, chooses operands, and says its step in both tongues.
#pragma once

#include <optional>
#include <random>

#include "braid/ops/build/functions.h"
#include "random_graph.h"

namespace braid::parity {

// Chooses among the values of a graph in the making.
class Chooser {
 public:
  virtual ~Chooser() = default;

  int64_t below(int64_t limit) {
    return std::uniform_int_distribution<int64_t>(0, limit - 1)(random_);
  }
  int64_t between(int64_t low, int64_t high) {
    return low + below(high - low + 1);
  }
  bool chance(double p) { return below(1000) < static_cast<int64_t>(p * 1000); }

  // The value as member 0 has it, and as all the trial runs have it.
  virtual const at::Tensor& value(size_t id) const = 0;
  virtual Tensors trials(size_t id) const = 0;
  Shape shape(size_t id) const { return value(id).sizes().vec(); }
  int64_t rank(size_t id) const { return value(id).dim(); }

  using Fits = std::function<bool(const at::Tensor&)>;
  // A float that fits, when there is one.
  virtual std::optional<size_t> find_float(const Fits& fits) = 0;
  virtual std::optional<size_t> find(at::ScalarType type, const Fits& fits) = 0;
  // A float of some rank with something in it; a fresh one where none fits.
  virtual size_t of_rank(int64_t low, int64_t high) = 0;
  // A float of any size, 0 too.
  virtual size_t any_float() = 0;
  // One of this shape; mostly an old one when there is any.
  virtual size_t of_shape(const Shape& shape) = 0;
  // One that broadcasts with x.
  virtual size_t partner(size_t x) = 0;

  virtual size_t parameter(const Shape& shape) = 0;
  virtual size_t positive(const Shape& shape) = 0;
  virtual size_t buffer(const Shape& shape, double least) = 0;
  virtual size_t index(const Shape& shape, int64_t limit) = 0;
  virtual size_t permutation(int64_t size) = 0;

 protected:
  std::mt19937_64 random_;
};

// What a move decided; nothing when it does not fit.
using Drawn = std::optional<Step>;

struct Move {
  std::string name;
  std::function<Drawn(Chooser&)> draw;
};

// Steps with one result.
inline Step step(std::vector<size_t> operands,
                 std::function<Var(const Vars&)> ours,
                 std::function<at::Tensor(const Tensors&)> theirs) {
  return {{},
          std::move(operands),
          [ours](const Vars& v) { return Vars{ours(v)}; },
          [theirs](const Tensors& t) { return Tensors{theirs(t)}; }};
}

inline std::optional<at::Tensor> given(const at::Tensor& t) {
  return t.defined() ? std::optional(t) : std::nullopt;
}

// No entry lies close to `point`, unless it is there in every trial.
bool is_clear_of(const Chooser& c, size_t x, double point);
// Entries along `dim` are all different, in every trial.
bool has_no_ties(const Chooser& c, size_t x, int64_t dim);

void add_pointwise_moves(std::vector<Move>& moves);
void add_choice_moves(std::vector<Move>& moves);
void add_reduce_moves(std::vector<Move>& moves);
void add_view_moves(std::vector<Move>& moves);
void add_index_moves(std::vector<Move>& moves);
void add_product_moves(std::vector<Move>& moves);
void add_layer_moves(std::vector<Move>& moves);
// Moves that end in one number.
void add_loss_moves(std::vector<Move>& moves);

}  // namespace braid::parity
