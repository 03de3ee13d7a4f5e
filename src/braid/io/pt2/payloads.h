// The tensors of a .pt2 archive: what its two lists say about them, and where
// their bytes lie.
#pragma once

#include <string_view>
#include <vector>

#include "braid/io/pt2/archive.h"
#include "braid/io/pt2/exported.h"
#include "braid/io/pt2/json_tree.h"

namespace braid::io::pt2 {

// Reads a list such as data/weights/model_weights_config.json; the bytes lie
// in `folder` ("data/weights/"). Each tensor is known to lie inside its bytes
// and to have the type of the others that share them; sorted by name.
std::vector<StoredTensor> read_payloads(const JsonPlace& config,
                                        const Archive& archive,
                                        std::string_view folder);

// Every parameter, buffer and constant of the signature has to be stored,
// with the type and sizes that the graph gives it.
void check_stored(const ExportedProgram& program, Problems& problems);

}  // namespace braid::io::pt2
