#include "braid/io/run/records.h"

#include <bit>
#include <cstring>
#include <optional>
#include <span>

#include "braid/io/format/crc32.h"

static_assert(std::endian::native == std::endian::little,
              "numbers in records are little-endian");

namespace braid::io {
namespace {

constexpr size_t kLengthBytes = sizeof(uint64_t);
constexpr size_t kSumBytes = sizeof(uint32_t);
constexpr size_t kHeadBytes = kLengthBytes + kSumBytes;

// The format masks sums, so that a sum over data that holds sums is no
// special number.
uint32_t masked_sum(Bytes bytes) {
  return std::rotr(crc32c(bytes), 15) + 0xa282ead8;
}

template <class Number>
Number number_at(Bytes bytes, size_t offset) {
  Number number;
  std::memcpy(&number, bytes.data() + offset, sizeof(number));
  return number;
}

template <class Number>
void add_number(std::string& text, Number number) {
  char bytes[sizeof(number)];
  std::memcpy(bytes, &number, sizeof(number));
  text.append(bytes, sizeof(number));
}

std::optional<Record> first_record(Bytes file) {
  if (file.size() < kHeadBytes + kSumBytes) return std::nullopt;
  auto length = number_at<uint64_t>(file, 0);
  if (number_at<uint32_t>(file, kLengthBytes) !=
          masked_sum(file.first(kLengthBytes)) ||
      length > file.size() - kHeadBytes - kSumBytes) {
    return std::nullopt;
  }
  Bytes data = file.subspan(kHeadBytes, length);
  if (number_at<uint32_t>(file, kHeadBytes + length) != masked_sum(data)) {
    return std::nullopt;
  }
  return Record{file.first(kHeadBytes + length + kSumBytes), data};
}

}  // namespace

std::string record_text(std::string_view data) {
  std::string text;
  add_number<uint64_t>(text, data.size());
  add_number(text, masked_sum(std::as_bytes(std::span(text))));
  text += data;
  add_number(text, masked_sum(std::as_bytes(std::span(data))));
  return text;
}

std::vector<Record> read_records(Bytes file) {
  std::vector<Record> records;
  while (std::optional<Record> record = first_record(file)) {
    records.push_back(*record);
    file = file.subspan(record->whole.size());
  }
  return records;
}

}  // namespace braid::io
