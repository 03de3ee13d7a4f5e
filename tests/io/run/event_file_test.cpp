#include "braid/io/run/event_file.h"

#include <fmt/format.h>
#include <algorithm>
#include <cmath>

#include "braid/io/run/event.h"
#include "braid/io/run/records.h"
#include "io/scratch.h"

namespace braid::io {
namespace {

namespace fs = std::filesystem;

std::string hex(std::string_view text) {
  std::string digits;
  for (unsigned char c : text) digits += fmt::format("{:02x}", c);
  return digits;
}

// The bytes of these tests come from TensorBoard's own writer.
TEST(Records, are_framed_as_tensorflow_does) {
  EXPECT_EQ(hex(record_text("hello")),
            "0500000000000000eab2043e68656c6c6fbb1f1c19");
  EXPECT_EQ(hex(record_text("")), "000000000000000029039807d8ea82a2");
}

TEST(Records, are_read_up_to_the_first_damage) {
  std::string first = record_text("first"), second = record_text("second");
  std::string file = first + second;
  auto count = [](std::string_view text) {
    return read_records(bytes_of(text)).size();
  };
  ASSERT_EQ(count(file), 2u);
  EXPECT_EQ(text_of(read_records(bytes_of(file))[1].data), "second");
  EXPECT_EQ(text_of(read_records(bytes_of(file))[1].whole), second);
  for (size_t n = 0; n < second.size(); ++n) {
    EXPECT_EQ(count(file.substr(0, first.size() + n)), 1u) << n;
    std::string damaged = file;
    damaged[first.size() + n] ^= 4;
    EXPECT_EQ(count(damaged), 1u) << n;
  }
}

TEST(Events, are_encoded_as_tensorflow_does) {
  EXPECT_EQ(hex(version_event(1.5)),
            "09000000000000f83f1a0d627261696e2e4576656e743a32");
  EXPECT_EQ(hex(start_event(1.5, 300)), "09000000000000f83f10ac023a020801");
  EXPECT_EQ(hex(scalars_event(1700000000.25, 1234567890123,
                              {{"train/loss", 0.1}, {"é", -INFINITY}})),
            "0900001040fc54d94110cb89ec8ff7232a1e0a110a0a747261696e2f6c6f7373"
            "15cdcccc3d0a090a02c3a915000080ff");
}

TEST(Events, tell_their_step_and_kind) {
  for (int64_t step : {int64_t{0}, int64_t{127}, int64_t{128}, int64_t{-1},
                       int64_t{1} << 40}) {
    auto facts = read_event(bytes_of(scalars_event(1, step, {{"a", 2}})));
    ASSERT_TRUE(facts);
    EXPECT_EQ(facts->step, step);
    EXPECT_TRUE(facts->has_scalars);
    EXPECT_FALSE(facts->has_version);
  }
  EXPECT_TRUE(read_event(bytes_of(version_event(1)))->has_version);
  EXPECT_FALSE(read_event(bytes_of(start_event(1, 5)))->has_scalars);
}

TEST(Events, cut_or_foreign_bytes_are_no_event) {
  std::string event = scalars_event(1, 1000, {{"loss", 2}});
  size_t readable = 0;
  for (size_t n = 0; n <= event.size(); ++n) {
    readable += read_event(bytes_of(event.substr(0, n))).has_value();
  }
  EXPECT_EQ(readable, 4u);  // only where a field ends: 0, time, step, all
  EXPECT_FALSE(read_event(bytes_of(std::string(20, '\xff'))));
  EXPECT_FALSE(read_event(bytes_of("\x0b")));
}

std::vector<fs::path> files_in(const fs::path& directory) {
  std::vector<fs::path> paths;
  for (auto& entry : fs::directory_iterator(directory)) {
    paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  return paths;
}

// The steps of the scalars in a file.
std::vector<int64_t> steps_in(const fs::path& path) {
  std::vector<int64_t> steps;
  std::string text = read_text(path);
  for (const Record& record : read_records(bytes_of(text))) {
    auto facts = read_event(record.data);
    if (facts->has_scalars) steps.push_back(facts->step);
  }
  return steps;
}

using Steps = std::vector<int64_t>;

TEST(EventFile, begins_with_version_and_start) {
  ScratchDirectory scratch;
  EventFile file(scratch.path(), 7);
  file.sync();
  std::string name = file.path().filename().string();
  EXPECT_TRUE(name.starts_with("events.out.tfevents.")) << name;
  std::string text = read_text(file.path());
  auto records = read_records(bytes_of(text));
  ASSERT_EQ(records.size(), 2u);
  EXPECT_TRUE(read_event(records[0].data)->has_version);
  EXPECT_EQ(read_event(records[1].data)->step, 7);
}

TEST(EventFile, each_start_has_its_own_in_order) {
  ScratchDirectory scratch;
  fs::path first = EventFile(scratch.path(), 0).path();
  fs::path second = EventFile(scratch.path(), 0).path();
  fs::path third = EventFile(scratch.path(), 0).path();
  EXPECT_EQ(files_in(scratch.path()),
            (std::vector<fs::path>{first, second, third}));
}

TEST(EventFile, is_cut_back_to_a_step) {
  ScratchDirectory scratch;
  for (int64_t start : {0, 10, 20}) {
    EventFile file(scratch.path(), start);
    for (int64_t step = start; step < start + 10; ++step) {
      file.add(step, {{"loss", 0.5}});
    }
  }
  write_text(scratch.path() / "other", "is left alone");
  EventFile::cut_back(scratch.path(), 12);
  auto files = files_in(scratch.path());
  ASSERT_EQ(files.size(), 3u);  // the third start is gone
  EXPECT_EQ(steps_in(files[0]).size(), 10u);
  EXPECT_EQ(steps_in(files[1]), (Steps{10, 11, 12}));
  EventFile::cut_back(scratch.path(), -1);
  EXPECT_EQ(num_entries(scratch.path()), 1u);
  EventFile::cut_back(scratch.path() / "no", 1);
}

TEST(EventFile, cut_back_drops_a_torn_end) {
  ScratchDirectory scratch;
  fs::path path;
  {
    EventFile file(scratch.path(), 0);
    for (int64_t step : {1, 2, 3}) file.add(step, {{"loss", 0.5}});
    path = file.path();
  }
  std::string text = read_text(path);
  write_text(path, text.substr(0, text.size() - 5));
  EventFile::cut_back(scratch.path(), 9);
  EXPECT_EQ(steps_in(path), (Steps{1, 2}));
  std::string cut = read_text(path);
  EXPECT_EQ(cut, text.substr(0, cut.size()));
  EXPECT_EQ(read_records(bytes_of(cut)).back().whole.data() +
                read_records(bytes_of(cut)).back().whole.size(),
            bytes_of(cut).data() + cut.size());
}

}  // namespace
}  // namespace braid::io
