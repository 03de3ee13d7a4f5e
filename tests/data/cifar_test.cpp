#include "data/files.h"

namespace braid::data {
namespace {

namespace fs = std::filesystem;

std::string record(const std::string& labels, size_t first_pixel) {
  return labels + counting_bytes(3072, first_pixel);
}

class Cifar : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& text) {
    fs::create_directories((scratch_.path() / name).parent_path());
    write_text(scratch_.path() / name, text);
  }
  void write_cifar10(const std::string& folder) {
    for (int i = 1; i <= 5; ++i) {
      std::string label(1, static_cast<char>(i));
      auto first = static_cast<size_t>(i);
      write(folder + "data_batch_" + std::to_string(i) + ".bin",
            record(label, first) + record("\x09", first + 1));
    }
    write(folder + "test_batch.bin", record("\x07", 100));
  }
  DatasetPtr open(const std::string& source, Texts texts = {}) {
    texts.emplace("folder", ".");
    return open_source(source, texts, scratch_.path());
  }
  std::string refused(const std::string& source, const Texts& texts = {}) {
    return error_of<std::runtime_error>([&] { open(source, texts); });
  }
  ScratchDirectory scratch_;
};

TEST_F(Cifar, TenHasFiveFilesToTrainAndOneToTest) {
  for (const char* folder : {"", "cifar-10-batches-bin/"}) {
    write_cifar10(folder);
    DatasetPtr train = open("cifar10");
    EXPECT_EQ(train->size(), 10);
    EXPECT_EQ(train->fields(),
              (std::vector<Field>{{"x", DType::kFloat32, {3, 32, 32}},
                                  {"y", DType::kInt64, {}, 10}}));
    for (int64_t i = 0; i < 10; ++i) {
      EXPECT_EQ(label_of(*train, i), i % 2 == 0 ? i / 2 + 1 : 9);
      int64_t first = i / 2 + 1 + i % 2;
      std::vector<float> x = values_of<float>(*train, i, 0);
      EXPECT_EQ(x[0], static_cast<float>(first) / 255);
      EXPECT_EQ(x[3071], static_cast<float>((first + 3071) % 256) / 255);
    }
    DatasetPtr test = open("cifar10", {{"part", "test"}});
    EXPECT_EQ(test->size(), 1);
    EXPECT_EQ(label_of(*test, 0), 7);
  }
}

TEST_F(Cifar, HundredHasFineAndCoarseLabels) {
  write("cifar-100-binary/train.bin", record("\x13\x63", 0));
  write("cifar-100-binary/test.bin", record("\x01\x02", 0));
  DatasetPtr fine = open("cifar100");
  EXPECT_EQ(fine->fields()[1].classes, 100);
  EXPECT_EQ(label_of(*fine, 0), 99);
  EXPECT_EQ(values_of<float>(*fine, 0, 0)[1], 1 / 255.F);
  DatasetPtr coarse = open("cifar100", {{"labels", "coarse"}});
  EXPECT_EQ(coarse->fields()[1].classes, 20);
  EXPECT_EQ(label_of(*coarse, 0), 19);
  EXPECT_EQ(label_of(*open("cifar100", {{"part", "test"}}), 0), 2);
}

TEST_F(Cifar, RefusesATruncatedRecord) {
  write_cifar10("");
  std::string good = record("\x01", 0) + record("\x02", 0);
  for (size_t length : {1UL, 3072UL, 3074UL, 6145UL}) {
    write("data_batch_3.bin", good.substr(0, length));
    std::string message = refused("cifar10");
    expect_contains(message, "expected a record of 3073 bytes, got ");
    expect_contains(message, "data_batch_3.bin, offset ");
  }
}

TEST_F(Cifar, RefusesALabelOutOfRange) {
  write("test_batch.bin", record("\x01", 0) + record("\x0A", 0));
  expect_contains(refused("cifar10", {{"part", "test"}}),
                  "expected a label below 10, got 10 (");
  expect_contains(refused("cifar10", {{"part", "test"}}), ", offset 3073)");
  write("train.bin", record("\x14\x01", 0));
  EXPECT_EQ(open("cifar100")->size(), 1);
  expect_contains(refused("cifar100", {{"labels", "coarse"}}), "got 20");
}

TEST_F(Cifar, RefusesMissingAndEmptyFiles) {
  expect_contains(refused("cifar10"), "data_batch_1.bin");
  write("test_batch.bin", "");
  expect_contains(refused("cifar10", {{"part", "test"}}),
                  "expected at least one sample, got 0");
  expect_contains(
      error_of<std::invalid_argument>([] { open_source("cifar10"); }),
      "expected the option 'folder'");
}

}  // namespace
}  // namespace braid::data
