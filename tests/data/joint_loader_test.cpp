#include "braid/data/joint_loader.h"

#include <gtest/gtest.h>

#include <cstring>

#include "braid/base/error.h"

namespace braid::data {
namespace {

// y i64 is the sample's number plus an offset.
class Numbers : public Dataset {
 public:
  Numbers(int64_t size, int64_t offset, std::string field = "y")
      : Dataset("numbers", {{std::move(field), DType::kInt64, {}, 0}}, size),
        offset_(offset) {}

  void read(int64_t index, const Draw&,
            std::span<std::byte* const> out) const override {
    if (index + offset_ == 1013) fail_world("cannot read {}", index);
    int64_t value = index + offset_;
    std::memcpy(out[0], &value, sizeof value);
  }

 private:
  int64_t offset_;
};

DatasetPtr numbers(int64_t size, int64_t offset) {
  return std::make_shared<Numbers>(size, offset);
}

std::vector<int64_t> rows_of(const Batch& batch) {
  std::vector<int64_t> rows(static_cast<size_t>(batch.rows));
  std::memcpy(rows.data(), batch.field(0), rows.size() * sizeof(int64_t));
  return rows;
}

TEST(JointLoader, EveryPartIsWhatItsOwnLoaderGives) {
  std::vector<LoaderPart> parts{
      {numbers(10, 0), {.batch_size = 4, .seed = 1}, {}},
      {numbers(7, 100), {.batch_size = 4, .seed = 2}, {2, 4}},
      {numbers(10, 200), {.batch_size = 4, .drop_last = true}, {}}};
  std::vector<Loader> alone;
  for (const LoaderPart& part : parts) {
    alone.emplace_back(part.dataset, part.options);
    alone.back().seek(part.start);
  }
  JointLoader joint(parts);
  for (int step = 0; step < 9; ++step) {
    const std::vector<Batch>& batches = *joint.next();
    ASSERT_EQ(batches.size(), 3u);
    for (size_t i = 0; i < 3; ++i) {
      const Batch& expected = *alone[i].next();
      EXPECT_EQ(batches[i].rows, expected.rows);
      EXPECT_EQ(batches[i].first, expected.first);
      EXPECT_EQ(batches[i].next, expected.next);
      EXPECT_EQ(rows_of(batches[i]), rows_of(expected)) << step << " " << i;
    }
  }
}

TEST(JointLoader, PartsLieSideBySideAndEmptyOnesHaveRoom) {
  LoaderOptions options{.batch_size = 4};
  JointLoader joint({{nullptr, options, {}},
                     {numbers(8, 0), options, {}},
                     {nullptr, options, {}},
                     {numbers(8, 9), options, {}}});
  const std::vector<Batch>& batches = *joint.next();
  EXPECT_EQ(batches[0].rows, 0);
  EXPECT_EQ(batches[2].rows, 0);
  for (size_t i = 1; i < 4; ++i) {
    EXPECT_EQ(batches[i].field(0) - batches[i - 1].field(0),
              static_cast<int64_t>(4 * sizeof(int64_t)));
  }
}

TEST(JointLoader, AnErrorOfOnePartIsThrown) {
  LoaderOptions in_order{.batch_size = 2, .shuffle = false};
  JointLoader joint(
      {{numbers(20, 0), in_order, {}}, {numbers(20, 1010), in_order, {}}});
  EXPECT_NE(joint.next(), nullptr);
  EXPECT_THROW(joint.next(), std::runtime_error);
  EXPECT_THROW(joint.next(), std::runtime_error);
}

TEST(JointLoader, RefusesPartsThatDoNotFit) {
  EXPECT_THROW(JointLoader({}), std::invalid_argument);
  EXPECT_THROW(JointLoader({{}, {}}), std::invalid_argument);
  EXPECT_THROW(
      JointLoader({{numbers(4, 0), {}, {}},
                   {std::make_shared<Numbers>(4, 0, "other"), {}, {}}}),
      std::invalid_argument);
}

}  // namespace
}  // namespace braid::data
