// Many files as one dataset, compared with the same numbers in one file.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include "braid/data/loader.h"
#include "braid/io/format/safetensors.h"
#include "data/files.h"

namespace braid::data {
namespace {

namespace fs = std::filesystem;

// Rows first to first + count - 1 of x f32 [N, 3], y u8 [N] and h bf16 [N].
void write_shard(const fs::path& path, int first, int count) {
  std::vector<float> x;
  std::vector<uint8_t> y;
  std::vector<uint16_t> h;
  for (int i = first; i < first + count; ++i) {
    for (int k = 0; k < 3; ++k) x.push_back(static_cast<float>(10 * i + k));
    y.push_back(static_cast<uint8_t>(i % 5));
    h.push_back(static_cast<uint16_t>(0x3F80 + i));
  }
  std::vector<io::TensorBytes> tensors = {
      {"x", DType::kFloat32, {count, 3}, std::as_bytes(std::span(x))},
      {"y", DType::kUInt8, {count}, std::as_bytes(std::span(y))},
      {"h", DType::kBFloat16, {count}, std::as_bytes(std::span(h))}};
  io::write_safetensors(path, tensors);
}

void expect_same(const Dataset& a, const Dataset& b) {
  ASSERT_EQ(a.size(), b.size());
  for (int64_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(sample_of(a, i), sample_of(b, i)) << i;
  }
}

class ShardsOfTensors : public testing::Test {
 protected:
  ShardsOfTensors() {
    fs::create_directory(folder_);
    write_shard(folder_ / "b-0001.safetensors", 4, 1);
    write_shard(folder_ / "a-0000.safetensors", 0, 4);
    write_shard(folder_ / "c-empty.safetensors", 0, 0);
    write_shard(folder_ / "d.safetensors", 5, 7);
    write_shard(scratch_.path() / "all.safetensors", 0, 12);
    write_text(folder_ / "notes.txt", "not a shard");
  }
  DatasetPtr open(Texts texts = {}) {
    texts.emplace("folder", folder_.string());
    return open_source("shards", texts);
  }
  std::string refused(const Texts& texts = {}) {
    return error_of<std::runtime_error>([&] { open(texts); });
  }
  ScratchDirectory scratch_;
  fs::path folder_ = scratch_.path() / "shards";
};

TEST_F(ShardsOfTensors, AreOneFileInTheOrderOfNames) {
  DatasetPtr all =
      open_source("safetensors",
                  {{"file", (scratch_.path() / "all.safetensors").string()}});
  DatasetPtr shards = open();
  ASSERT_EQ(shards->size(), 12);
  ASSERT_EQ(shards->fields().size(), 3U);
  for (size_t f = 0; f < 3; ++f) {
    EXPECT_EQ(field_text(shards->fields()[f]), field_text(all->fields()[f]));
  }
  expect_same(*shards, *all);
}

TEST_F(ShardsOfTensors, AreChosenByPatternAndName) {
  EXPECT_EQ(open({{"pattern", "[ad]*.safetensors"}})->size(), 11);
  DatasetPtr two = open({{"tensors", "[y, x]"}});
  ASSERT_EQ(two->fields().size(), 2U);
  EXPECT_EQ(two->fields()[0].name, "y");
  EXPECT_EQ(values_of<float>(*two, 4, 1), (std::vector<float>{40, 41, 42}));
  expect_contains(refused({{"pattern", "z*"}}), "expected files z*, got none");
  expect_contains(refused({{"pattern", "*"}}), "notes.txt");
  expect_contains(refused({{"tensors", "xs"}}), "did you mean 'x'?");
}

TEST_F(ShardsOfTensors, SayWhereASampleLies) {
  EXPECT_EQ(open()->place(0, 6),
            "row 1 of " + (folder_ / "d.safetensors").string());
}

TEST_F(ShardsOfTensors, CheckClassesAsTheyAreRead) {
  EXPECT_EQ(open()->fields()[1].classes, 0);
  DatasetPtr five = open({{"classes", "5"}});
  EXPECT_EQ(five->fields()[1].classes, 5);
  read_all(*five);
  DatasetPtr four = open({{"classes", "4"}});
  std::string message = error_of<std::runtime_error>([&] { read_all(*four); });
  expect_contains(message, "expected a class from 0 to 3, got 4 (y, row 0 of ");
  expect_contains(message, "b-0001.safetensors");
}

TEST_F(ShardsOfTensors, MustAgree) {
  auto write = [&](const char* x, DType dtype, Shape shape, const char* y,
                   int64_t rows) {
    std::vector<std::byte> bytes(64);
    auto sized = [&](DType type, const Shape& of) {
      return io::Bytes(bytes).first(
          static_cast<size_t>(num_elements(of) * item_bytes(type)));
    };
    std::vector<io::TensorBytes> tensors = {
        {x, dtype, shape, sized(dtype, shape)},
        {y, DType::kUInt8, {rows}, sized(DType::kUInt8, {rows})},
        {"h", DType::kBFloat16, {rows}, sized(DType::kBFloat16, {rows})}};
    io::write_safetensors(folder_ / "e.safetensors", tensors);
  };
  write("x", DType::kFloat64, {1, 3}, "y", 1);
  std::string message = refused();
  expect_contains(message, "expected x f32 [3] as ");
  expect_contains(message, "a-0000.safetensors has, got x f64 [3] (");
  expect_contains(message, "e.safetensors)");
  write("x", DType::kFloat32, {1, 4}, "y", 1);
  expect_contains(refused(), "got x f32 [4] (");
  write("x", DType::kFloat32, {2, 3}, "y", 1);
  expect_contains(refused(), "expected 2 rows as 'x' has, got 1 (y of ");
  write("x", DType::kFloat32, {1, 3}, "z", 1);
  expect_contains(refused(), "expected a tensor 'y' as ");
  std::vector<io::TensorBytes> four;
  auto file = io::SafetensorsFile::open(folder_ / "d.safetensors");
  for (const io::TensorBytes& tensor : file.tensors()) four.push_back(tensor);
  four.push_back(four[0]);
  four.back().name = "extra";
  io::write_safetensors(folder_ / "e.safetensors", four);
  expect_contains(refused(), "got a tensor 'extra', which ");
}

TEST_F(ShardsOfTensors, RefuseFilesThatAreCutShort) {
  fs::resize_file(folder_ / "d.safetensors",
                  fs::file_size(folder_ / "d.safetensors") - 1);
  expect_contains(refused(), "d.safetensors");
}

TEST_F(ShardsOfTensors, NoticeAFileThatShrinksOrChanges) {
  DatasetPtr data = open();
  sample_of(*data, 11);
  fs::resize_file(folder_ / "d.safetensors", 100);
  expect_contains(error_of<std::runtime_error>([&] { sample_of(*data, 10); }),
                  "[file.read] '" + (folder_ / "d.safetensors").string() +
                      "' became shorter");
  DatasetPtr other = [&] {
    write_shard(folder_ / "d.safetensors", 5, 7);
    return open();
  }();
  write_shard(folder_ / "d.safetensors", 5, 8);
  expect_contains(error_of<std::runtime_error>([&] { sample_of(*other, 10); }),
                  "is not the file that it was");
}

// Order, resume and threads are the loader's: batches equal those of one file.
TEST_F(ShardsOfTensors, GiveTheBatchesOfOneFile) {
  DatasetPtr all =
      open_source("safetensors",
                  {{"file", (scratch_.path() / "all.safetensors").string()}});
  for (int64_t block : {0, 1, 3}) {
    LoaderOptions options{.batch_size = 5,
                          .shuffle_block = block,
                          .shuffle_window = 2,
                          .seed = 9};
    Loader a(open(), options), b(all, options);
    options.threads = 3;
    Loader late(open(), options);
    for (int step = 0; step < 9; ++step) {
      const Batch *x = a.next(), *y = b.next();
      late.seek(x->first);
      const Batch* z = late.next();
      ASSERT_EQ(x->rows, y->rows);
      for (size_t f = 0; f < 3; ++f) {
        auto bytes =
            static_cast<size_t>(x->rows) * sample_bytes(all->fields()[f]);
        EXPECT_EQ(std::memcmp(x->field(f), y->field(f), bytes), 0);
        EXPECT_EQ(std::memcmp(x->field(f), z->field(f), bytes), 0);
      }
    }
  }
}

TEST_F(ShardsOfTensors, OpenFewFilesAtATime) {
  fs::path many = scratch_.path() / "many";
  fs::create_directory(many);
  for (int i = 0; i < 300; ++i) {
    write_text(
        many / ("n-" + std::to_string(1000 + i) + ".npy"),
        npy_text("<i8", "(1,)", little_endian(static_cast<uint64_t>(i), 8)));
  }
  DatasetPtr data = open_source("shards", {{"folder", many.string()}});
  ASSERT_EQ(data->size(), 300);
  auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"),
                         fs::directory_iterator());
  };
  auto before = open_files();
  for (int round = 0; round < 2; ++round) {
    for (int64_t i = 0; i < 300; ++i) {
      ASSERT_EQ(values_of<int64_t>(*data, i, 0)[0], i);
    }
  }
  EXPECT_LE(open_files() - before, 256);
}

class ShardsOfArrays : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& descr,
             const std::string& shape, const std::string& data) {
    fs::create_directories((scratch_.path() / name).parent_path());
    write_text(scratch_.path() / name, npy_text(descr, shape, data));
  }
  DatasetPtr open(const Texts& texts) {
    return open_source("shards", texts, scratch_.path());
  }
  std::string refused(const Texts& texts) {
    return error_of<std::runtime_error>([&] { open(texts); });
  }
  ScratchDirectory scratch_;
};

TEST_F(ShardsOfArrays, AreKnownByTheirNames) {
  write("s/x-0.npy", ">i2", "(2,)", big_endian(7, 2) + big_endian(8, 2));
  write("s/x-1.npy", ">i2", "(1,)", big_endian(9, 2));
  write("s/image_0.npy", "|u1", "(2, 1, 2)", counting_bytes(4));
  write("s/image_1.npy", "|u1", "(1, 1, 2)", counting_bytes(2, 4));
  DatasetPtr data = open({{"folder", "s"}});
  ASSERT_EQ(data->size(), 3);
  EXPECT_EQ(data->fields(),
            (std::vector<Field>{{"image", DType::kFloat32, {1, 2}},
                                {"x", DType::kInt64, {}}}));
  EXPECT_EQ(values_of<float>(*data, 2, 0),
            (std::vector<float>{4 / 255.0F, 5 / 255.0F}));
  EXPECT_EQ(values_of<int64_t>(*data, 2, 1)[0], 9);
  DatasetPtr plain = open({{"folder", "s"}, {"pixels", "false"}});
  EXPECT_EQ(values_of<int64_t>(*plain, 1, 0), (std::vector<int64_t>{2, 3}));
}

TEST_F(ShardsOfArrays, AreNamedByPatterns) {
  write("images/00.npy", "<f4", "(1, 1)", bytes_text<float>({1}));
  write("images/01.npy", "<f4", "(1, 1)", bytes_text<float>({2}));
  write("labels/00.npy", "|b1", "(1,)", std::string("\x02"));
  write("labels/01.npy", "|b1", "(1,)", std::string(1, '\0'));
  DatasetPtr data = open({{"files", "[x=images/*.npy, y=labels/*.npy]"}});
  EXPECT_EQ(values_of<float>(*data, 1, 0), std::vector<float>{2});
  EXPECT_EQ(values_of<uint8_t>(*data, 0, 1), std::vector<uint8_t>{1});
  expect_contains(refused({{"files", "[x=none/*.npy]"}}), "none");
  expect_contains(refused({{"files", "[x=images/z*.npy]"}}),
                  "z*.npy, got none");
  expect_contains(refused({{"folder", "images"}}), "files: [x=images/*.npy");
}

// Rows of other samples must never come together.
TEST_F(ShardsOfArrays, RefuseFilesWithoutPartners) {
  for (const char* name : {"s/x-0.npy", "s/x-1.npy", "s/y-0.npy"}) {
    write(name, "<f4", "(1, 1)", bytes_text<float>({1}));
  }
  expect_contains(refused({{"folder", "s"}}),
                  "expected 2 files as 'x' has, got 1 ('y'");
  write("s/y-2.npy", "<f4", "(1, 1)", bytes_text<float>({1}));
  expect_contains(refused({{"folder", "s"}}),
                  "expected files of equal numbers");
}

TEST_F(ShardsOfArrays, RefuseTheOtherOrderAndWrongOptions) {
  write_text(scratch_.path() / "x-0.npy",
             npy_text("<f4", "(2, 2)", std::string(16, '\0'), 1, "True"));
  expect_contains(refused({{"folder", "."}}), "fortran_order");
  auto misused = [&](const Texts& texts) {
    return error_of<std::invalid_argument>([&] { open(texts); });
  };
  expect_contains(misused({}), "either 'folder' or 'files', got neither");
  expect_contains(misused({{"files", "[x=a]"}, {"pattern", "b"}}), "'pattern'");
  expect_contains(refused({{"folder", "nowhere"}}), "nowhere");
}

int64_t peak_bytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss * 1024;
}

// A file of holes costs no disk. Reading hundreds of MB of it adds nothing.
TEST_F(ShardsOfArrays, TakeNoMemoryForWhatWasRead) {
  constexpr int64_t kRows = 4000, kRow = 1 << 16;
  std::string header = npy_text(
      "<f4", "(" + std::to_string(kRows) + ", " + std::to_string(kRow) + ")",
      "");
  for (const char* name : {"x-0.npy", "x-1.npy"}) {
    write_text(scratch_.path() / name, header);
    fs::resize_file(scratch_.path() / name,
                    header.size() + static_cast<size_t>(kRows * kRow * 4));
  }
  DatasetPtr data = open({{"folder", "."}});
  ASSERT_EQ(data->size(), 2 * kRows);
  std::vector<float> row(kRow);
  std::byte* out[] = {reinterpret_cast<std::byte*>(row.data())};
  data->read(0, {}, out);
  int64_t before = peak_bytes();
  for (int64_t i = 0; i < 2 * kRows; i += 7) data->read(i, {}, out);
  EXPECT_LT(peak_bytes() - before, 16 << 20);
}

}  // namespace
}  // namespace braid::data
