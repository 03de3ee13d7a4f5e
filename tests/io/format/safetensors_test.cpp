#include "braid/io/format/safetensors.h"

#include <cstring>
#include <utility>

#include "io/scratch.h"

namespace braid::io {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;

std::string length_text(uint64_t length) {
  std::string text(8, '\0');
  std::memcpy(text.data(), &length, 8);
  return text;
}

std::string file_text(const std::string& header, const std::string& data) {
  return length_text(header.size()) + header + data;
}

// Written by safetensors 0.8.0 for Python: `save` of eight tensors, one of
// each type, one without elements and one without dimensions.
const std::string kReferenceHeader =
    R"({"__metadata__":{"format":"pt"},)"
    R"("i":{"dtype":"I64","shape":[1],"data_offsets":[0,8]},)"
    R"("s":{"dtype":"F64","shape":[],"data_offsets":[8,16]},)"
    R"("e":{"dtype":"F32","shape":[0,3],"data_offsets":[16,16]},)"
    R"("w":{"dtype":"F32","shape":[2,2],"data_offsets":[16,32]},)"
    R"("j":{"dtype":"I32","shape":[2],"data_offsets":[32,40]},)"
    R"("h":{"dtype":"BF16","shape":[2],"data_offsets":[40,44]},)"
    R"("u":{"dtype":"U8","shape":[1],"data_offsets":[44,45]},)"
    R"("b":{"dtype":"BOOL","shape":[3],"data_offsets":[45,48]}})"
    "       ";
const std::string kReferenceData =
    "\xfb\xff\xff\xff\xff\xff\xff\xff"
    "\x00\x00\x00\x00\x00\x00\x00\x40"
    "\x00\x00\xc0\x3f\x00\x00\x00\xc0\x00\x00\x80\x3e\x00\x00\x80\x40"
    "\xff\xff\xff\xff\x02\x00\x00\x00"
    "\x80\x3f\x80\xbf"
    "\x07"
    "\x01\x00\x01"s;
const std::string kReferenceFile =
    "\xe0\x01\x00\x00\x00\x00\x00\x00"s + kReferenceHeader + kReferenceData;

template <class T>
std::vector<T> values_of(const TensorBytes& tensor) {
  std::vector<T> values(tensor.bytes.size() / sizeof(T));
  std::memcpy(values.data(), tensor.bytes.data(), tensor.bytes.size());
  return values;
}

SafetensorsFile open_text(const ScratchDirectory& scratch,
                          const std::string& text) {
  write_text(scratch.path() / "f.safetensors", text);
  return SafetensorsFile::open(scratch.path() / "f.safetensors");
}

TEST(Safetensors, reads_a_file_of_the_reference_library) {
  ScratchDirectory scratch;
  SafetensorsFile file = open_text(scratch, kReferenceFile);
  EXPECT_EQ(file.names(),
            (std::vector<std::string>{"i", "s", "e", "w", "j", "h", "u", "b"}));
  EXPECT_EQ(file.metadata(), (Metadata{{"format", "pt"}}));
  EXPECT_EQ(values_of<int64_t>(*file.find("i")), std::vector<int64_t>{-5});
  EXPECT_EQ(values_of<double>(*file.find("s")), std::vector<double>{2});
  EXPECT_EQ(values_of<float>(*file.find("w")),
            (std::vector<float>{1.5, -2, 0.25, 4}));
  EXPECT_EQ(values_of<int32_t>(*file.find("j")), (std::vector<int32_t>{-1, 2}));
  EXPECT_EQ(values_of<uint16_t>(*file.find("h")),
            (std::vector<uint16_t>{0x3f80, 0xbf80}));
  EXPECT_EQ(values_of<uint8_t>(*file.find("u")), std::vector<uint8_t>{7});
  EXPECT_EQ(values_of<uint8_t>(*file.find("b")),
            (std::vector<uint8_t>{1, 0, 1}));
}

TEST(Safetensors, reads_shapes_and_types) {
  ScratchDirectory scratch;
  SafetensorsFile file = open_text(scratch, kReferenceFile);
  EXPECT_EQ(file.find("w")->shape, (Shape{2, 2}));
  EXPECT_EQ(file.find("w")->dtype, DType::kFloat32);
  EXPECT_EQ(file.find("e")->shape, (Shape{0, 3}));
  EXPECT_EQ(file.find("s")->shape, Shape{});
  EXPECT_EQ(file.find("h")->dtype, DType::kBFloat16);
  EXPECT_EQ(file.find("b")->dtype, DType::kBool);
  EXPECT_EQ(file.find("nobody"), nullptr);
}

TEST(Safetensors, writes_the_same_bytes_as_the_reference_library) {
  ScratchDirectory scratch;
  SafetensorsContent content = parse_safetensors(bytes_of(kReferenceFile));
  fs::path path = scratch.path() / "copy";
  write_safetensors(path, content.tensors, content.metadata);
  EXPECT_EQ(read_text(path), kReferenceFile);
}

TEST(Safetensors, stays_valid_when_the_file_object_moves) {
  ScratchDirectory scratch;
  SafetensorsFile first = open_text(scratch, kReferenceFile);
  const TensorBytes* tensor = first.find("w");
  SafetensorsFile second = std::move(first);
  EXPECT_EQ(second.find("w"), tensor);
  EXPECT_EQ(values_of<float>(*tensor)[0], 1.5f);
}

TEST(Safetensors, keeps_order_names_and_metadata_over_a_round_trip) {
  ScratchDirectory scratch;
  std::string a = "\x01\x00\x01"s, b = "12345678", empty;
  std::vector<TensorBytes> tensors = {
      {"z \"quoted\"\n\\ \xc3\xa9", DType::kBool, {3}, bytes_of(a)},
      {"", DType::kFloat32, {0, 7}, bytes_of(empty)},
      {"a", DType::kFloat64, {}, bytes_of(b)}};
  Metadata metadata = {{"key \"x\"", "line\nline"}, {"", ""}};
  fs::path path = scratch.path() / "f";
  write_safetensors(path, tensors, metadata);
  SafetensorsFile file = SafetensorsFile::open(path);
  ASSERT_EQ(file.tensors().size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(file.tensors()[i].name, tensors[i].name);
    EXPECT_EQ(file.tensors()[i].dtype, tensors[i].dtype);
    EXPECT_EQ(file.tensors()[i].shape, tensors[i].shape);
    EXPECT_EQ(text_of(file.tensors()[i].bytes), text_of(tensors[i].bytes));
  }
  EXPECT_EQ(file.metadata(), metadata);
}

TEST(Safetensors, round_trips_a_file_without_tensors) {
  ScratchDirectory scratch;
  write_safetensors(scratch.path() / "f", {});
  SafetensorsFile file = SafetensorsFile::open(scratch.path() / "f");
  EXPECT_TRUE(file.names().empty());
  EXPECT_TRUE(file.metadata().empty());
}

TEST(Safetensors, begins_the_data_at_a_multiple_of_eight) {
  ScratchDirectory scratch;
  for (size_t n = 1; n <= 8; ++n) {
    std::vector<TensorBytes> tensors = {
        {std::string(n, 'n'), DType::kUInt8, {1}, bytes_of("x")}};
    write_safetensors(scratch.path() / "f", tensors);
    EXPECT_EQ(fs::file_size(scratch.path() / "f") % 8, 1u);
  }
}

TEST(Safetensors, sorts_tensors_by_their_place_in_the_data) {
  std::string text =
      file_text(R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[1,2]},)"
                R"("a":{"data_offsets":[0,1],"shape":[1],"dtype":"U8"},)"
                R"("none":{"dtype":"U8","shape":[0],"data_offsets":[1,1]}})",
                "xy");
  SafetensorsContent content = parse_safetensors(bytes_of(text));
  ASSERT_EQ(content.tensors.size(), 3u);
  EXPECT_EQ(content.tensors[0].name, "a");
  EXPECT_EQ(content.tensors[1].name, "none");
  EXPECT_EQ(content.tensors[2].name, "b");
  EXPECT_EQ(text_of(content.tensors[2].bytes), "y");
}

// A file that must be refused, and what the message must say.
struct Hostile {
  const char* name;
  std::string file;
  std::string message;
};

// A header of one tensor 'a' with these fields.
std::string entry(const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape +
         R"(,"data_offsets":)" + offsets + "}}";
}

std::string one(const std::string& shape, const std::string& offsets,
                const std::string& data) {
  return file_text(entry(R"("U8")", shape, offsets), data);
}

// Two tensors of two bytes at these places.
std::string two(const std::string& a, const std::string& b,
                const std::string& data) {
  return file_text(R"({"a":{"dtype":"U8","shape":[2],"data_offsets":)" + a +
                       R"(},"b":{"dtype":"U8","shape":[2],"data_offsets":)" +
                       b + "}}",
                   data);
}

std::string repeat(const std::string& part, size_t count) {
  std::string text;
  for (size_t i = 0; i < count; ++i) text += part;
  return text;
}

std::vector<Hostile> hostile_lengths() {
  return {
      {"empty", "", "too few"},
      {"seven_bytes", "1234567", "too few"},
      {"length_beyond_file", length_text(10) + "{}", "does not fit"},
      {"length_huge", length_text(~0ull) + "{}", "does not fit"},
      {"length_over_limit",
       length_text(100'000'001) + "{" + std::string(100'000'000, ' '),
       "does not fit"},
      {"no_header", length_text(0), "not a JSON object"},
      {"file_cut_short", kReferenceFile.substr(0, kReferenceFile.size() - 1),
       "leaves the 47 bytes of data"},
      {"file_cut_in_header", kReferenceFile.substr(0, 100), "does not fit"},
      {"bytes_too_many", kReferenceFile + "x", "1 bytes after the last"},
  };
}

std::vector<Hostile> hostile_json() {
  return {
      {"not_json", file_text("{nothing}", ""), "not valid JSON"},
      {"list", file_text("[]", ""), "not a JSON object"},
      {"blank_first", file_text(" {}", ""), "not a JSON object"},
      {"text_after_object", file_text("{}{}", ""), "not valid JSON"},
      {"text_after_zero", file_text("{}\0rest"s, ""), "not a JSON object"},
      {"not_utf8", file_text("{\"\xff\":1}", ""), "not valid JSON"},
      {"unfinished", file_text("{\"a\":{", ""), "not valid JSON"},
      {"deep_lists", file_text("{\"a\":" + std::string(1'000'000, '['), ""),
       "unexpected list"},
      {"deep_objects", file_text(repeat("{\"dtype\":", 200'000), ""),
       "unexpected object"},
      {"entry_is_number", file_text(R"({"a":1})", ""), "unexpected number"},
      {"entry_is_string", file_text(R"({"a":"x"})", ""), "unexpected string"},
      {"entry_is_null", file_text(R"({"a":null})", ""), "unexpected null"},
      {"entry_is_bool", file_text(R"({"a":true})", ""), "unexpected boolean"},
      {"name_twice",
       file_text(R"({"a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]},)"
                 R"("a":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})",
                 ""),
       "'a' occurs twice"},
      {"field_twice",
       file_text(R"({"a":{"dtype":"U8","dtype":"U8","shape":[0],)"
                 R"("data_offsets":[0,0]}})",
                 ""),
       "'dtype' occurs twice"},
      {"metadata_twice",
       file_text(R"({"__metadata__":{},"__metadata__":{}})", ""),
       "occurs twice"},
      {"metadata_key_twice",
       file_text(R"({"__metadata__":{"k":"a","k":"b"}})", ""),
       "'k' occurs twice"},
      {"metadata_number", file_text(R"({"__metadata__":{"k":1}})", ""),
       "unexpected number"},
      {"metadata_object", file_text(R"({"__metadata__":{"k":{}}})", ""),
       "unexpected object"},
      {"metadata_string", file_text(R"({"__metadata__":"k"})", ""),
       "unexpected string"},
  };
}

std::vector<Hostile> hostile_fields() {
  return {
      {"no_dtype", file_text(R"({"a":{"shape":[0],"data_offsets":[0,0]}})", ""),
       "no 'dtype'"},
      {"no_shape",
       file_text(R"({"a":{"dtype":"U8","data_offsets":[0,0]}})", ""),
       "no 'shape'"},
      {"no_offsets", file_text(R"({"a":{"dtype":"U8","shape":[0]}})", ""),
       "no 'data_offsets'"},
      {"unknown_field", file_text(R"({"a":{"size":1}})", ""),
       "unknown field 'size'"},
      {"unknown_dtype", file_text(entry(R"("F15")", "[1]", "[0,2]"), "xy"),
       "tensor 'a' has dtype 'F15'"},
      {"dtype_is_number", file_text(entry("1", "[0]", "[0,0]"), ""),
       "unexpected number"},
      {"shape_is_number", one("1", "[0,1]", "x"), "unexpected number"},
      {"shape_in_shape", one("[[1]]", "[0,1]", "x"), "unexpected list"},
      {"shape_negative", one("[-1]", "[0,1]", "x"), "negative number"},
      {"shape_fraction", one("[1.5]", "[0,1]", "x"), "not an integer"},
      {"shape_beyond_64_bits", one("[99999999999999999999]", "[0,1]", "x"),
       "not an integer"},
      {"size_beyond_63_bits", one("[9223372036854775808]", "[0,1]", "x"),
       "too large"},
      {"product_wraps_to_zero", one("[4294967296,4294967296]", "[0,0]", ""),
       "too large"},
      {"bytes_wrap_around",
       file_text(entry(R"("F64")", "[2305843009213693953]", "[0,8]"),
                 "12345678"),
       "too large"},
      {"rank_huge", one("[" + repeat("1,", 70) + "1]", "[0,1]", "x"),
       "more than 64 dimensions"},
      {"offsets_one", one("[0]", "[0]", ""), "not two"},
      {"offsets_three", one("[0]", "[0,0,0]", ""), "more than two"},
      {"offsets_negative", one("[1]", "[-1,0]", "x"), "negative number"},
      {"offsets_backwards", one("[1]", "[1,0]", "x"), "ends before"},
      {"offsets_beyond_data", one("[2]", "[0,2]", "x"), "leaves the 1 bytes"},
      {"offsets_near_limit",
       one("[1]", "[18446744073709551614,18446744073709551615]", "x"),
       "leaves the 1 bytes"},
      {"too_few_bytes", one("[2]", "[0,1]", "x"), "needs 2 bytes"},
      {"too_many_bytes", one("[1]", "[0,2]", "xy"), "needs 1 bytes"},
      {"overlap", two("[0,2]", "[1,3]", "xyz"), "overlaps"},
      {"same_place", two("[0,2]", "[0,2]", "xy"), "overlaps"},
      {"hole", two("[0,2]", "[3,5]", "xyzuv"), "hole"},
      {"hole_at_begin", one("[1]", "[1,2]", "xy"), "hole"},
  };
}

class HostileSafetensors : public testing::TestWithParam<Hostile> {};

TEST_P(HostileSafetensors, are_refused_with_a_reason) {
  std::string text = error_of<std::runtime_error>(
      [&] { parse_safetensors(bytes_of(GetParam().file), "some/file"); });
  EXPECT_TRUE(text.starts_with("[safetensors] some/file: ")) << text;
  expect_contains(text, GetParam().message);
  EXPECT_LT(text.size(), 500u);
}

std::string name_of_case(const testing::TestParamInfo<Hostile>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(lengths, HostileSafetensors,
                         testing::ValuesIn(hostile_lengths()), name_of_case);
INSTANTIATE_TEST_SUITE_P(json, HostileSafetensors,
                         testing::ValuesIn(hostile_json()), name_of_case);
INSTANTIATE_TEST_SUITE_P(fields, HostileSafetensors,
                         testing::ValuesIn(hostile_fields()), name_of_case);

TEST(Safetensors, refuses_every_shortened_reference_file) {
  for (size_t n = 0; n < kReferenceFile.size(); ++n) {
    std::string part = kReferenceFile.substr(0, n);
    EXPECT_THROW(parse_safetensors(bytes_of(part)), std::runtime_error) << n;
  }
}

TEST(Safetensors, quotes_a_huge_name_only_in_part) {
  std::string name(1'000'000, 'n');
  std::string text = error_of<std::runtime_error>([&] {
    parse_safetensors(bytes_of(file_text("{\"" + name + "\":1}", "")));
  });
  EXPECT_LT(text.size(), 500u);
}

TEST(Safetensors, names_the_path_of_a_bad_file) {
  ScratchDirectory scratch;
  std::string text = error_of<std::runtime_error>(
      [&] { open_text(scratch, "not a file of tensors"); });
  expect_contains(text, (scratch.path() / "f.safetensors").string());
  expect_contains(text, "HINT:");
}

TEST(Safetensors, does_not_write_what_it_could_not_read) {
  ScratchDirectory scratch;
  fs::path path = scratch.path() / "f";
  auto refuse = [&](std::vector<TensorBytes> tensors, const char* message) {
    expect_contains(error_of<std::invalid_argument>(
                        [&] { write_safetensors(path, tensors); }),
                    message);
  };
  TensorBytes good = {"a", DType::kUInt8, {1}, bytes_of("x")};
  refuse({good, good}, "'a' is used twice");
  refuse({{"__metadata__", DType::kUInt8, {1}, bytes_of("x")}}, "reserved");
  refuse({{"\xff", DType::kUInt8, {1}, bytes_of("x")}}, "not UTF-8");
  refuse({{"a", DType::kFloat32, {2}, bytes_of("x")}}, "cannot have 1 bytes");
  refuse({{"a", DType::kUInt8, {-1}, bytes_of("x")}}, "cannot have");
  refuse({{"a", DType::kUInt8, Shape(65, 1), bytes_of("x")}}, "cannot have");
  EXPECT_FALSE(fs::exists(path));
}

}  // namespace
}  // namespace braid::io
