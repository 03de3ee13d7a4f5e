#include "braid/io/format/safetensors.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <ranges>
#include <set>
#include <unordered_set>
#include <utility>

#include "braid/base/bytes.h"
#include "braid/base/error.h"

static_assert(std::endian::native == std::endian::little,
              "the data of safetensors files is little-endian");

namespace braid::io {
namespace {

using Json = nlohmann::json;

constexpr size_t kLengthBytes = 8;
constexpr uint64_t kMaxHeaderBytes = 100'000'000;  // as the reference library
constexpr size_t kMaxRank = 64;                    // as PyTorch
constexpr int64_t kHeaderAlignment = 8;
constexpr std::string_view kMetadataKey = "__metadata__";
constexpr std::array<std::string_view, 3> kFields = {"dtype", "shape",
                                                     "data_offsets"};

struct TypeName {
  DType dtype;
  std::string_view name;
};

constexpr std::array<TypeName, 11> kTypeNames = {{
    {DType::kBool, "BOOL"},
    {DType::kUInt8, "U8"},
    {DType::kInt8, "I8"},
    {DType::kInt16, "I16"},
    {DType::kInt32, "I32"},
    {DType::kInt64, "I64"},
    {DType::kFloat16, "F16"},
    {DType::kBFloat16, "BF16"},
    {DType::kFloat32, "F32"},
    {DType::kFloat64, "F64"},
    {DType::kComplex64, "C64"},
}};

std::optional<DType> dtype_of(std::string_view name) {
  for (const TypeName& row : kTypeNames) {
    if (row.name == name) return row.dtype;
  }
  return std::nullopt;
}

std::string_view name_of(DType dtype) {
  auto row = std::ranges::find(kTypeNames, dtype, &TypeName::dtype);
  if (row == kTypeNames.end()) {
    fail_usage("[safetensors] the format has no type {}", dtype_name(dtype));
  }
  return row->name;
}

// Nothing when a size is negative or the product does not fit.
std::optional<int64_t> tensor_bytes(DType dtype, const Shape& shape) {
  int64_t bytes = item_bytes(dtype);
  for (int64_t size : shape) {
    if (size < 0 || __builtin_mul_overflow(bytes, size, &bytes)) {
      return std::nullopt;
    }
  }
  return bytes;
}

// Names come from the file and may be huge.
std::string shorten(std::string_view name) {
  constexpr size_t kLimit = 100;
  if (name.size() <= kLimit) return std::string(name);
  return fmt::format("{}...", name.substr(0, kLimit));
}

// What the header says about a tensor; the offsets count from its end.
struct Entry {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;
  std::vector<uint64_t> offsets;  // begin, end
};

// Receives the header token by token. A tree would do too, but it forgets the
// order and repeated names, and a hostile header could make it large.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(std::string_view file) : file_(file) {}

  std::vector<Entry> entries;
  Metadata metadata;

  bool start_object(size_t) override {
    if (place_ == Place::kStart) return enter(Place::kHeader);
    if (place_ != Place::kHeader) fail("an unexpected object");
    if (key_ == kMetadataKey) return enter(Place::kMetadata);
    entries.push_back({.name = key_, .shape = {}, .offsets = {}});
    fields_.clear();
    return enter(Place::kTensor);
  }

  bool key(std::string& name) override {
    bool in_header = place_ == Place::kHeader;
    if (in_header) key_ = name;
    if (place_ == Place::kTensor && !std::ranges::count(kFields, name)) {
      fail(fmt::format("the unknown field '{}'", shorten(name)));
    }
    bool is_new = in_header                  ? names_.insert(name).second
                  : place_ == Place::kTensor ? fields_.insert(name).second
                                             : !metadata.contains(name);
    if (!is_new) fail(fmt::format("'{}' occurs twice", shorten(name)));
    if (!in_header) field_ = std::move(name);
    return true;
  }

  bool end_object() override {
    if (place_ == Place::kHeader) return enter(Place::kEnd);
    if (place_ == Place::kTensor) check_fields();
    return enter(Place::kHeader);
  }

  bool start_array(size_t) override {
    if (in_field("shape")) return enter(Place::kShape);
    if (in_field("data_offsets")) return enter(Place::kOffsets);
    fail("an unexpected list");
  }

  bool end_array() override { return enter(Place::kTensor); }

  bool string(std::string& text) override {
    if (place_ == Place::kMetadata) {
      metadata.emplace(std::move(field_), std::move(text));
      return true;
    }
    if (!in_field("dtype")) fail("an unexpected string");
    std::optional<DType> dtype = dtype_of(text);
    if (!dtype) fail_dtype(text);
    entries.back().dtype = *dtype;
    return true;
  }

  bool number_unsigned(uint64_t number) override {
    if (place_ == Place::kShape) return add_size(number);
    if (place_ != Place::kOffsets) fail("an unexpected number");
    if (entries.back().offsets.size() == 2) fail("more than two data_offsets");
    entries.back().offsets.push_back(number);
    return true;
  }

  bool number_integer(int64_t number) override {
    fail(fmt::format("the negative number {}", number));
  }

  bool number_float(double, const std::string&) override {
    fail("a number that is not an integer of 64 bits");
  }

  bool null() override { fail("an unexpected null"); }
  bool boolean(bool) override { fail("an unexpected boolean"); }
  bool binary(Json::binary_t&) override { fail("unexpected bytes"); }

  bool parse_error(size_t position, const std::string&,
                   const Json::exception&) override {
    fail_world("[safetensors] {}: the header is not valid JSON at byte {}",
               file_, position);
  }

 private:
  enum class Place {
    kStart,
    kHeader,
    kMetadata,
    kTensor,
    kShape,
    kOffsets,
    kEnd
  };

  [[noreturn]] void fail(std::string_view what) const {
    fail_world("[safetensors] {}: header entry '{}': {}", file_, shorten(key_),
               what);
  }

  [[noreturn]] void fail_dtype(std::string_view name) const {
    auto known = kTypeNames | std::views::transform(&TypeName::name);
    fail_world(
        "[safetensors] {}: tensor '{}' has dtype '{}', which is not supported\n"
        "HINT: convert it to one of {}",
        file_, shorten(key_), shorten(name), fmt::join(known, ", "));
  }

  bool enter(Place place) {
    place_ = place;
    return true;
  }

  bool in_field(std::string_view name) const {
    return place_ == Place::kTensor && field_ == name;
  }

  bool add_size(uint64_t size) {
    Shape& shape = entries.back().shape;
    if (!std::in_range<int64_t>(size)) {
      fail(fmt::format("the size {} is too large", size));
    }
    if (shape.size() == kMaxRank) {
      fail(fmt::format("more than {} dimensions", kMaxRank));
    }
    shape.push_back(static_cast<int64_t>(size));
    return true;
  }

  void check_fields() const {
    for (std::string_view field : kFields) {
      if (!fields_.contains(field)) fail(fmt::format("no '{}'", field));
    }
    if (entries.back().offsets.size() != 2) fail("not two data_offsets");
  }

  std::string_view file_;
  Place place_ = Place::kStart;
  std::string key_;    // the tensor, or __metadata__
  std::string field_;  // the key inside it
  std::set<std::string, std::less<>> fields_;
  std::unordered_set<std::string> names_;
};

// Cuts the header off the file.
std::pair<std::string_view, Bytes> split_file(Bytes file,
                                              std::string_view name) {
  if (file.size() < kLengthBytes) {
    fail_world("[safetensors] {}: {} bytes are too few for a header", name,
               file.size());
  }
  uint64_t length = 0;
  std::memcpy(&length, file.data(), kLengthBytes);
  Bytes rest = file.subspan(kLengthBytes);
  if (length > kMaxHeaderBytes || length > rest.size()) {
    fail_world(
        "[safetensors] {}: a header of {} bytes does not fit (file of {}, "
        "limit {})\nHINT: the file is cut short or not a safetensors file",
        name, length, file.size(), kMaxHeaderBytes);
  }
  return {{reinterpret_cast<const char*>(rest.data()), length},
          rest.subspan(length)};
}

void read_header(std::string_view text, std::string_view name,
                 HeaderReader& reader) {
  // The JSON parser takes a zero byte for the end and would skip the rest.
  if (!text.starts_with('{') || text.find('\0') != text.npos) {
    fail_world("[safetensors] {}: the header is not a JSON object", name);
  }
  Json::sax_parse(text, &reader);
}

// Checks size and place of a tensor; `position` is the end of the one before.
Bytes take_bytes(const Entry& entry, Bytes data, uint64_t position,
                 std::string_view file) {
  uint64_t begin = entry.offsets[0], end = entry.offsets[1];
  auto fail = [&](std::string_view what) {
    fail_world("[safetensors] {}: tensor '{}' {} {} at [{}, {}) {}", file,
               shorten(entry.name), name_of(entry.dtype),
               shape_text(entry.shape), begin, end, what);
  };
  if (begin > end) fail("ends before it begins");
  if (end > data.size()) {
    fail(fmt::format("leaves the {} bytes of data", data.size()));
  }
  std::optional<int64_t> bytes = tensor_bytes(entry.dtype, entry.shape);
  if (!bytes) fail("is too large");
  if (std::cmp_not_equal(*bytes, end - begin)) {
    fail(fmt::format("needs {} bytes", *bytes));
  }
  if (begin < position) fail("overlaps another tensor");
  if (begin > position) fail("leaves a hole before it");
  return data.subspan(begin, end - begin);
}

std::vector<TensorBytes> take_tensors(std::vector<Entry> entries, Bytes data,
                                      std::string_view file) {
  std::ranges::stable_sort(entries, {}, &Entry::offsets);
  std::vector<TensorBytes> tensors;
  tensors.reserve(entries.size());
  uint64_t position = 0;
  for (Entry& entry : entries) {
    Bytes bytes = take_bytes(entry, data, position, file);
    position += bytes.size();
    tensors.push_back(
        {std::move(entry.name), entry.dtype, std::move(entry.shape), bytes});
  }
  if (position != data.size()) {
    fail_world("[safetensors] {}: {} bytes after the last tensor", file,
               data.size() - position);
  }
  return tensors;
}

std::string quote(const std::string& text) {
  try {
    return Json(text).dump();
  } catch (const Json::exception&) {
    fail_usage("[safetensors.write] the name or text '{}' is not UTF-8", text);
  }
}

[[noreturn]] void fail_size(const TensorBytes& tensor, size_t bytes) {
  fail_usage("[safetensors.write] tensor '{}' {} {} cannot have {} bytes",
             tensor.name, name_of(tensor.dtype), shape_text(tensor.shape),
             bytes);
}

// Its bytes by type and shape.
size_t checked_bytes(const TensorBytes& tensor,
                     std::unordered_set<std::string_view>& names) {
  if (tensor.name == kMetadataKey || !names.insert(tensor.name).second) {
    fail_usage("[safetensors.write] the name '{}' is {}", tensor.name,
               tensor.name == kMetadataKey ? "reserved" : "used twice");
  }
  std::optional<int64_t> bytes = tensor_bytes(tensor.dtype, tensor.shape);
  if (!bytes || tensor.shape.size() > kMaxRank) {
    fail_size(tensor, tensor.bytes.size());
  }
  return static_cast<size_t>(*bytes);
}

std::string tensor_text(const TensorBytes& tensor, size_t begin, size_t bytes) {
  return fmt::format(
      R"({}:{{"dtype":"{}","shape":[{}],"data_offsets":[{},{}]}})",
      quote(tensor.name), name_of(tensor.dtype), fmt::join(tensor.shape, ","),
      begin, begin + bytes);
}

std::string metadata_text(const Metadata& metadata) {
  std::vector<std::string> parts;
  for (const auto& [key, value] : metadata) {
    parts.push_back(quote(key) + ":" + quote(value));
  }
  return fmt::format(R"("{}":{{{}}})", kMetadataKey, fmt::join(parts, ","));
}

std::string header_text(std::span<const TensorBytes> tensors,
                        const Metadata& metadata) {
  std::vector<std::string> parts;
  if (!metadata.empty()) parts.push_back(metadata_text(metadata));
  std::unordered_set<std::string_view> names;
  size_t position = 0;
  for (const TensorBytes& tensor : tensors) {
    size_t bytes = checked_bytes(tensor, names);
    parts.push_back(tensor_text(tensor, position, bytes));
    position += bytes;
  }
  std::string text = fmt::format("{{{}}}", fmt::join(parts, ","));
  auto bytes = static_cast<int64_t>(text.size());
  text.resize(static_cast<size_t>(align_up(bytes, kHeaderAlignment)), ' ');
  return text;
}

}  // namespace

SafetensorsContent parse_safetensors(Bytes file, std::string_view name) {
  auto [text, data] = split_file(file, name);
  HeaderReader reader(name);
  read_header(text, name, reader);
  return {take_tensors(std::move(reader.entries), data, name),
          std::move(reader.metadata)};
}

SafetensorsFile SafetensorsFile::open(const std::filesystem::path& path) {
  MappedFile file(path);
  SafetensorsContent content = parse_safetensors(file.bytes(), path.string());
  return SafetensorsFile(std::move(file), std::move(content));
}

SafetensorsFile::SafetensorsFile(MappedFile file, SafetensorsContent content)
    : file_(std::move(file)), content_(std::move(content)) {
  for (size_t i = 0; i < tensors().size(); ++i) {
    index_.emplace(tensors()[i].name, i);
  }
}

std::vector<std::string> SafetensorsFile::names() const {
  std::vector<std::string> names;
  for (const TensorBytes& tensor : tensors()) names.push_back(tensor.name);
  return names;
}

const TensorBytes* SafetensorsFile::find(std::string_view name) const {
  auto found = index_.find(name);
  return found == index_.end() ? nullptr : &tensors()[found->second];
}

std::string safetensors_head(std::span<const TensorBytes> tensors,
                             const Metadata& metadata) {
  std::string header = header_text(tensors, metadata);
  uint64_t length = header.size();
  if (length > kMaxHeaderBytes) {
    fail_usage("[safetensors.write] a header of {} bytes exceeds {}", length,
               kMaxHeaderBytes);
  }
  std::string head(kLengthBytes, ' ');
  std::memcpy(head.data(), &length, kLengthBytes);
  return head + header;
}

FileSum write_safetensors(const std::filesystem::path& path,
                          std::span<const TensorBytes> tensors,
                          const Metadata& metadata) {
  std::string head = safetensors_head(tensors, metadata);
  std::vector<Bytes> pieces = {std::as_bytes(std::span(head))};
  for (const TensorBytes& tensor : tensors) {
    size_t given = tensor.bytes.size();
    if (std::cmp_not_equal(*tensor_bytes(tensor.dtype, tensor.shape), given)) {
      fail_size(tensor, given);
    }
    pieces.push_back(tensor.bytes);
  }
  return write_file_atomically(path, pieces);
}

}  // namespace braid::io
