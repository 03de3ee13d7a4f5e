// Graphs as text, for people, tests and files. One statement per line, `#`
// begins a comment:
//
//   braid-graph 1
//   slot "fc.weight" f32[32, 16] parameter uniform(-0.25, 0.25)
//   slot "bn.mean" f32[6] buffer constant(0.0) members=3 alias="m" frozen
//   slot "member.1/head.bias" f32[5] parameter constant(0.0) owners=[1]
//   slot "p" f64[] hyper constant(0.1) members=1 inits(constant(0.3))
//   slot "anything" i64[] counter constant(0.0) use=step
//   slot "constant/0" i16[2] constant constant(0.0) content="01000200"
//   input %0 "x" f32[16, 16]
//   %1: f32[32, 16] = read "fc.weight" @"fc"
//   %2: f32[16, 32] = linear(%0, %1, _) {members=3, dims=[1, 2]} @"fc"
//   %3: f32[16, 32], %4: f32[6] = foo(%2) @"fc" backward segment=2 rng=0x1f
//   %5 "name": f32[32, 16] strides[1, 32] offset=4 = permute(%3)
//   assign "bn.mean" (%4) update
//   output "loss" %5
//
// `_` is a missing optional input. What is left out is the default: forward,
// row-major, no path, segment 0, no rng key; of a slot the use that its name
// tells (slot_use.h). Contents of more than 4 KiB are not printed: there stands
// the mark content=?. Op and attribute names that are not plain words are
// quoted. Value numbers are free; the printer counts from 0, inputs first, so
// they are not the ids of a graph that had nodes removed.
#pragma once

#include <string>
#include <string_view>

#include "braid/graph/graph.h"

namespace braid {

// The text of a graph. Also prints graphs that verify() would refuse, then
// with marks ('?') that parse_graph() does not take.
std::string print_graph(const Graph& graph);

// The graph of a text, verified; it borrows the rules. Everything that
// print_graph shows is kept (of a NaN only the sign). Safe on text from
// anywhere: each problem is std::invalid_argument "[graph text] line N: ...".
Graph parse_graph(std::string_view text, const TypeRules& rules);

}  // namespace braid
