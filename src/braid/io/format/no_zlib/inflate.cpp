#include "braid/io/format/inflate.h"

#include "braid/base/error.h"

namespace braid::io {

bool can_inflate() { return false; }

std::vector<std::byte> inflate(Bytes, uint64_t, std::string_view name) {
  fail_world(
      "[zip] {} is compressed, and this build has no zlib\n"
      "HINT: save it without compression (numpy.savez), or build where zlib's "
      "headers are",
      name);
}

}  // namespace braid::io
