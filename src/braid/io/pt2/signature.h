// The signature of an exported program: what its inputs and outputs are.
#pragma once

#include <string>
#include <vector>

#include "braid/io/pt2/exported.h"
#include "braid/io/pt2/json_tree.h"

namespace braid::io::pt2 {

// Fills inputs, outputs and user_inputs from "graph_module"; the graph was
// read before. One spec belongs to each input and output of the graph, with
// the same value; buffers and inputs that are mutated exist.
void read_signature(const JsonPlace& graph_module, ExportedProgram& program);

}  // namespace braid::io::pt2
