#include "braid/io/format/safetensors.h"
#include "data/files.h"

namespace braid::data {
namespace {

class Tensors : public testing::Test {
 protected:
  Tensors() {
    std::vector<float> x = {1, 2, 3, 4, 5, 6};
    std::vector<int32_t> y = {0, 3};
    std::vector<uint16_t> h = {0x3F80, 0xC000};  // bf16: 1, -2
    std::vector<io::TensorBytes> tensors = {
        {"x", DType::kFloat32, {2, 3}, std::as_bytes(std::span(x))},
        {"y", DType::kInt32, {2}, std::as_bytes(std::span(y))},
        {"h", DType::kBFloat16, {2}, std::as_bytes(std::span(h))}};
    io::write_safetensors(scratch_.path() / "d.safetensors", tensors);
  }
  DatasetPtr open(Texts texts) {
    texts.emplace("file", "d.safetensors");
    return open_source("safetensors", texts, scratch_.path());
  }
  std::string refused(const Texts& texts) {
    return error_of<std::runtime_error>([&] { open(texts); });
  }
  ScratchDirectory scratch_;
};

TEST_F(Tensors, AreRowsOfTheFile) {
  DatasetPtr data = open({});
  EXPECT_EQ(data->size(), 2);
  EXPECT_EQ(data->fields(), (std::vector<Field>{{"x", DType::kFloat32, {3}},
                                                {"y", DType::kInt64, {}, 4},
                                                {"h", DType::kFloat32, {}}}));
  EXPECT_EQ(values_of<float>(*data, 1, 0), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(label_of(*data, 1), 3);
  EXPECT_EQ(values_of<float>(*data, 1, 2), std::vector<float>{-2});
}

TEST_F(Tensors, AreChosenByName) {
  DatasetPtr data = open({{"tensors", "[y, x]"}});
  EXPECT_EQ(data->fields()[0].name, "y");
  EXPECT_EQ(data->fields().size(), 2U);
  expect_contains(refused({{"tensors", "xs"}}), "did you mean 'x'?");
}

TEST_F(Tensors, RefuseAClassOutOfRangeWithItsPlace) {
  std::string message = refused({{"classes", "3"}});
  size_t data_begin =
      std::filesystem::file_size(scratch_.path() / "d.safetensors") -
      (24 + 8 + 4);
  expect_contains(message, "got 3 (y of ");
  expect_contains(message,
                  "row 1, offset " + std::to_string(data_begin + 24 + 4) + ")");
}

TEST_F(Tensors, RefuseFilesWithoutRows) {
  io::write_safetensors(scratch_.path() / "d.safetensors", {});
  expect_contains(refused({}), "expected tensors, got none");
  float one = 1;
  std::vector<io::TensorBytes> scalar = {
      {"s", DType::kFloat32, {}, std::as_bytes(std::span(&one, 1))}};
  io::write_safetensors(scratch_.path() / "d.safetensors", scalar);
  expect_contains(refused({}), "expected rows, got []");
}

}  // namespace
}  // namespace braid::data
