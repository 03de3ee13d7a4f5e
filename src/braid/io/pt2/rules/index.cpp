// Places by index.
#include "braid/base/error.h"
#include "braid/io/pt2/rule.h"

namespace braid::io::pt2 {
namespace {

// Masks choose a number of entries that only data can tell.
std::vector<Var> indices_of(RuleContext& c) {
  std::vector<Var> indices = c.tensors_or_none("indices");
  for (Var index : indices) {
    bool is_mask = index && (index.dtype() == DType::kBool ||
                             index.dtype() == DType::kUInt8);
    if (is_mask)
      fail_usage("an index by mask has a shape that depends on data");
  }
  return indices;
}

void index_rule(RuleContext& c) {
  c.give(index(c.tensor("self"), indices_of(c)));
}

// A mask with one value for all its places is a fill.
bool is_fill(RuleContext& c) {
  std::vector<Var> indices = c.tensors_or_none("indices");
  return indices.size() == 1 && indices[0] &&
         indices[0].dtype() == DType::kBool &&
         c.tensor("values").numel() == 1 && !c.flag_or("accumulate", false);
}

Var filled(Var x, Var mask, Var value) {
  Shape shape = mask.shape();
  shape.resize(x.shape().size(), 1);
  return masked_fill(x, reshape(mask, shape), reshape(value, {}));
}

void index_put_rule(RuleContext& c) {
  Var x = c.tensor("self"), values = cast(c.tensor("values"), x.dtype());
  if (is_fill(c))
    return c.give(filled(x, c.tensors_or_none("indices")[0], values));
  c.give(index_put(x, indices_of(c), values, c.flag_or("accumulate", false)));
}

void gather_rule(RuleContext& c) {
  c.give(gather(c.tensor("self"), c.integer("dim"), c.tensor("index")));
}

void take_along_dim_rule(RuleContext& c) {
  if (!c.has("dim")) fail_usage("places in the flattened value");
  c.give(
      take_along_dim(c.tensor("self"), c.tensor("indices"), c.integer("dim")));
}

void index_select_rule(RuleContext& c) {
  c.give(index_select(c.tensor("self"), c.integer("dim"), c.tensor("index")));
}

void scatter_rule(RuleContext& c) {
  if (c.has("reduce")) fail_usage("scatter with a reduction");
  Var x = c.tensor("self"), index = c.tensor("index");
  int64_t dim = c.integer("dim");
  c.give(c.is_tensor("src") ? scatter(x, dim, index, c.tensor("src"))
                            : scatter_value(x, dim, index, c.number("value")));
}

void scatter_add_rule(RuleContext& c) {
  c.give(scatter_add(c.tensor("self"), c.integer("dim"), c.tensor("index"),
                     c.tensor("src")));
}

void scatter_reduce_rule(RuleContext& c) {
  std::string reduce = c.text("reduce");
  if (reduce == "prod") fail_usage("scatter_reduce by product");
  c.give(scatter_reduce(c.tensor("self"), c.integer("dim"), c.tensor("index"),
                        c.tensor("src"), reduce,
                        c.flag_or("include_self", true)));
}

void index_add_rule(RuleContext& c) {
  Var x = c.tensor("self"), source = c.tensor("source");
  if (c.has("alpha")) source = mul_scalar(source, c.scalar("alpha"));
  int64_t dim = normalize_dim(c.integer("dim"), x.rank(), "index_add");
  std::vector<Var> indices(static_cast<size_t>(dim) + 1);
  indices.back() = c.tensor("index");
  c.give(index_put(x, indices, source, true));
}

void slice_scatter_rule(RuleContext& c) {
  Var x = c.tensor("self");
  int64_t dim =
      normalize_dim(c.integer_or("dim", 0), x.rank(), "slice_scatter");
  int64_t size = x.dim(dim), start = c.integer_or("start", 0);
  int64_t end = std::min(c.integer_or("end", size), size);
  c.give(slice_scatter(x, c.tensor("src"), dim,
                       start < 0 ? start + size : start,
                       end < 0 ? end + size : end, c.integer_or("step", 1)));
}

void select_scatter_rule(RuleContext& c) {
  Var x = c.tensor("self");
  int64_t dim = normalize_dim(c.integer("dim"), x.rank(), "select_scatter");
  int64_t index = c.integer("index");
  c.give(select_scatter(x, c.tensor("src"), dim,
                        index < 0 ? index + x.dim(dim) : index));
}

// Without frequencies and norms, which change the table itself.
void embedding_rule(RuleContext& c) {
  if (c.flag_or("scale_grad_by_freq", false)) {
    fail_usage("embedding with scale_grad_by_freq");
  }
  Var weight = c.tensor("weight");
  int64_t padding = c.integer_or("padding_idx", -1);
  c.give(embedding(weight, c.tensor("indices"), padding));
}

}  // namespace

void add_index_rules(Rules& rules) {
  rules.insert({
      {"index", index_rule},
      {"index_put", index_put_rule},
      {"gather", gather_rule},
      {"take_along_dim", take_along_dim_rule},
      {"index_select", index_select_rule},
      {"scatter", scatter_rule},
      {"scatter_add", scatter_add_rule},
      {"scatter_reduce", scatter_reduce_rule},
      {"index_add", index_add_rule},
      {"slice_scatter", slice_scatter_rule},
      {"select_scatter", select_scatter_rule},
      {"embedding", embedding_rule},
  });
}

}  // namespace braid::io::pt2
