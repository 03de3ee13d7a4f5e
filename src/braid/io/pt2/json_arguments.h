// The small pieces of an exported graph: arguments, sizes, tensor metas.
#pragma once

#include <string_view>

#include "braid/io/pt2/exported.h"
#include "braid/io/pt2/json_tree.h"

namespace braid::io::pt2 {

constexpr size_t kMaxRank = 64;  // as PyTorch

// {"as_tensor": {"name": "x"}} and the other kinds; unknown ones are kOther.
Argument read_argument(const JsonPlace& place);

// {"name": "x"}: how signatures name tensors.
Argument read_tensor_name(const JsonPlace& place);

// {"as_int": 3} or {"as_expr": {"expr_str": ..., "hint": {"as_int": 3}}}
Size read_size(const JsonPlace& place);

// Sizes, strides and offset are known not to be negative, and the number of
// bytes to fit into 64 bits (of symbols: at the values of the export).
TensorMeta read_tensor_meta(const JsonPlace& place);

}  // namespace braid::io::pt2
