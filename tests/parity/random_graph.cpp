// The generator: draws moves until the graph is long enough, then a loss over
// what was left over. It runs libtorch along on three members and on nudged
// inputs, so that no move stands at a point where results depend on the last
// bit, and values stay in a sane range.
#include "random_graph.h"

#include <algorithm>

#include "braid/base/rng.h"
#include "random_moves.h"
#include "random_tensors.h"

namespace braid::parity {
namespace {

constexpr int64_t kMostEntries = 1500;
constexpr double kLargest = 8;

const std::vector<Move>& all_moves() {
  static const std::vector<Move> moves = [] {
    std::vector<Move> all;
    for (auto add : {add_pointwise_moves, add_choice_moves, add_reduce_moves,
                     add_view_moves, add_index_moves, add_product_moves,
                     add_layer_moves}) {
      add(all);
    }
    return all;
  }();
  return moves;
}

const std::vector<Move>& loss_moves() {
  static const std::vector<Move> moves = [] {
    std::vector<Move> all;
    add_loss_moves(all);
    return all;
  }();
  return moves;
}

bool broadcasts(const Shape& a, const Shape& b) {
  for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
    int64_t x = a[a.size() - i], y = b[b.size() - i];
    if (x != y && x != 1 && y != 1) return false;
  }
  return true;
}

class Maker : public Chooser {
 public:
  Maker(uint64_t seed, DType dtype) {
    random_.seed(seed);
    graph_.dtype = dtype;
  }

  RandomGraph make() {
    graph_.steps_per_layer = static_cast<size_t>(between(2, 8));
    for (int64_t i = between(1, 3); i > 0; --i) fresh(random_shape(0, 4));
    int64_t steps = between(5, 40);
    for (int64_t made = 0, tries = 0; made < steps && tries < 400; ++tries) {
      made += try_move(one_of(all_moves())) ? 1 : 0;
    }
    add_outputs();
    add_loss();
    return std::move(graph_);
  }

  const at::Tensor& value(size_t id) const override { return values_[id][0]; }
  Tensors trials(size_t id) const override { return values_[id]; }

  std::optional<size_t> find(at::ScalarType type, const Fits& fits) override {
    std::vector<size_t> found;
    for (size_t id = 0; id < values_.size(); ++id) {
      if (hidden_.contains(id) || value(id).scalar_type() != type) continue;
      if (fits(value(id))) found.push_back(id);
    }
    if (found.empty()) return {};
    if (chance(0.5) && found.size() > 5) {
      found.erase(found.begin(), found.end() - 5);
    }
    return found[static_cast<size_t>(below(std::ssize(found)))];
  }

  std::optional<size_t> find_float(const Fits& fits) override {
    return find(float_type(graph_.dtype), fits);
  }

  size_t of_rank(int64_t low, int64_t high) override {
    auto fits = [=](const at::Tensor& t) {
      return t.dim() >= low && t.dim() <= high && t.numel() > 0;
    };
    auto found = chance(0.9) ? find_float(fits) : std::nullopt;
    return found ? *found : fresh(random_shape(low, high));
  }

  size_t any_float() override {
    auto found = find_float([](const at::Tensor&) { return true; });
    if (found && chance(0.95)) return *found;
    Shape shape = random_shape(0, 4);
    if (!shape.empty() && chance(0.1)) shape[0] = 0;
    return fresh(shape);
  }

  size_t of_shape(const Shape& shape) override {
    auto found = find_float([&](const at::Tensor& t) {
      return t.sizes() == at::IntArrayRef(shape);
    });
    return found && chance(0.6) ? *found : fresh(shape);
  }

  size_t partner(size_t x) override {
    Shape own = shape(x);
    auto found = find_float(
        [&](const at::Tensor& t) { return broadcasts(own, t.sizes().vec()); });
    if (found && chance(0.7)) return *found;
    for (int64_t& size : own) size = chance(0.3) ? 1 : size;
    own.erase(own.begin(), own.begin() + below(std::ssize(own) + 1));
    return fresh(own);
  }

  size_t parameter(const Shape& shape) override {
    return add({.type = {graph_.dtype, shape}});
  }
  size_t positive(const Shape& shape) override {
    return add({.type = {graph_.dtype, shape}, .least = 0.5});
  }
  size_t buffer(const Shape& shape, double least) override {
    size_t id = add({.kind = Given::Kind::kBuffer,
                     .type = {graph_.dtype, shape},
                     .least = least});
    hidden_.insert(id);
    buffers_.insert(id);
    return id;
  }
  size_t index(const Shape& shape, int64_t limit) override {
    return add({.kind = Given::Kind::kInput,
                .type = {DType::kInt64, shape},
                .shared = chance(0.3),
                .limit = limit});
  }
  size_t permutation(int64_t size) override {
    return add({.kind = Given::Kind::kInput,
                .type = {DType::kInt64, {size}},
                .shared = chance(0.3),
                .limit = size,
                .ordered = true});
  }

 private:
  const Move& one_of(const std::vector<Move>& moves) {
    return moves[static_cast<size_t>(below(std::ssize(moves)))];
  }

  Shape random_shape(int64_t low, int64_t high) {
    Shape shape(static_cast<size_t>(between(low, high)));
    for (int64_t& size : shape) size = between(1, 4);
    return shape;
  }

  // A parameter most of the time.
  size_t fresh(const Shape& shape) {
    Given given{.type = {graph_.dtype, shape}};
    int64_t draw = below(20);
    if (draw < 2) given.kind = Given::Kind::kFrozen;
    if (draw >= 2 && draw < 6) given.kind = Given::Kind::kInput;
    given.shared = given.kind == Given::Kind::kInput && chance(0.3);
    return add(given);
  }

  size_t add(Given given) {
    const char* names[] = {"w", "frozen", "x", "buffer"};
    given.name = fmt::format("{}{}", names[static_cast<int>(given.kind)],
                             values_.size());
    Tensors trials;
    for (int64_t trial = 0; trial < 4; ++trial) {
      trials.push_back(
          given_tensor(given, trial % 3, static_cast<uint64_t>(trial / 3)));
    }
    graph_.items.push_back(given);
    values_.push_back(std::move(trials));
    return values_.size() - 1;
  }

  // What a step yields in all trials; nothing when it does not fit.
  std::vector<Tensors> run(const Step& step) const {
    std::vector<Tensors> results;
    for (size_t trial = 0; trial < 4; ++trial) {
      Tensors operands;
      for (size_t id : step.operands) {
        bool changes = buffers_.contains(id);
        operands.push_back(changes ? values_[id][trial].clone()
                                   : values_[id][trial]);
      }
      results.push_back(step.theirs(operands));
    }
    return results;
  }

  static bool is_sane(const at::Tensor& t) {
    return t.numel() <= kMostEntries && t.dim() <= 6 &&
           (!t.is_floating_point() || t.isfinite().all().item<bool>());
  }

  static bool is_large(const at::Tensor& t) {
    return t.is_floating_point() && t.numel() > 0 &&
           t.abs().max().item<double>() > kLargest;
  }

  bool try_move(const Move& move) {
    size_t num_items = graph_.items.size(), num_values = values_.size();
    try {
      Drawn drawn = move.draw(*this);
      if (drawn) {
        drawn->name = move.name;
        if (add_step(*drawn)) return true;
      }
    } catch (const c10::Error&) {
      // libtorch does not take these operands.
    }
    graph_.items.resize(num_items);
    values_.resize(num_values);
    for (auto* set : {&hidden_, &buffers_, &used_}) {
      std::erase_if(*set, [=](size_t id) { return id >= num_values; });
    }
    return false;
  }

  bool add_step(Step step) {
    std::vector<Tensors> results = run(step);
    for (const Tensors& trial : results) {
      if (!std::all_of(trial.begin(), trial.end(), is_sane)) return false;
    }
    size_t first = values_.size();
    for (size_t i = 0; i < results[0].size(); ++i) {
      step.types.push_back(type_of(results[0][i]));
      Tensors trials;
      for (const Tensors& trial : results) trials.push_back(trial[i]);
      values_.push_back(std::move(trials));
    }
    used_.insert(step.operands.begin(), step.operands.end());
    graph_.items.push_back(std::move(step));
    for (size_t id = first; id < first + results[0].size(); ++id) tame(id);
    return true;
  }

  // Large values go on as small ones.
  void tame(size_t id) {
    Tensors trials = values_[id];
    if (!std::any_of(trials.begin(), trials.end(), is_large)) return;
    hidden_.insert(id);
    Step small =
        chance(0.5)
            ? step(
                  {id}, [](const Vars& v) { return mul_scalar(v[0], 0.1); },
                  [](const Tensors& t) { return t[0] * 0.1; })
            : step(
                  {id}, [](const Vars& v) { return softsign(v[0]); },
                  [](const Tensors& t) { return t[0] / (t[0].abs() + 1); });
    small.name = "made small";
    add_step(small);
  }

  void add_outputs() {
    for (int64_t i = below(3); i > 0; --i) {
      auto id = static_cast<size_t>(below(std::ssize(values_)));
      if (buffers_.contains(id)) continue;  // libtorch has changed them
      graph_.outputs.push_back({fmt::format("out{}", i), id});
    }
  }

  void add_loss() {
    std::vector<size_t> terms;
    auto take = [&] { terms.push_back(values_.size() - 1); };
    for (int64_t i = between(0, 2); i > 0; --i) {
      if (try_move(one_of(loss_moves()))) take();
    }
    std::vector<size_t> unused;
    for (size_t id = 0; id < values_.size(); ++id) {
      if (value(id).is_floating_point() && !hidden_.contains(id) &&
          !used_.contains(id) && (chance(0.8) || terms.empty())) {
        unused.push_back(id);
      }
    }
    unused.push_back(parameter({2}));  // there is always something to learn
    for (size_t id : unused) {
      if (add_term(id)) take();
    }
    size_t loss = terms[0];
    for (size_t i = 1; i < terms.size(); ++i) {
      Step sum = step(
          {loss, terms[i]}, [](const Vars& v) { return add_vars(v); },
          [](const Tensors& t) { return t[0] + t[1]; });
      sum.name = "add";
      if (add_step(sum)) loss = values_.size() - 1;
    }
    graph_.outputs.push_back({"loss", loss});
  }

  static Var add_vars(const Vars& v) { return braid::add(v[0], v[1]); }

  bool add_term(size_t id) {
    bool empty = value(id).numel() == 0;
    Step term = step(
        {id},
        [=](const Vars& v) {
          return empty ? sum(v[0], {}) : mean(sin(v[0]), {});
        },
        [=](const Tensors& t) {
          return empty ? t[0].sum() : t[0].sin().mean();
        });
    term.name = "term";
    return add_step(term);
  }

  RandomGraph graph_;
  std::vector<Tensors> values_;  // by value, of every trial
  std::set<size_t> hidden_;      // not to be chosen
  std::set<size_t> buffers_;
  std::set<size_t> used_;
};

}  // namespace

RandomGraph make_random_graph(uint64_t seed, DType dtype) {
  return Maker(seed, dtype).make();
}

}  // namespace braid::parity
