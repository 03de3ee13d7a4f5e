#include <array>
#include <cmath>

#include "data/files.h"

namespace braid::data {
namespace {

using namespace std::string_literals;

const std::string kFloats =
    npy_text("<f4", "(2, 3)", bytes_text<float>({1, 2, 3, 4, 5, 6}));

class Npy : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    write_text(scratch_.path() / name, text);
  }
  DatasetPtr open(const Texts& texts) {
    return open_source("npy", texts, scratch_.path());
  }
  DatasetPtr open_text(const std::string& text) {
    write("a.npy", text);
    return open({{"files", "x=a.npy"}});
  }
  std::string refused(const std::string& text) {
    return error_of<std::runtime_error>([&] { open_text(text); });
  }
  ScratchDirectory scratch_;
};

TEST_F(Npy, GivesRowsByField) {
  write("images.npy", kFloats);
  write("labels.npy", npy_text("<i4", "(2,)", bytes_text<int32_t>({4, 0})));
  DatasetPtr data = open({{"files", "[x=images.npy, y=labels.npy]"}});
  EXPECT_EQ(data->size(), 2);
  EXPECT_EQ(data->fields(), (std::vector<Field>{{"x", DType::kFloat32, {3}},
                                                {"y", DType::kInt64, {}, 5}}));
  EXPECT_EQ(values_of<float>(*data, 1, 0), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(label_of(*data, 0), 4);
}

TEST_F(Npy, GivesEveryFileOfAFolder) {
  write("y.npy", npy_text("<i8", "(2,)", bytes_text<int64_t>({1, 0})));
  write("x.npy", kFloats);
  write("notes.txt", "not data");
  DatasetPtr data = open({{"folder", "."}});
  ASSERT_EQ(data->fields().size(), 2U);
  EXPECT_EQ(data->fields()[0].name, "x");
  EXPECT_EQ(data->fields()[1].name, "y");
}

TEST_F(Npy, ReadsAllVersions) {
  for (char version : {'\x01', '\x02', '\x03'}) {
    DatasetPtr data = open_text(npy_text(
        "<f4", "(2, 3)", bytes_text<float>({1, 2, 3, 4, 5, 6}), version));
    EXPECT_EQ(values_of<float>(*data, 1, 0), (std::vector<float>{4, 5, 6}));
  }
}

// Written by NumPy 2.4: numpy.save(file, numpy.arange(3, dtype="u2")).
TEST_F(Npy, ReadsAFileOfTheReferenceLibrary) {
  std::string text =
      "\x93NUMPY\x01\x00v\x00{'descr': '<u2', 'fortran_order': False, "
      "'shape': (3,), }"s +
      std::string(60, ' ') + "\n" + "\x00\x00\x01\x00\x02\x00"s;
  ASSERT_EQ(text.size(), 128U + 6);
  DatasetPtr data = open_text(text);
  EXPECT_EQ(data->size(), 3);
  EXPECT_EQ(data->fields()[0], (Field{"x", DType::kInt64, {}, 3}));
  EXPECT_EQ(values_of<int64_t>(*data, 2, 0), std::vector<int64_t>{2});
}

TEST_F(Npy, ReadsWholeNumbersOfEveryType) {
  for (const char* descr : {"|i1", "|u1", "<i2", "<u2", "<i4", "<u4", "<i8",
                            "<u8", ">i2", ">u4", ">i8"}) {
    int bytes = descr[2] - '0';
    std::string data =
        descr[0] == '>' ? big_endian(1, bytes) + big_endian(100, bytes)
                        : little_endian(1, bytes) + little_endian(100, bytes);
    DatasetPtr set = open_text(npy_text(descr, "(1, 2)", data));
    EXPECT_EQ(values_of<int64_t>(*set, 0, 0), (std::vector<int64_t>{1, 100}))
        << descr;
    EXPECT_EQ(set->fields()[0].classes, 101) << descr;
  }
  DatasetPtr set = open_text(npy_text("|i1", "(1,)", "\xFF"));
  EXPECT_EQ(values_of<int64_t>(*set, 0, 0), std::vector<int64_t>{-1});
  EXPECT_EQ(set->fields()[0].classes, 0);
}

TEST_F(Npy, ReadsFloatsOfEveryType) {
  DatasetPtr wide =
      open_text(npy_text("<f8", "(1,)", bytes_text<double>({0.1})));
  EXPECT_EQ(values_of<double>(*wide, 0, 0), std::vector<double>{0.1});
  DatasetPtr swapped = open_text(npy_text(">f4", "(1,)", "\x3F\xC0\x00\x00"s));
  EXPECT_EQ(values_of<float>(*swapped, 0, 0), std::vector<float>{1.5});
  // 1, -2, the smallest, the largest, the largest below normal, infinity.
  DatasetPtr half = open_text(npy_text(
      "<f2", "(1, 6)",
      bytes_text<uint16_t>({0x3C00, 0xC000, 0x0001, 0x7BFF, 0x03FF, 0xFC00})));
  EXPECT_EQ(values_of<float>(*half, 0, 0),
            (std::vector<float>{1, -2, 0x1p-24F, 65504, 0x3FFp-24F,
                                -std::numeric_limits<float>::infinity()}));
  DatasetPtr nan =
      open_text(npy_text("<f2", "(1,)", bytes_text<uint16_t>({0x7E00})));
  EXPECT_TRUE(std::isnan(values_of<float>(*nan, 0, 0)[0]));
  DatasetPtr flags = open_text(npy_text("|b1", "(1, 3)", "\x01\x00\x02"s));
  EXPECT_EQ(flags->fields()[0].dtype, DType::kBool);
  EXPECT_EQ(values_of<uint8_t>(*flags, 0, 0), (std::vector<uint8_t>{1, 0, 1}));
}

TEST_F(Npy, ScalesPixels) {
  write("a.npy", npy_text("|u1", "(1, 3, 1, 1)", "\x00\x33\xFF"s));
  DatasetPtr data = open({{"files", "x=a.npy"}});
  EXPECT_EQ(data->fields()[0], (Field{"x", DType::kFloat32, {3, 1, 1}}));
  EXPECT_EQ(values_of<float>(*data, 0, 0), (std::vector<float>{0, 0.2F, 1}));
  data = open({{"files", "x=a.npy"}, {"pixels", "false"}});
  EXPECT_EQ(values_of<int64_t>(*data, 0, 0),
            (std::vector<int64_t>{0, 51, 255}));
}

TEST_F(Npy, RefusesAClassOutOfRange) {
  write("y.npy", npy_text("<i8", "(3,)", bytes_text<int64_t>({1, 7, -1})));
  auto message = [&](const char* classes) {
    return error_of<std::runtime_error>([&] {
      open({{"files", "y=y.npy"}, {"classes", classes}});
    });
  };
  expect_contains(message("5"), "expected a class from 0 to 4, got 7 (y of ");
  expect_contains(message("5"), "y.npy, row 1, offset 136)");
  expect_contains(message("8"), "got -1");
  expect_contains(refused(npy_text("<u8", "(1,)", std::string(8, '\xFF'))),
                  "expected a number below 2^63");
}

// Element (i, j, k) of an array of so many is 100 i + 10 j + k.
std::string fortran_text(int64_t ni, int64_t nj, int64_t nk) {
  std::vector<float> data;
  for (int64_t k = 0; k < nk; ++k) {
    for (int64_t j = 0; j < nj; ++j) {
      for (int64_t i = 0; i < ni; ++i) {
        data.push_back(static_cast<float>(100 * i + 10 * j + k));
      }
    }
  }
  return npy_text("<f4", fmt::format("({}, {}, {})", ni, nj, nk),
                  bytes_text(data), 1, "True");
}

TEST_F(Npy, PutsFortranOrderIntoRows) {
  for (auto [ni, nj, nk] : std::vector<std::array<int64_t, 3>>{
           {2, 3, 4}, {1, 3, 2}, {70, 2, 3}, {33, 1, 5}, {5, 4, 1}}) {
    DatasetPtr data = open_text(fortran_text(ni, nj, nk));
    ASSERT_EQ(data->size(), ni);
    EXPECT_EQ(data->fields()[0].shape, (Shape{nj, nk}));
    for (int64_t i = 0; i < ni; ++i) {
      std::vector<float> want;
      for (int64_t j = 0; j < nj; ++j) {
        for (int64_t k = 0; k < nk; ++k) {
          want.push_back(static_cast<float>(100 * i + 10 * j + k));
        }
      }
      EXPECT_EQ(values_of<float>(*data, i, 0), want) << ni << " " << nj;
    }
  }
  // One row or one column lies the same either way.
  std::string line = bytes_text<float>({1, 2, 3, 4, 5, 6});
  EXPECT_EQ(open_text(npy_text("<f4", "(6, 1)", line, 1, "True"))->size(), 6);
  // Sizes are compared before anything is put elsewhere.
  expect_contains(refused(npy_text("<f4", "(2, 3)", "123", 1, "True")),
                  "got 3 bytes");
  expect_contains(refused(npy_text("<f4", "(9999999999, 0)", "", 1, "True")),
                  "expected at least one sample");
}

TEST_F(Npy, RefusesOtherFiles) {
  expect_contains(refused("PK\x03\x04 no zip"), "a.npy");
  expect_contains(refused("\x80\x04 a pickle"), "expected a .npy file");
  expect_contains(refused(npy_text("<f4", "(2,)", "1234567")), "got 7 bytes");
  expect_contains(refused(npy_text("<f4", "(2,)", "123456789")), "got 9 bytes");
  expect_contains(refused(npy_text("<f4", "()", "1234")), "expected rows");
  expect_contains(refused(npy_text("<f4", "(0, 3)", "")),
                  "expected at least one sample");
  expect_contains(refused(npy_text("<f4", "(9999999999, 0)", "")),
                  "expected at least one sample");
  expect_contains(refused(npy_text("<f4", "(-1, 3)", "")), "expected a size");
  expect_contains(refused(npy_text("<f4", "(4611686018427387904, 4)", "abc")),
                  "got 3 bytes");
  expect_contains(refused(npy_text("<f4", "(99999999999999999999,)", "abc")),
                  "expected a size");
  for (const char* descr :
       {"<c8", "|O", "<U4", "|S5", "<f1", "<f3", "|b4", "<m8[ns]", "", "f4"}) {
    expect_contains(refused(npy_text(descr, "(1,)", "12345678")),
                    "expected a type of");
  }
  expect_contains(refused("\x93NUMPY\x04\x00\x01\x00 "s), "version 1.0");
  expect_contains(refused("\x93NUMPY\x02\x00\xFF\xFF\xFF\xFF{"s),
                  "bytes of header, got 1");
}

TEST_F(Npy, RefusesOtherHeaders) {
  auto with = [&](std::string dict) {
    return refused("\x93NUMPY\x01\x00"s + little_endian(dict.size(), 2) + dict);
  };
  for (const char* dict :
       {"", "{", "{}", "[]", "{'descr': '<f4'}", "{'descr' '<f4'}",
        "{'descr': '<f4', 'descr': '<f4', 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': [1]}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1 1)}",
        "{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x",
        "{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}",
        "{'other': '<f4', 'fortran_order': False, 'shape': (1,)}",
        "{'descr: <f4"}) {
    expect_contains(with(dict), "a.npy, offset ");
  }
}

TEST_F(Npy, RefusesColumnsOfUnequalLength) {
  write("x.npy", kFloats);
  write("y.npy", npy_text("<i8", "(1,)", bytes_text<int64_t>({1})));
  expect_contains(error_of<std::runtime_error>([&] {
                    open({{"folder", "."}});
                  }),
                  "expected 2 rows as 'x' has, got 1 (y of ");
}

TEST_F(Npy, WantsEitherFilesOrAFolder) {
  for (const Texts& texts :
       std::vector<Texts>{{}, {{"folder", "."}, {"files", "x=a.npy"}}}) {
    EXPECT_THROW(open(texts), std::invalid_argument);
  }
  expect_contains(error_of<std::runtime_error>([&] {
                    open({{"folder", "."}});
                  }),
                  "expected files *.npy, got none");
  expect_contains(error_of<std::runtime_error>([&] {
                    open({{"folder", "nowhere"}});
                  }),
                  "nowhere");
}

TEST(NpyHostile, BeginningsAndChanges) {
  Texts texts = {{"files", "x=a.npy"}};
  refuses_every_beginning("npy", texts, "a.npy", kFloats);
  bears_every_change("npy", texts, "a.npy", kFloats);
}

}  // namespace
}  // namespace braid::data
