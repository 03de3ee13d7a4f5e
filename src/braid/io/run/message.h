// Message: one message of protocol buffers, being written field by field.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace braid::io {

// How a field's value lies in a message.
enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kText = 2, kFixed32 = 5 };

class Message {
 public:
  Message& add_number(uint32_t field, uint64_t value) {
    add_key(field, kVarint);
    add_varint(value);
    return *this;
  }
  Message& add_double(uint32_t field, double value) {
    add_key(field, kFixed64);
    add_raw(value);
    return *this;
  }
  Message& add_float(uint32_t field, float value) {
    add_key(field, kFixed32);
    add_raw(value);
    return *this;
  }
  Message& add_text(uint32_t field, std::string_view value) {
    add_key(field, kText);
    add_varint(value.size());
    text_ += value;
    return *this;
  }
  const std::string& text() const { return text_; }

 private:
  void add_key(uint32_t field, Wire wire) { add_varint(field << 3 | wire); }

  // Seven bits per byte, the lowest first; the top bit says that more follow.
  void add_varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) {
      text_ += static_cast<char>(value | 0x80);
    }
    text_ += static_cast<char>(value);
  }

  template <class Number>
  void add_raw(Number number) {
    char bytes[sizeof(number)];
    std::memcpy(bytes, &number, sizeof(number));
    text_.append(bytes, sizeof(number));
  }

  std::string text_;
};

}  // namespace braid::io
