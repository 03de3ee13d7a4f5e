// `braid plan --instance FILE`: the fastest plan of a planning problem that is
// given as bare numbers, and what no plan can be faster than.
#pragma once

#include <string>

#include "braid/plan/solve/solve.h"

namespace braid::cli {

struct PlanInstanceOptions {
  std::string instance;
  plan::SolveOptions solve = {};
  bool json = false;
};

// The exit code.
int plan_instance(const PlanInstanceOptions& options);

}  // namespace braid::cli
