#include "../row.h"

namespace braid::parity {

std::vector<Row> compare_rows() { return {}; }

}  // namespace braid::parity
