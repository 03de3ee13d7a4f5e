// Files that lose their end while a dataset is in use.
#include <gtest/gtest.h>

#include "braid/data/augment.h"
#include "braid/data/cast.h"
#include "braid/data/loader.h"
#include "braid/io/format/safetensors.h"
#include "data/files.h"
#include "data/samples.h"

namespace braid::data {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kSamples = 4000;

// x f32 [kSamples, 1, 4, 4], all ones.
fs::path write_ones(const fs::path& folder) {
  std::vector<float> ones(kSamples * 16, 1.0F);
  io::TensorBytes x{"x",
                    DType::kFloat32,
                    {kSamples, 1, 4, 4},
                    std::as_bytes(std::span(ones))};
  io::write_safetensors(folder / "ones.safetensors", std::span(&x, 1));
  return folder / "ones.safetensors";
}

DatasetPtr open_ones(const fs::path& path) {
  return open_source("safetensors", {{"file", path.string()}});
}

// Batches until the error comes; all that are given are whole.
std::string error_after(Loader& loader, const fs::path& path, uintmax_t bytes) {
  EXPECT_NE(loader.next(), nullptr);
  fs::resize_file(path, bytes);
  return error_of<std::runtime_error>([&] {
    while (const Batch* batch = loader.next()) {
      auto count = static_cast<size_t>(batch->rows * 16);
      for (float one : values_in<float>(batch->field(0), count)) {
        ASSERT_EQ(one, 1.0F);
      }
    }
  });
}

TEST(ShrinkingFile, IsAnErrorThatNamesIt) {
  for (uintmax_t bytes : {uintmax_t{0}, uintmax_t{100'000}}) {
    ScratchDirectory scratch;
    fs::path path = write_ones(scratch.path());
    Loader loader(open_ones(path), {.batch_size = 8, .threads = 3});
    std::string text = error_after(loader, path, bytes);
    expect_contains(text, "[file.read] '" + path.string() + "' became shorter");
  }
}

// A part of the last page, which reads as zeros.
TEST(ShrinkingFile, AFewBytesAreEnough) {
  ScratchDirectory scratch;
  fs::path path = write_ones(scratch.path());
  Loader loader(open_ones(path), {.batch_size = 8});
  uintmax_t bytes = fs::file_size(path) - 1;
  expect_contains(error_after(loader, path, bytes), "became shorter");
}

TEST(ShrinkingFile, IsSeenThroughWhatIsAroundTheDataset) {
  ScratchDirectory scratch;
  fs::path path = write_ones(scratch.path());
  DatasetPtr around = cast_floats(
      first_samples(augment(open_ones(path), {{"std", "1"}}), kSamples - 1),
      DType::kFloat64);
  around->check();
  fs::resize_file(path, 50);
  EXPECT_THROW(around->check(), std::runtime_error);
}

}  // namespace
}  // namespace braid::data
