// Shared by the tests of this folder: files in the exact formats, as text,
// and what every reader must bear.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "data/samples.h"

namespace braid::data {

inline std::string big_endian(uint64_t number, int bytes) {
  std::string text;
  for (int i = bytes; i-- > 0;) text += static_cast<char>(number >> (8 * i));
  return text;
}

inline std::string little_endian(uint64_t number, int bytes) {
  std::string text;
  for (int i = 0; i < bytes; ++i) text += static_cast<char>(number >> (8 * i));
  return text;
}

// The numbers 0, 1, 2, ... as bytes, around after 256.
inline std::string counting_bytes(size_t count, size_t first = 0) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += static_cast<char>(first + i);
  return text;
}

inline std::string idx_text(char type, const std::vector<uint32_t>& sizes,
                            const std::string& data) {
  std::string text = {0, 0, type, static_cast<char>(sizes.size())};
  for (uint32_t size : sizes) text += big_endian(size, 4);
  return text + data;
}

// As numpy.save writes it: the data begin at a multiple of 64.
inline std::string npy_text(const std::string& descr, const std::string& shape,
                            const std::string& data, char version = 1,
                            const std::string& fortran = "False") {
  std::string dict = "{'descr': '" + descr + "', 'fortran_order': " + fortran +
                     ", 'shape': " + shape + ", }";
  int length_bytes = version == 1 ? 2 : 4;
  while ((8 + static_cast<size_t>(length_bytes) + dict.size() + 1) % 64 != 0) {
    dict += ' ';
  }
  dict += '\n';
  return std::string("\x93NUMPY") + version + '\0' +
         little_endian(dict.size(), length_bytes) + dict + data;
}

template <class T>
std::string bytes_text(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()),
          values.size() * sizeof(T)};
}

// Reads every sample.
inline void read_all(const Dataset& dataset) {
  for (int64_t i = 0; i < dataset.size(); ++i) sample_of(dataset, i);
}

// Opens a source on a file in `scratch` and reads all of it.
inline void open_and_read(const std::string& source, const Texts& texts,
                          const ScratchDirectory& scratch) {
  read_all(*open_source(source, texts, scratch.path()));
}

// Every beginning of a good file is refused as the world's mistake, with the
// name of the file.
inline void refuses_every_beginning(const std::string& source,
                                    const Texts& texts, const std::string& name,
                                    const std::string& good) {
  ScratchDirectory scratch(io::fast_parent());
  for (size_t length = 0; length < good.size(); ++length) {
    write_text(scratch.path() / name, good.substr(0, length));
    std::string message = error_of<std::runtime_error>(
        [&] { open_and_read(source, texts, scratch); });
    ASSERT_NE(message.find(name), message.npos) << length << ": " << message;
  }
}

// A good file with any one byte changed is either read or refused.
inline void bears_every_change(const std::string& source, const Texts& texts,
                               const std::string& name,
                               const std::string& good) {
  ScratchDirectory scratch(io::fast_parent());
  for (size_t at = 0; at < good.size(); ++at) {
    for (char mask : {'\x01', '\x10', '\x80', '\xFF'}) {
      std::string bad = good;
      bad[at] = static_cast<char>(bad[at] ^ mask);
      write_text(scratch.path() / name, bad);
      try {
        open_and_read(source, texts, scratch);
      } catch (const std::runtime_error&) {
      } catch (const std::invalid_argument&) {
      }
    }
  }
}

}  // namespace braid::data
