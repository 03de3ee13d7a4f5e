// Programs as text, for people and tests. First the program, then its graph:
//
//   braid-program 1
//   micro_batches 2
//   memory arena=4096 host_arena=0 events=1
//   slot "fc.weight" device host
//   slot "head.weight" disk
//   allocation 0 arena bytes=512 offset=64 live=[0, 7] "fc"
//   allocation 1 host_slot bytes=512 live=[0, 7] "fc.weight"
//   inputs [0]
//   outputs [2]
//   call 0 node=3 inputs=[0, _, 1] outputs=[2] workspace=4
//   gradient "fc.weight" call=5 operand=1 allocation=3
//   unit forward segment=0
//     copy h2d 1 -> 3 event=0
//     wait [0]
//     run compute call=0
//   update
//   unit update segment=0
//     run host call=1 event=2 waits=[1]
//   graph
//   braid-graph 1
//   ...
//
// Slots that are not listed lie on the device alone. What is left out is the
// default: no event, no waits, no workspace.
#pragma once

#include <string>
#include <string_view>

#include "braid/plan/program.h"

namespace braid::plan {

std::string print_program(const Program& program);

// The program of a text; its graph borrows the rules. Everything that
// print_program shows is kept, and what is no program is refused with
// std::invalid_argument "[program text] line N: ...".
Program parse_program(std::string_view text, const TypeRules& rules);

}  // namespace braid::plan
