// Checks a Program without knowing how it was compiled: it walks the
// instructions and asks of memory, order and contents what must hold however
// long anything takes.
#pragma once

#include <string>
#include <vector>

#include "braid/ops/core/op.h"
#include "braid/plan/program.h"

namespace braid::plan {

// Problems, one line each and at most a few; none when
// - every place is used within its lifetime, and no two that are alive at one
//   instruction overlap;
// - all events complete once, are awaited only after they were issued, and
//   all are awaited before a pass ends;
// - any two uses of one memory, of which one writes, are ordered by streams
//   and events alone;
// - every call finds the values of the graph in its operands, and slots and
//   outputs end with the content that the graph gives them.
std::vector<std::string> problems_of(const OpTable& ops,
                                     const Program& program);

}  // namespace braid::plan
