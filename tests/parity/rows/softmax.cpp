#include "../row.h"

namespace braid::parity {

std::vector<Row> softmax_rows() { return {}; }

}  // namespace braid::parity
