// Partial fusion: models that differ in some layers become one graph. What
// they have in common is an array; the rest are branches of single members,
// inside the same graph. A value goes from the array to a branch by taking the
// member's part, and back by stacking the parts of all members.
//
// A branch's slots belong to their member alone (Slot::owners); numbers of
// members (hyper-parameters, counters) lie side by side in any case, so that
// dropout in a branch draws what the member alone would draw.
#pragma once

#include <vector>

#include "braid/passes/array/array.h"

namespace braid::passes {

// How much of several models is an array.
struct PartialReport {
  int64_t common = 0;        // nodes that run once for all members
  std::vector<int64_t> own;  // by member: nodes of its branches
};

// One forward graph per member; all have the same inputs and the same names of
// outputs. `options.members` is their number, whatever it says. Outputs lead
// with B; one whose type differs between members is there once for each, as
// "member.3/logits". Constants of one name and type must have the same content
// in all members. Equal graphs give what array() gives; graphs that have
// nothing in common are an error.
Graph array_of(const OpTable& ops, const std::vector<Graph>& members,
               ArrayPassOptions options);

PartialReport partial_report(const std::vector<Graph>& members);

// The share of a member's nodes that run as an array, from 0 (nothing in
// common) to 1 (equal graphs); the mean over members. Reading and writing of
// slots does not count.
double common_share(const std::vector<Graph>& members);

}  // namespace braid::passes
