// Products of matrices and distances.
#include "braid/base/error.h"
#include "braid/io/pt2/rule.h"

namespace braid::io::pt2 {
namespace {

void linear_rule(RuleContext& c) {
  c.give(
      linear(c.tensor("input"), c.tensor("weight"), c.tensor_or_none("bias")));
}

void matmul_rule(RuleContext& c) {
  c.give(matmul(c.tensor("self"), c.tensor("other")));
}

void mm_rule(RuleContext& c) { c.give(mm(c.tensor("self"), c.tensor("mat2"))); }

void bmm_rule(RuleContext& c) {
  c.give(bmm(c.tensor("self"), c.tensor("mat2")));
}

// `input`, `weight`, `offs` are those of the fallback in transformers.
void grouped_mm_rule(RuleContext& c) {
  if (c.has("bias")) fail_usage("products in groups with a bias");
  bool is_aten = c.has("self");
  Var y = grouped_mm(c.tensor(is_aten ? "self" : "input"),
                     c.tensor(is_aten ? "mat2" : "weight"),
                     c.tensor_or_none("offs"));
  c.give(cast(y, c.type_or_result("out_dtype")));
}

void mv_rule(RuleContext& c) { c.give(mv(c.tensor("self"), c.tensor("vec"))); }

void dot_rule(RuleContext& c) {
  c.give(dot(c.tensor("self"), c.tensor("tensor")));
}

void outer_rule(RuleContext& c) {
  c.give(outer(c.tensor("self"), c.tensor("vec2")));
}

void addmm_rule(RuleContext& c) {
  c.give(addmm(c.tensor("self"), c.tensor("mat1"), c.tensor("mat2"),
               c.number_or("beta", 1), c.number_or("alpha", 1)));
}

void addmv_rule(RuleContext& c) {
  c.give(addmv(c.tensor("self"), c.tensor("mat"), c.tensor("vec"),
               c.number_or("beta", 1), c.number_or("alpha", 1)));
}

void baddbmm_rule(RuleContext& c) {
  c.give(baddbmm(c.tensor("self"), c.tensor("batch1"), c.tensor("batch2"),
                 c.number_or("beta", 1), c.number_or("alpha", 1)));
}

void einsum_rule(RuleContext& c) {
  c.give(einsum(c.text("equation"), c.tensors("tensors")));
}

void tensordot_rule(RuleContext& c) {
  c.give(tensordot(c.tensor("self"), c.tensor("other"), c.ints("dims_self"),
                   c.ints("dims_other")));
}

void bilinear_rule(RuleContext& c) {
  c.give(bilinear(c.tensor("input1"), c.tensor("input2"), c.tensor("weight"),
                  c.tensor_or_none("bias")));
}

void cosine_similarity_rule(RuleContext& c) {
  c.give(cosine_similarity(c.tensor("x1"), c.tensor("x2"),
                           c.integer_or("dim", 1), c.number_or("eps", 1e-8)));
}

void pairwise_distance_rule(RuleContext& c) {
  c.give(pairwise_distance(c.tensor("x1"), c.tensor("x2"), c.number_or("p", 2),
                           c.number_or("eps", 1e-6),
                           c.flag_or("keepdim", false)));
}

void cdist_rule(RuleContext& c) {
  c.give(cdist(c.tensor("x1"), c.tensor("x2"), c.number_or("p", 2)));
}

}  // namespace

void add_product_rules(Rules& rules) {
  rules.insert({
      {"linear", linear_rule},
      {"matmul", matmul_rule},
      {"mm", mm_rule},
      {"bmm", bmm_rule},
      {"_grouped_mm", grouped_mm_rule},
      {"transformers.grouped_mm_fallback", grouped_mm_rule},
      {"mv", mv_rule},
      {"dot", dot_rule},
      {"outer", outer_rule},
      {"addmm", addmm_rule},
      {"addmv", addmv_rule},
      {"baddbmm", baddbmm_rule},
      {"einsum", einsum_rule},
      {"tensordot", tensordot_rule},
      {"bilinear", bilinear_rule},
      {"cosine_similarity", cosine_similarity_rule},
      {"pairwise_distance", pairwise_distance_rule},
      {"cdist", cdist_rule},
  });
}

}  // namespace braid::io::pt2
