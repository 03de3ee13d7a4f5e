// A source of your own in C++: derive from braid::own::Source and end the file
// with BRAID_SOURCE(YourClass). Compiled as a shared library, a job reads it as
//
//   data: {source: library, library: ./libmine.so, ANY_OPTION: VALUE}
//
// examples/own_source.cpp is a whole one. What the class throws becomes the
// error of the run. Only the plain functions of source_abi.h are called from
// outside, so compilers and standard libraries may differ.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "braid/data/source_abi.h"

namespace braid::own {

// One tensor of a sample; `classes` as in source_abi.h.
struct Field {
  std::string name;
  std::string dtype = "f32";  // "f32", "f64", "i64" or "bool"
  std::vector<int64_t> shape = {};
  int64_t classes = 0;
};

using Draw = BraidDraw;

// The options of the job. Those that a class did not ask for while it was made
// are refused, so that a misspelt one is no silent default.
class Options {
 public:
  explicit Options(std::map<std::string, std::string> texts)
      : texts_(std::move(texts)) {}

  bool has(const std::string& name) const {
    asked_.insert(name);
    return texts_.count(name) > 0;
  }
  std::string text(const std::string& name, const std::string& absent) const {
    return has(name) ? texts_.at(name) : absent;
  }
  std::string text(const std::string& name) const {
    if (has(name)) return texts_.at(name);
    throw std::invalid_argument("expected the option '" + name + "', got none");
  }
  int64_t whole(const std::string& name, int64_t absent) const {
    return has(name) ? convert(name, "a whole number", &read_whole) : absent;
  }
  double number(const std::string& name, double absent) const {
    return has(name) ? convert(name, "a number", &std::strtod) : absent;
  }

  // Throws for options that nobody asked for.
  void refuse_others() const {
    for (const auto& [name, text] : texts_) {
      if (asked_.count(name) > 0) continue;
      std::string known;
      for (const std::string& other : asked_) {
        known += (known.empty() ? "" : ", ") + other;
      }
      throw std::invalid_argument("unknown option '" + name +
                                  "'; there are: " + known);
    }
  }

 private:
  static int64_t read_whole(const char* text, char** end) {
    return std::strtoll(text, end, 10);
  }

  template <class Value>
  Value convert(const std::string& name, const char* what,
                Value (*read)(const char*, char**)) const {
    const std::string& text = texts_.at(name);
    char* end = nullptr;
    Value value = read(text.c_str(), &end);
    if (!text.empty() && *end == '\0') return value;
    throw std::invalid_argument("expected " + std::string(what) + " for '" +
                                name + "', got '" + text + "'");
  }

  std::map<std::string, std::string> texts_;
  mutable std::set<std::string> asked_;
};

// Samples 0 to size() - 1, which never change. A class has a constructor that
// takes `const Options&`.
class Source {
 public:
  virtual ~Source() = default;

  virtual std::vector<Field> fields() const = 0;
  virtual int64_t size() const = 0;
  // Writes one sample, field f row-major to out[f]. Several threads may call
  // it at once.
  virtual void read(int64_t index, const Draw& draw,
                    void* const* out) const = 0;
};

namespace plain {

// A source with its fields in the form of source_abi.h.
struct Opened {
  std::unique_ptr<Source> source;
  std::vector<Field> fields;
  std::vector<BraidField> plain_fields;
};

inline int fail(const char* text, char* error, size_t error_bytes) {
  if (error_bytes == 0) return 1;
  size_t bytes = std::min(std::strlen(text), error_bytes - 1);
  std::memcpy(error, text, bytes);
  error[bytes] = '\0';
  return 1;
}

// Runs a call; what it throws is a text, for an exception must not leave.
template <class Call>
int guarded(char* error, size_t error_bytes, Call call) {
  try {
    call();
    return 0;
  } catch (const std::exception& problem) {
    return fail(problem.what(), error, error_bytes);
  } catch (...) {
    return fail("an exception without a text", error, error_bytes);
  }
}

inline int read(void* state, int64_t index, const BraidDraw* draw,
                void* const* out, char* error, size_t error_bytes) {
  return guarded(error, error_bytes, [&] {
    static_cast<Opened*>(state)->source->read(index, *draw, out);
  });
}

inline void close(void* state) { delete static_cast<Opened*>(state); }

template <class Class>
int open(const BraidOption* options, size_t num_options, BraidSource* source,
         char* error, size_t error_bytes) {
  return guarded(error, error_bytes, [&] {
    std::map<std::string, std::string> texts;
    for (size_t i = 0; i < num_options; ++i) {
      texts[options[i].name] = options[i].text;
    }
    Options given(std::move(texts));
    auto opened = std::make_unique<Opened>();
    opened->source = std::make_unique<Class>(given);
    given.refuse_others();
    opened->fields = opened->source->fields();
    for (const Field& field : opened->fields) {
      opened->plain_fields.push_back({field.name.c_str(), field.dtype.c_str(),
                                      field.shape.data(), field.shape.size(),
                                      field.classes});
    }
    source->size = opened->source->size();
    source->fields = opened->plain_fields.data();
    source->num_fields = opened->plain_fields.size();
    source->read = &read;
    source->close = &close;
    source->state = opened.release();
  });
}

}  // namespace plain
}  // namespace braid::own

// The two functions of source_abi.h for a class.
#define BRAID_SOURCE(Class)                                                    \
  extern "C" __attribute__((visibility("default"))) uint32_t                   \
  braid_source_abi() {                                                         \
    return BRAID_SOURCE_ABI;                                                   \
  }                                                                            \
  extern "C" __attribute__((visibility("default"))) int braid_open_source(     \
      const BraidOption* options, size_t num_options, BraidSource* source,     \
      char* error, size_t error_bytes) {                                       \
    return braid::own::plain::open<Class>(options, num_options, source, error, \
                                          error_bytes);                        \
  }                                                                            \
  static_assert(true, "takes the semicolon")
