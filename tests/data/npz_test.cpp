#include "braid/data/npz.h"

#include "braid/io/format/inflate.h"
#include "data/files.h"
#include "io/zip_builder.h"

namespace braid::data {
namespace {

using namespace std::string_literals;

const std::string kX =
    npy_text("<f4", "(2, 3)", bytes_text<float>({1, 2, 3, 4, 5, 6}));
const std::string kY = npy_text("<i4", "(2,)", bytes_text<int32_t>({4, 0}));

std::string npz(const std::string& x = kX) {
  return io::build_zip({{.name = "x.npy", .content = x},
                        {.name = "y.npy", .content = kY, .is_wide = true}});
}

// Deflate may leave its blocks as they are.
std::string deflated(const std::string& text) {
  auto size = static_cast<uint16_t>(text.size());
  return "\x01"s + little_endian(size, 2) +
         little_endian(static_cast<uint16_t>(~size), 2) + text;
}

io::ZipPart packed(const std::string& name, const std::string& text) {
  std::string content = deflated(text);
  return {.name = name,
          .content = content,
          .method = 8,
          .checksum = io::crc32(std::as_bytes(std::span(text))),
          .bytes = text.size(),
          .packed_bytes = content.size()};
}

class NpzFile : public testing::Test {
 protected:
  DatasetPtr open(const std::string& text, const Texts& texts = {}) {
    write_text(scratch_.path() / "a.npz", text);
    Texts all = texts;
    if (!all.contains("files")) all["file"] = "a.npz";
    return open_source("npy", all, scratch_.path());
  }
  std::string refused(const std::string& text, const Texts& texts = {}) {
    return error_of<std::runtime_error>([&] { open(text, texts); });
  }
  ScratchDirectory scratch_;
};

TEST_F(NpzFile, EveryArrayIsAField) {
  DatasetPtr data = open(npz());
  EXPECT_EQ(data->fields(), (std::vector<Field>{{"x", DType::kFloat32, {3}},
                                                {"y", DType::kInt64, {}, 5}}));
  EXPECT_EQ(values_of<float>(*data, 1, 0), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(label_of(*data, 0), 4);
  expect_contains(data->place(1, 1), "row 1 of y in ");
}

TEST_F(NpzFile, ArraysAreChosenAndNamed) {
  DatasetPtr data = open(npz(), {{"arrays", "[label=y]"}});
  ASSERT_EQ(data->fields().size(), 1u);
  EXPECT_EQ(data->fields()[0].name, "label");
  data = open(npz(), {{"arrays", "[y, x]"}});
  EXPECT_EQ(data->fields()[0].name, "y");
  std::string text = refused(npz(), {{"arrays", "[z=x, w=yy]"}});
  expect_contains(text, "expected an array 'yy', got none");
  expect_contains(text, "it has x, y; did you mean 'y'?");
}

TEST_F(NpzFile, OneArrayMayStandForAField) {
  std::string one = io::build_zip({{.name = "arr_0.npy", .content = kX}});
  DatasetPtr data = open(one, {{"files", "x=a.npz"}});
  EXPECT_EQ(data->fields()[0].name, "x");
  expect_contains(refused(npz(), {{"files", "x=a.npz"}}),
                  "expected one array for the field 'x', got 2: x, y");
}

TEST_F(NpzFile, PackedArraysAreUnpacked) {
  if (!io::can_inflate()) GTEST_SKIP() << "built without zlib";
  DatasetPtr data =
      open(io::build_zip({packed("x.npy", kX), packed("y.npy", kY)}));
  EXPECT_EQ(values_of<float>(*data, 1, 0), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(label_of(*data, 1), 0);
}

TEST_F(NpzFile, FortranOrderIsPutIntoRows) {
  DatasetPtr data = open(npz(npy_text(
      "<f4", "(2, 3)", bytes_text<float>({1, 4, 2, 5, 3, 6}), 1, "True")));
  EXPECT_EQ(values_of<float>(*data, 0, 0), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(values_of<float>(*data, 1, 0), (std::vector<float>{4, 5, 6}));
}

TEST_F(NpzFile, DamageIsSeen) {
  std::string bad = npz();
  bad[bad.find("\x00\x00\xA0\x40"s)] ^= 1;  // the number 5
  expect_contains(refused(bad), "checksum");
  expect_contains(refused(bad), "x in ");
}

TEST_F(NpzFile, DamageOfPackedArraysIsSeen) {
  if (!io::can_inflate()) GTEST_SKIP() << "built without zlib";
  io::ZipPart part = packed("x.npy", kX);
  part.bytes = kX.size() + 1;
  expect_contains(refused(io::build_zip({part})), "cannot be unpacked");
  part.bytes = kX.size() - 1;
  expect_contains(refused(io::build_zip({part})), "cannot be unpacked");
  part.bytes = uint64_t{1} << 40;  // no memory is asked for
  part.is_wide = true;
  expect_contains(refused(io::build_zip({part})), "cannot unpack to");
  part = packed("x.npy", kX);
  part.content[3] ^= 1;
  expect_contains(refused(io::build_zip({part})), "cannot be unpacked");
  part = packed("x.npy", kX);
  part.checksum = 7;
  expect_contains(refused(io::build_zip({part})), "checksum");
  part = packed("x.npy", kX);
  part.content.pop_back();
  part.packed_bytes = part.content.size();
  expect_contains(refused(io::build_zip({part})), "cannot be unpacked");
}

TEST_F(NpzFile, OtherArchivesAreRefused) {
  io::ZipPart part{.name = "x.npy", .content = kX, .method = 12};
  expect_contains(refused(io::build_zip({part})), "is compressed (method 12");
  expect_contains(refused(io::build_zip({{.name = "x.txt", .content = "a"}})),
                  "expected arrays *.npy");
  expect_contains(refused("no zip"), "a.npz");
  expect_contains(error_of<std::invalid_argument>([&] {
                    open(npz(), {{"folder", "."}});
                  }),
                  "expected one of 'files', 'folder' and 'file', got two");
}

TEST(NpzHostile, BeginningsAndChanges) {
  Texts texts = {{"file", "a.npz"}};
  std::string text = io::can_inflate()
                         ? io::build_zip({packed("x.npy", kX)})
                         : io::build_zip({{.name = "x.npy", .content = kX}});
  refuses_every_beginning("npy", texts, "a.npz", text);
  bears_every_change("npy", texts, "a.npz", text);
}

}  // namespace
}  // namespace braid::data
