// libFuzzer target: any bytes either are a safetensors file, all of whose
// tensors can be read, or are refused with one of our two error types.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <stdexcept>

#include "braid/io/format/safetensors.h"

namespace {

using braid::io::SafetensorsContent;

// Reads every byte, so that a span beyond the input is seen by ASan.
size_t touch(const SafetensorsContent& content) {
  size_t sum = 0;
  for (const auto& tensor : content.tensors) {
    for (std::byte byte : tensor.bytes) sum += std::to_integer<size_t>(byte);
    auto count = static_cast<size_t>(braid::num_elements(tensor.shape));
    auto item = static_cast<size_t>(braid::item_bytes(tensor.dtype));
    if (count * item != tensor.bytes.size()) std::abort();
  }
  return sum;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  volatile size_t sum = 0;
  try {
    sum = touch(
        braid::io::parse_safetensors(std::as_bytes(std::span(data, size))));
  } catch (const std::runtime_error&) {
  } catch (const std::invalid_argument&) {
  }
  return static_cast<int>(sum * 0);
}
