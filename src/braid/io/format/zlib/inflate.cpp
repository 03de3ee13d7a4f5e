#include "braid/io/format/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <exception>
#include <limits>
#include <optional>

#include "braid/base/error.h"

namespace braid::io {
namespace {

// Deflate packs 258 bytes into two bits at best.
constexpr uint64_t kMostRatio = 1032;

// zlib counts in `unsigned`: long contents go through it in pieces.
constexpr size_t kPiece = std::numeric_limits<uInt>::max() / 2;

class Inflater {
 public:
  explicit Inflater(std::string_view name) : name_(name) {
    if (inflateInit2(&stream_, -MAX_WBITS) != Z_OK) {
      fail_world("[zip] no memory to unpack {}", name_);
    }
  }
  ~Inflater() { inflateEnd(&stream_); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  void run(Bytes packed, std::vector<std::byte>& out) {
    size_t taken = 0, made = 0;
    for (int status = Z_OK; status != Z_STREAM_END;) {
      size_t in = std::min(packed.size() - taken, kPiece);
      size_t room = std::min(out.size() - made, kPiece);
      // zlib takes no null, not even with no room behind it.
      Bytef none = 0;
      stream_.next_in = const_cast<Bytef*>(
          reinterpret_cast<const Bytef*>(packed.data() + taken));
      stream_.avail_in = static_cast<uInt>(in);
      stream_.next_out =
          out.empty() ? &none : reinterpret_cast<Bytef*>(out.data() + made);
      stream_.avail_out = static_cast<uInt>(room);
      status = ::inflate(&stream_, Z_NO_FLUSH);
      taken += in - stream_.avail_in;
      made += room - stream_.avail_out;
      if (status != Z_OK && status != Z_STREAM_END) fail(taken);
    }
    if (taken != packed.size() || made != out.size()) fail(taken);
  }

 private:
  [[noreturn]] void fail(size_t offset) const {
    fail_world("[zip] {} cannot be unpacked (byte {} of it)", name_, offset);
  }

  std::string_view name_;
  z_stream stream_ = {};
};

}  // namespace

bool can_inflate() { return true; }

std::vector<std::byte> inflate(Bytes packed, uint64_t whole_bytes,
                               std::string_view name) {
  if (whole_bytes / kMostRatio > packed.size()) {
    fail_world("[zip] {} of {} bytes cannot unpack to {}", name, packed.size(),
               whole_bytes);
  }
  std::vector<std::byte> out;
  try {
    out.resize(whole_bytes);
  } catch (const std::exception&) {
    fail_world("[zip] no memory to unpack {} to {} bytes", name, whole_bytes);
  }
  Inflater(name).run(packed, out);
  return out;
}

}  // namespace braid::io
