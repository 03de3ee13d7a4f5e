#include "braid/data/loader.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>

#include "data/samples.h"

namespace braid::data {
namespace {

// What a caller sees of one batch.
struct Seen {
  std::vector<int64_t> numbers;
  Position next;

  bool operator==(const Seen&) const = default;
};

Seen see(const Batch& batch) {
  return {values_in<int64_t>(batch.field(0), static_cast<size_t>(batch.rows)),
          batch.next};
}

std::vector<Seen> take(Loader& loader, size_t count) {
  std::vector<Seen> seen;
  while (seen.size() < count) {
    const Batch* batch = loader.next();
    if (!batch) break;
    seen.push_back(see(*batch));
  }
  return seen;
}

DatasetPtr numbers(int64_t size) { return std::make_shared<Numbers>(size); }

TEST(Loader, GoesFromFirstToLastAndAround) {
  Loader loader(numbers(5), {.batch_size = 2, .shuffle = false});
  EXPECT_EQ(take(loader, 4), (std::vector<Seen>{{{0, 1}, {0, 2}},
                                                {{2, 3}, {0, 4}},
                                                {{4}, {1, 0}},
                                                {{0, 1}, {1, 2}}}));
  EXPECT_EQ(loader.batches_per_epoch(), 3);
  EXPECT_EQ(loader.rows_of_last(), 1);
}

TEST(Loader, DropsAShortLastBatch) {
  Loader loader(numbers(5),
                {.batch_size = 2, .drop_last = true, .shuffle = false});
  EXPECT_EQ(take(loader, 3),
            (std::vector<Seen>{
                {{0, 1}, {0, 2}}, {{2, 3}, {1, 0}}, {{0, 1}, {1, 2}}}));
  EXPECT_EQ(loader.batches_per_epoch(), 2);
  EXPECT_EQ(loader.rows_of_last(), 2);
}

TEST(Loader, EndsAfterOneEpochWithoutRepeat) {
  Loader loader(numbers(4),
                {.batch_size = 2, .shuffle = false, .repeat = false});
  EXPECT_EQ(take(loader, 9),
            (std::vector<Seen>{{{0, 1}, {0, 2}}, {{2, 3}, {1, 0}}}));
  EXPECT_EQ(loader.next(), nullptr);
  loader.seek({0, 0});
  EXPECT_EQ(take(loader, 9).size(), 2U);
  loader.seek({3, 4});
  EXPECT_EQ(loader.next(), nullptr);
}

TEST(Loader, TakesABatchLargerThanTheData) {
  Loader loader(numbers(3), {.batch_size = 8, .shuffle = false});
  EXPECT_EQ(take(loader, 1), (std::vector<Seen>{{{0, 1, 2}, {1, 0}}}));
  EXPECT_EQ(loader.batches_per_epoch(), 1);
  EXPECT_EQ(loader.rows_of_last(), 3);
}

TEST(Loader, RefusesABatchLargerThanTheDataWithDropLast) {
  std::string message = error_of<std::invalid_argument>(
      [] { Loader(numbers(3), {.batch_size = 8, .drop_last = true}); });
  expect_contains(message, "batch_size of at most 3, got 8 (numbers)");
  expect_contains(message, "HINT: ");
}

TEST(Loader, RefusesOptionsOutOfRange) {
  auto refused = [](LoaderOptions options) {
    EXPECT_THROW(Loader(numbers(3), options), std::invalid_argument);
  };
  refused({.batch_size = 0});
  refused({.prefetch = 0});
  refused({.threads = 0});
  Loader loader(numbers(3), {});
  for (Position bad : {Position{-1, 0}, Position{0, -1}, Position{0, 4}}) {
    EXPECT_THROW(loader.seek(bad), std::invalid_argument);
  }
}

TEST(Loader, ShufflesEveryEpochAnew) {
  Loader loader(numbers(64), {.batch_size = 64, .seed = 5});
  std::vector<Seen> seen = take(loader, 2);
  EXPECT_NE(seen[0].numbers, seen[1].numbers);
  for (Seen& epoch : seen) {
    std::ranges::sort(epoch.numbers);
    EXPECT_EQ(epoch.numbers.front(), 0);
    EXPECT_EQ(epoch.numbers.back(), 63);
  }
}

// Reads take unequal times, so threads finish in any order.
DatasetPtr uneven_numbers(int64_t size) {
  return std::make_shared<Numbers>(size, [](int64_t index) {
    std::this_thread::sleep_for(std::chrono::microseconds(index * 7919 % 300));
  });
}

TEST(Loader, GivesTheSameBatchesWithAnyThreadsAndPrefetch) {
  for (bool drop_last : {false, true}) {
    LoaderOptions options{.batch_size = 4, .drop_last = drop_last, .seed = 3};
    Loader plain(numbers(27), options);
    std::vector<Seen> expected = take(plain, 25);
    for (int64_t threads : {1, 2, 5}) {
      for (int64_t prefetch : {1, 2, 7}) {
        options.threads = threads;
        options.prefetch = prefetch;
        Loader loader(uneven_numbers(27), options);
        EXPECT_EQ(take(loader, 25), expected) << threads << " " << prefetch;
      }
    }
  }
}

TEST(Loader, GoesOnFromEveryPosition) {
  LoaderOptions options{.batch_size = 4, .seed = 3, .threads = 2};
  Loader whole(numbers(27), options);
  std::vector<Seen> expected = take(whole, 20);
  for (size_t done = 0; done < 12; ++done) {
    Loader resumed(numbers(27), options);
    if (done > 0) resumed.seek(expected[done - 1].next);
    EXPECT_EQ(take(resumed, 8),
              std::vector<Seen>(expected.begin() + static_cast<int>(done),
                                expected.begin() + static_cast<int>(done) + 8));
  }
}

TEST(Loader, SeeksBackAfterBatchesWereMadeAhead) {
  Loader loader(numbers(27), {.batch_size = 4, .prefetch = 5, .threads = 3});
  std::vector<Seen> expected = take(loader, 9);
  for (int i = 0; i < 50; ++i) {
    loader.seek({});
    EXPECT_EQ(take(loader, 2),
              std::vector<Seen>(expected.begin(), expected.begin() + 2));
  }
}

TEST(Loader, GoesOnInTheMiddleOfABatch) {
  Loader loader(numbers(5), {.batch_size = 2, .shuffle = false});
  loader.seek({2, 1});
  EXPECT_EQ(take(loader, 3),
            (std::vector<Seen>{
                {{1, 2}, {2, 3}}, {{3, 4}, {3, 0}}, {{0, 1}, {3, 2}}}));
  loader.seek({2, 5});
  EXPECT_EQ(take(loader, 1), (std::vector<Seen>{{{0, 1}, {3, 2}}}));
}

TEST(Loader, ThrowsAnErrorAtItsBatchAndAgain) {
  auto bad = std::make_shared<Numbers>(10, [](int64_t index) {
    if (index == 5) throw std::runtime_error("sample 5 is bad");
  });
  for (int64_t threads : {1, 3}) {
    Loader loader(bad, {.batch_size = 2, .shuffle = false, .threads = threads});
    EXPECT_EQ(take(loader, 2).size(), 2U);
    for (int i = 0; i < 2; ++i) {
      EXPECT_EQ(error_of<std::runtime_error>([&] { loader.next(); }),
                "sample 5 is bad");
    }
    loader.seek({0, 6});
    EXPECT_EQ(take(loader, 1), (std::vector<Seen>{{{6, 7}, {0, 8}}}));
  }
}

TEST(Loader, SaysThatThereIsNoMemoryForAnOrder) {
  constexpr int64_t kTooMany = int64_t{1} << 61;
  Loader loader(numbers(kTooMany), {.batch_size = 1});
  for (int i = 0; i < 2; ++i) {
    expect_contains(error_of<std::runtime_error>([&] { loader.next(); }),
                    "[loader] no memory for the order of");
  }
  Loader plain(numbers(kTooMany), {.batch_size = 1, .shuffle = false});
  EXPECT_EQ(take(plain, 1), (std::vector<Seen>{{{0}, {0, 1}}}));
}

TEST(Loader, EndsAtOnceWhileThreadsAreBusy) {
  for (int i = 0; i < 50; ++i) {
    Loader loader(uneven_numbers(1000),
                  {.batch_size = 500, .prefetch = 3, .threads = 4});
    if (i % 2 == 0) loader.next();
    if (i % 3 == 0) loader.seek({1, 7});
  }
}

// The first batch has one row; the one made ahead would take a minute.
TEST(Loader, StopsWithinABatchWhenItIsDestroyed) {
  constexpr int64_t kMany = 1'000'000;
  std::atomic<int64_t> reads = 0;
  auto counted = std::make_shared<Numbers>(kMany, [&](int64_t) {
    ++reads;
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  });
  {
    Loader loader(counted, {.batch_size = kMany, .shuffle = false});
    loader.seek({0, kMany - 1});
    loader.next();
    while (reads < 3) std::this_thread::yield();
  }
  EXPECT_LT(reads, kMany);
}

TEST(Loader, KeepsTheBatchInUseUntilTheNextCall) {
  Loader loader(numbers(100), {.batch_size = 1, .shuffle = false});
  const Batch* batch = loader.next();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(see(*batch), (Seen{{0}, {0, 1}}));
}

TEST(Loader, MovesWithItsThreads) {
  Loader loader(numbers(4), {.batch_size = 1, .shuffle = false});
  loader.next();
  Loader moved = std::move(loader);
  EXPECT_EQ(take(moved, 1), (std::vector<Seen>{{{1}, {0, 2}}}));
}

// The draw of a transform is that of the epoch in which it is read.
class Draws : public Dataset {
 public:
  Draws() : Dataset("draws", {{"d", DType::kInt64, {2}}}, 3) {}
  void read(int64_t, const Draw& draw,
            std::span<std::byte* const> out) const override {
    std::memcpy(out[0], &draw.seed, 8);
    std::memcpy(out[0] + 8, &draw.epoch, 8);
  }
};

TEST(Loader, TellsTheDatasetSeedAndEpoch) {
  Loader loader(std::make_shared<Draws>(), {.batch_size = 3, .seed = 11});
  loader.seek({4, 0});
  const Batch* batch = loader.next();
  EXPECT_EQ(values_in<int64_t>(batch->field(0), 6),
            (std::vector<int64_t>{11, 4, 11, 4, 11, 4}));
}

}  // namespace
}  // namespace braid::data
