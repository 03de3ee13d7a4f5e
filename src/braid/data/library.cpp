// Samples that a shared library gives: source_abi.h has what passes between.
#include <dlfcn.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <optional>
#include <set>
#include <utility>

#include "braid/base/error.h"
#include "braid/base/printable.h"
#include "braid/data/file_cursor.h"
#include "braid/data/source_abi.h"
#include "braid/data/source_rows.h"

namespace braid::data {
namespace {

namespace fs = std::filesystem;
using Kind = Option::Kind;

constexpr size_t kErrorBytes = 4096;
constexpr size_t kMaxFields = 1024, kMaxRank = 64;

// A text that the library writes. It may write too much of it or no end.
class ErrorText {
 public:
  char* data() { return text_.data(); }
  size_t size() const { return kErrorBytes; }
  std::string text() const {
    std::string text(text_.data(), ::strnlen(text_.data(), kErrorBytes));
    return text.empty() ? "it gave no reason" : text;
  }

 private:
  std::array<char, kErrorBytes + 1> text_ = {};
};

// Loaded for as long as the process lives: its threads and statics would not
// survive being unloaded.
class Library {
 public:
  Library(std::string who, const fs::path& path)
      : who_(std::move(who)), path_(fs::absolute(path)) {
    if (!fs::exists(path_)) {
      io::fail_file(who_, "cannot load", path_, ENOENT);
    }
    handle_ = ::dlopen(path_.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle_) {
      const char* reason = ::dlerror();
      fail_world("[{}] cannot load '{}': {}", who_, path_.string(),
                 reason ? reason : "no reason is known");
    }
    check_version();
  }

  template <class Function>
  Function* find(const char* name) const {
    void* symbol = ::dlsym(handle_, name);
    if (!symbol) {
      fail_world(
          "[{}] expected a function {} in '{}', got none\n"
          "HINT: in C++ the source ends with BRAID_SOURCE(Class), see "
          "braid/data/own_source.h",
          who_, name, path_.string());
    }
    return reinterpret_cast<Function*>(symbol);
  }

  const std::string& who() const { return who_; }
  std::string path() const { return path_.string(); }

  // Runs a call of the library that returns 0 when all is well.
  template <class Call>
  void run(const std::string& what, Call call) const {
    ErrorText error;
    std::string thrown;
    int result = 0;
    try {
      result = call(error.data(), error.size());
    } catch (const std::exception& problem) {
      thrown = problem.what();
    } catch (...) {
      thrown = "an exception without a text";
    }
    if (result == 0 && thrown.empty()) return;
    fail_world("[{}] {}: {} ({})", who_, what,
               thrown.empty() ? error.text() : thrown, path());
  }

 private:
  void check_version() const {
    uint32_t version = find<uint32_t()>("braid_source_abi")();
    if (version == BRAID_SOURCE_ABI) return;
    fail_world(
        "[{}] expected version {} of braid/data/source_abi.h, got {} ({})\n"
        "HINT: compile the library again with the headers of this Braid",
        who_, BRAID_SOURCE_ABI, version, path());
  }

  std::string who_;
  fs::path path_;
  void* handle_ = nullptr;
};

std::optional<DType> dtype_of(const char* name) {
  std::optional<DType> dtype = name ? find_dtype(name) : std::nullopt;
  bool is_known = dtype == DType::kFloat32 || dtype == DType::kFloat64 ||
                  dtype == DType::kInt64 || dtype == DType::kBool;
  return is_known ? dtype : std::nullopt;
}

// The bytes of a sample must be few enough to count.
bool is_shape(const Shape& shape, DType dtype) {
  int64_t bytes = item_bytes(dtype);
  for (int64_t size : shape) {
    if (size < 1 || __builtin_mul_overflow(bytes, size, &bytes)) return false;
  }
  return true;
}

class FieldReader {
 public:
  explicit FieldReader(const Library& library) : library_(library) {}

  std::vector<Field> read(const BraidSource& source) {
    bool has_fields = source.num_fields > 0 && source.fields;
    if (!has_fields || source.num_fields > kMaxFields) {
      fail(fmt::format("expected 1 to {} fields, got {}", kMaxFields,
                       source.fields ? source.num_fields : 0));
    }
    if (!source.read) fail("expected a function 'read', got none");
    std::vector<Field> fields;
    for (size_t i = 0; i < source.num_fields; ++i) {
      fields.push_back(read(source.fields[i], i));
    }
    return fields;
  }

 private:
  [[noreturn]] void fail(const std::string& text) const {
    fail_world("[{}] {} ({})", library_.who(), text, library_.path());
  }

  Field read(const BraidField& field, size_t number) {
    if (!field.name || !*field.name || !names_.insert(field.name).second) {
      fail(fmt::format("expected a name of its own for field {}, got '{}'",
                       number, field.name ? printable(field.name) : ""));
    }
    std::string name = printable(field.name);
    std::optional<DType> dtype = dtype_of(field.dtype);
    if (!dtype) {
      fail(
          fmt::format("expected f32, f64, i64 or bool as type of '{}', got "
                      "'{}'",
                      name, field.dtype ? printable(field.dtype) : ""));
    }
    bool has_shape = field.rank == 0 || field.shape;
    if (field.rank > kMaxRank || !has_shape) {
      fail(fmt::format("expected at most {} dimensions of '{}', got {}",
                       kMaxRank, name, field.rank));
    }
    Shape shape(field.shape, field.shape + field.rank);
    if (!is_shape(shape, *dtype)) {
      fail(fmt::format("'{}' cannot have the shape {}", name,
                       shape_text(shape)));
    }
    if (field.classes < 0 || (field.classes > 0 && dtype != DType::kInt64)) {
      fail(fmt::format("'{}' is {} and cannot have {} classes", name,
                       dtype_name(*dtype), field.classes));
    }
    return {field.name, *dtype, shape, field.classes,
            !is_floating(*dtype)};  // classes are checked as they are read
  }

  const Library& library_;
  std::set<std::string> names_;
};

// Closes what the library opened.
class Handle {
 public:
  Handle(const Library& library, const std::vector<BraidOption>& options) {
    auto* open = library.find<decltype(braid_open_source)>("braid_open_source");
    library.run("cannot be opened", [&](char* error, size_t bytes) {
      return open(options.data(), options.size(), &source_, error, bytes);
    });
  }
  ~Handle() {
    if (source_.close) source_.close(source_.state);
  }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  const BraidSource& operator*() const { return source_; }
  const BraidSource* operator->() const { return &source_; }

 private:
  BraidSource source_ = {};
};

class OwnSamples : public Dataset {
 public:
  OwnSamples(const Library& library, std::unique_ptr<const Handle> handle)
      : Dataset(library.path(), FieldReader(library).read(**handle),
                (*handle)->size),
        library_(library),
        handle_(std::move(handle)) {}

  void read(int64_t index, const Draw& draw,
            std::span<std::byte* const> out) const override {
    std::vector<void*> places(out.begin(), out.end());
    BraidDraw plain{draw.seed, draw.epoch};
    const BraidSource& source = **handle_;
    library_.run(fmt::format("sample {}", index),
                 [&](char* error, size_t bytes) {
                   return source.read(source.state, index, &plain,
                                      places.data(), error, bytes);
                 });
    for (size_t f = 0; f < out.size(); ++f) check_values(index, f, out[f]);
  }

 private:
  void check_values(int64_t index, size_t number, std::byte* out) const {
    const Field& field = fields()[number];
    if (field.dtype == DType::kBool) {  // any byte but 0 is true
      for (std::byte& byte : std::span(out, sample_bytes(field))) {
        byte = std::byte{byte != std::byte{0}};
      }
    }
    if (field.classes == 0) return;
    std::span values(reinterpret_cast<const int64_t*>(out),
                     sample_bytes(field) / sizeof(int64_t));
    for (int64_t value : values) {
      if (value >= 0 && value < field.classes) continue;
      fail_world("[{}] expected a class from 0 to {}, got {} ({}, {})",
                 library_.who(), field.classes - 1, value, field.name,
                 place(number, index));
    }
  }

  Library library_;
  std::unique_ptr<const Handle> handle_;
};

// What goes to the library: all that Braid has no use for itself, and paths.
Texts passed_on(const Options& options) {
  Texts texts = options.texts();
  texts.erase("library");
  texts.erase("limit");
  for (const char* name : {"file", "folder"}) {
    if (options.has(name)) {
      texts[name] = fs::absolute(options.path(name)).string();
    }
  }
  if (!options.has("files")) return texts;
  std::string& files = texts["files"];
  files.clear();
  for (const auto& [field, path] : options.files("files")) {
    files += fmt::format("{}{}={}", files.empty() ? "" : ",", field,
                         fs::absolute(path).string());
  }
  return texts;
}

DatasetPtr open_library(const Options& options) {
  Library library(options.who(), options.path("library"));
  Texts texts = passed_on(options);
  std::vector<BraidOption> plain;
  for (const auto& [name, text] : texts) {
    plain.push_back({name.c_str(), text.c_str()});
  }
  return std::make_shared<OwnSamples>(
      library, std::make_unique<const Handle>(library, plain));
}

}  // namespace

Source library_source() {
  return {"library",
          "a shared library of your own that gives samples: "
          "[examples/own_source.cpp](../examples/own_source.cpp)",
          "as the library says",
          {{"library", Kind::kPath, "", "to load: ./libmine.so", {}, true},
           {"file", Kind::kPath, "", "goes to the library, as a whole path"},
           {"folder", Kind::kPath, "", "the same"},
           {"files", Kind::kFiles, "", "the same, of each file"},
           any_option("goes to the library as it is written")},
          open_library};
}

}  // namespace braid::data
