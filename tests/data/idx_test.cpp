#include "data/files.h"

namespace braid::data {
namespace {

using namespace std::string_literals;

const std::string kImages = idx_text(8, {3, 2, 2}, counting_bytes(12));
const std::string kLabels = idx_text(8, {3}, "\x02\x00\x01"s);
const Texts kBoth = {{"images", "images"}, {"labels", "labels"}};

class Idx : public testing::Test {
 protected:
  Idx() {
    write("images", kImages);
    write("labels", kLabels);
  }
  void write(const std::string& name, const std::string& text) {
    write_text(scratch_.path() / name, text);
  }
  DatasetPtr open(const Texts& texts) {
    return open_source("idx", texts, scratch_.path());
  }
  std::string refused(const Texts& texts) {
    return error_of<std::runtime_error>([&] { open(texts); });
  }
  ScratchDirectory scratch_;
};

TEST_F(Idx, GivesImagesAndLabels) {
  DatasetPtr data = open(kBoth);
  EXPECT_EQ(data->size(), 3);
  EXPECT_EQ(data->fields(),
            (std::vector<Field>{{"x", DType::kFloat32, {1, 2, 2}},
                                {"y", DType::kInt64, {}, 3}}));
  EXPECT_EQ(values_of<float>(*data, 1, 0),
            (std::vector<float>{4 / 255.F, 5 / 255.F, 6 / 255.F, 7 / 255.F}));
  EXPECT_EQ(label_of(*data, 0), 2);
  EXPECT_EQ(label_of(*data, 2), 1);
}

TEST_F(Idx, ReadsTheFolderOfMnist) {
  for (std::string mark : {"-", "."}) {
    ScratchDirectory folder;
    auto put = [&](const std::string& name, const std::string& text) {
      write_text(folder.path() / name, text);
    };
    put("train-images" + mark + "idx3-ubyte", kImages);
    put("train-labels" + mark + "idx1-ubyte", kLabels);
    put("t10k-images" + mark + "idx3-ubyte", idx_text(8, {1, 2, 2}, "abcd"));
    put("t10k-labels" + mark + "idx1-ubyte", idx_text(8, {1}, "\x05"));
    Texts texts = {{"folder", folder.path()}};
    EXPECT_EQ(open(texts)->size(), 3);
    texts["part"] = "test";
    texts["classes"] = "10";
    DatasetPtr test = open(texts);
    EXPECT_EQ(test->size(), 1);
    EXPECT_EQ(test->fields()[1].classes, 10);
    EXPECT_EQ(label_of(*test, 0), 5);
  }
}

TEST_F(Idx, ReadsTensorsOfEveryType) {
  struct Case {
    char code;
    DType dtype;
    std::string data;
  };
  for (
      const Case& c : std::vector<Case>{
          {0x08, DType::kInt64, "\x01\xFE"s},
          {0x09, DType::kInt64, "\x01\xFE"s},
          {0x0B, DType::kInt64, "\x00\x01\xFF\xFE"s},
          {0x0C, DType::kInt64, "\x00\x00\x00\x01\xFF\xFF\xFF\xFE"s},
          {0x0D, DType::kFloat32, "\x3F\x80\x00\x00\xC0\x00\x00\x00"s},
          {0x0E, DType::kFloat64,
           "\x3F\xF0\x00\x00\x00\x00\x00\x00\xC0\x00\x00\x00\x00\x00\x00\x00"s}}) {
    write("t", idx_text(c.code, {1, 2}, c.data));
    DatasetPtr data = open({{"files", "t=t"}});
    ASSERT_EQ(data->fields()[0].dtype, c.dtype);
    EXPECT_EQ(data->fields()[0].shape, Shape{2});
    if (c.dtype == DType::kInt64) {
      int64_t second = c.code == 8 ? 254 : -2;
      EXPECT_EQ(values_of<int64_t>(*data, 0, 0),
                (std::vector<int64_t>{1, second}));
      EXPECT_EQ(data->fields()[0].classes, c.code == 8 ? 255 : 0);
    } else if (c.dtype == DType::kFloat32) {
      EXPECT_EQ(values_of<float>(*data, 0, 0), (std::vector<float>{1, -2}));
    } else {
      EXPECT_EQ(values_of<double>(*data, 0, 0), (std::vector<double>{1, -2}));
    }
  }
}

TEST_F(Idx, ScalesBytesOfPlainTensorsUnlessToldNot) {
  Texts texts = {{"files", "[x=images, y=labels]"}};
  EXPECT_EQ(open(texts)->fields()[0], (Field{"x", DType::kFloat32, {2, 2}, 0}));
  texts["pixels"] = "false";
  EXPECT_EQ(open(texts)->fields()[0], (Field{"x", DType::kInt64, {2, 2}, 12}));
}

TEST_F(Idx, RefusesALabelOutOfRange) {
  Texts texts = kBoth;
  texts["classes"] = "2";
  std::string message = refused(texts);
  expect_contains(message, "[data.idx] expected a class from 0 to 1, got 2");
  expect_contains(message, "labels, row 0, offset 8)");
}

TEST_F(Idx, RefusesFilesThatDoNotFit) {
  write("labels", idx_text(8, {2}, "\x01\x02"));
  expect_contains(refused(kBoth), "expected 3 rows as 'x' has, got 2");
  write("labels", kImages);
  expect_contains(refused(kBoth), "expected one whole number per label");
  write("images", kLabels);
  expect_contains(refused(kBoth), "expected images of bytes");
  write("images", "MThd");
  expect_contains(refused(kBoth), "begins with two zero bytes");
  write("images", idx_text(7, {1}, "a"));
  expect_contains(refused(kBoth), "expected a type of number");
  write("images", kImages + "x");
  expect_contains(refused(kBoth), "expected 12 bytes of u8 [3, 2, 2], got 13");
}

TEST_F(Idx, RefusesNoSamples) {
  write("images", idx_text(8, {0, 2, 2}, ""));
  write("labels", idx_text(8, {0}, ""));
  expect_contains(refused(kBoth), "expected at least one sample, got shape");
  // No bytes at all, whatever the number of rows.
  write("images", idx_text(8, {0xFFFFFFFF, 0, 2}, ""));
  expect_contains(refused(kBoth), "expected at least one sample, got shape");
}

TEST_F(Idx, DoesNotBelieveSizes) {
  write("images", idx_text(8, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, "abc"));
  expect_contains(refused(kBoth), "expected fewer bytes of u8");
  write("images", idx_text(8, {0xFFFFFFFF, 28, 28}, "abc"));
  expect_contains(refused(kBoth), ", got 3 (");
}

TEST_F(Idx, RefusesGzipWithAHint) {
  write("images", "\x1F\x8B\x08 packed");
  expect_contains(refused(kBoth), "HINT: gunzip ");
  write("train-images-idx3-ubyte.gz", "\x1F\x8B\x08 packed");
  std::string message = refused({{"folder", "."}});
  expect_contains(message, "expected the file 'train-images-idx3-ubyte'");
  expect_contains(message, "HINT: gunzip ");
}

TEST_F(Idx, NamesAMissingFile) {
  expect_contains(refused({{"images", "nothing"}}), "nothing");
  expect_contains(refused({{"folder", "nowhere"}}), "docs/data.md");
}

TEST_F(Idx, WantsOneWayToNameFiles) {
  for (const Texts& texts :
       std::vector<Texts>{{},
                          {{"labels", "labels"}},
                          {{"folder", "."}, {"images", "images"}},
                          {{"folder", "."}, {"labels", "labels"}},
                          {{"files", "x=images"}, {"images", "images"}}}) {
    expect_contains(error_of<std::invalid_argument>([&] { open(texts); }),
                    "expected one of 'folder', 'images'");
  }
}

TEST(IdxHostile, BeginningsAndChanges) {
  Texts texts = {{"files", "x=images"}};
  refuses_every_beginning("idx", texts, "images", kImages);
  bears_every_change("idx", texts, "images", kImages);
}

}  // namespace
}  // namespace braid::data
