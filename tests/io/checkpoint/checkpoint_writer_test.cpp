#include "braid/io/checkpoint/checkpoint_writer.h"

#include <chrono>
#include <thread>

#include "io/checkpoint_content.h"

namespace braid::io {
namespace {

std::vector<std::byte> copy_of(const std::string& text) {
  Bytes bytes = bytes_of(text);
  return {bytes.begin(), bytes.end()};
}

// The same content as save() of checkpoint_content.h.
std::vector<OwnedCheckpointFile> files_of(int64_t step) {
  std::vector<OwnedCheckpointFile> files(2);
  files[0].name = "model";
  files[0].tensors.add("w", DType::kUInt8, {kModelBytes},
                       copy_of(content_of(step, kModelBytes)));
  files[1].name = "optimizer";
  files[1].tensors.add("m", DType::kUInt8, {kOptimizerBytes},
                       copy_of(content_of(step, kOptimizerBytes)));
  return files;
}

void begin(CheckpointWriter& writer, int64_t step) {
  writer.save(step, files_of(step), meta_of(step));
}

TEST(CheckpointWriter, writes_what_save_checkpoint_writes) {
  ScratchDirectory scratch;
  CheckpointWriter writer(scratch.path() / "run", 2);
  EXPECT_FALSE(fs::exists(scratch.path() / "run"));
  EXPECT_FALSE(writer.saved_step());
  begin(writer, 7);
  writer.finish();
  EXPECT_EQ(writer.saved_step(), 7);
  EXPECT_EQ(newest_step(scratch.path() / "run"), 7);
  writer.finish();
}

TEST(CheckpointWriter, is_seen_in_a_trace) {
  ScratchDirectory scratch;
  Trace trace(scratch.path() / "trace.json");
  CheckpointWriter writer(scratch.path() / "run", 2, &trace);
  begin(writer, 7);
  writer.finish();
  trace.finish();
  std::string text = read_text(scratch.path() / "trace.json");
  Json event = Json::parse(text).back();
  EXPECT_EQ(event["name"], "step 7");
  EXPECT_GT(event["dur"].get<double>(), 0);
}

class LeaseNumber : public Fence {
 public:
  explicit LeaseNumber(int64_t number) : number_(number) {}
  void check() const override {}
  int64_t number() const override { return number_; }

 private:
  int64_t number_;
};

TEST(CheckpointWriter, what_a_later_lease_wrote_is_refused_by_an_earlier) {
  ScratchDirectory scratch;
  const LeaseNumber second(2), third(3), fourth(4);
  CheckpointWriter writer(scratch.path(), 2, nullptr, &third);
  begin(writer, 7);
  writer.finish();
  CheckpointDir checkpoint = find_step(scratch.path(), 7);
  EXPECT_EQ(checkpoint.meta().at("lease"), 3);
  EXPECT_NO_THROW(check_lease(checkpoint, &third));
  EXPECT_NO_THROW(check_lease(checkpoint, &fourth));
  EXPECT_NO_THROW(check_lease(checkpoint, nullptr));
  try {
    check_lease(checkpoint, &second);
    ADD_FAILURE() << "took what somebody else goes on with";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("of lease 3"), std::string::npos)
        << error.what();
  }
}

TEST(CheckpointWriter, what_no_lease_wrote_is_for_all) {
  ScratchDirectory scratch;
  CheckpointWriter writer(scratch.path(), 2);
  begin(writer, 7);
  writer.finish();
  const LeaseNumber first(1);
  EXPECT_NO_THROW(check_lease(find_step(scratch.path(), 7), &first));
}

TEST(CheckpointWriter, has_one_save_in_flight_at_most) {
  ScratchDirectory scratch;
  CheckpointWriter writer(scratch.path(), 9);
  for (int64_t step = 1; step <= 5; ++step) {
    begin(writer, step);
    EXPECT_GE(writer.saved_step().value_or(0), step - 1);
  }
}

TEST(CheckpointWriter, does_not_wait_for_the_disk) {
  constexpr int64_t kBytes = 64 << 20;
  ScratchDirectory scratch;
  CheckpointWriter writer(scratch.path(), 1);
  std::vector<OwnedCheckpointFile> files(1);
  files[0].name = "model";
  files[0].tensors.add("w", DType::kUInt8, {kBytes},
                       std::vector<std::byte>(kBytes));
  writer.save(1, std::move(files), {});
  EXPECT_FALSE(writer.saved_step());
  writer.finish();
  EXPECT_EQ(writer.saved_step(), 1);
}

TEST(CheckpointWriter, destruction_waits_for_the_last_save) {
  ScratchDirectory scratch;
  {
    CheckpointWriter writer(scratch.path(), 2);
    begin(writer, 3);
  }
  EXPECT_EQ(newest_step(scratch.path()), 3);
}

TEST(CheckpointWriter, keeps_the_last_and_the_best_and_no_litter) {
  ScratchDirectory scratch;
  fs::create_directory(scratch.path() /
                       fmt::format(".tmp-step-9-{}", ::getpid()));
  CheckpointWriter writer(scratch.path(), 2);
  for (int64_t step = 1; step <= 6; ++step) {
    writer.save(step, files_of(step), meta_of(step), {2});
  }
  writer.finish();
  EXPECT_EQ(names_in(scratch.path()), (Names{"step-2", "step-5", "step-6"}));
  EXPECT_THROW(CheckpointWriter(scratch.path(), 0), std::invalid_argument);
}

// A run goes on after the older of two; the damaged one does not count.
TEST(CheckpointWriter, does_not_drop_the_last_good_one_for_a_damaged_one) {
  ScratchDirectory scratch;
  save(scratch.path(), 1);
  save(scratch.path(), 9);
  flip_bit(scratch.path() / "step-9" / "model.safetensors", 500);
  CheckpointWriter writer(scratch.path(), 2);
  begin(writer, 2);
  writer.finish();
  EXPECT_EQ(names_in(scratch.path()), (Names{"step-1", "step-2", "step-9"}));
  begin(writer, 9);
  writer.finish();
  EXPECT_EQ(newest_step(scratch.path()), 9);
  EXPECT_EQ(names_in(scratch.path()), (Names{"step-2", "step-9"}));
}

TEST(CheckpointWriter, full_disk_is_told_by_finish_and_loses_nothing) {
  ScratchDirectory scratch;
  save(scratch.path(), 1);
  CheckpointWriter writer(scratch.path(), 1);
  std::string text = error_of<std::runtime_error>([&] {
    SmallDisk disk(kModelBytes / 2);
    begin(writer, 2);
    writer.finish();
  });
  expect_contains(text, "model.safetensors");
  expect_contains(text, "HINT: free some space");
  EXPECT_EQ(names_in(scratch.path()), Names{"step-1"});
  EXPECT_EQ(newest_step(scratch.path()), 1);
  writer.finish();  // told once
  begin(writer, 2);
  writer.finish();
  EXPECT_EQ(newest_step(scratch.path()), 2);
}

TEST(CheckpointWriter, failure_is_told_by_the_next_save_which_takes_nothing) {
  ScratchDirectory scratch;
  CheckpointWriter writer(scratch.path() / "no" / "run", 1);
  begin(writer, 1);
  std::vector<OwnedCheckpointFile> files = files_of(2);
  EXPECT_THROW(writer.save(2, std::move(files), meta_of(2)),
               std::runtime_error);
  ASSERT_EQ(files.size(), 2u);  // NOLINT(bugprone-use-after-move): promised
  fs::create_directory(scratch.path() / "no");
  writer.save(2, std::move(files), meta_of(2));
  writer.finish();
  EXPECT_EQ(newest_step(scratch.path() / "no" / "run"), 2);
}

TEST(CheckpointWriter, read_only_root_is_explained) {
  ScratchDirectory scratch;
  save(scratch.path(), 1);
  std::string text = error_of<std::runtime_error>([&] {
    CheckpointWriter writer(scratch.path(), 1);
    ReadOnly closed(scratch.path());
    begin(writer, 2);
    writer.finish();
  });
  expect_contains(text, (scratch.path() / ".tmp-step-2").string());
  expect_contains(text, "HINT: check the permissions");
  EXPECT_EQ(newest_step(scratch.path()), 1);
}

TEST(CheckpointWriter, destruction_after_a_failure_neither_hangs_nor_throws) {
  ScratchDirectory scratch;
  CheckpointWriter writer(scratch.path() / "no" / "run", 1);
  begin(writer, 1);
}

// Whatever the moment: the newest is right, and never older than one that
// the writer said was saved and kept.
TEST(CheckpointWriter, survives_kills_at_random_moments) {
  auto check = [](const fs::path& root) {
    EXPECT_TRUE(newest_complete(root).warnings.empty());
  };
  survives_kills(
      11,
      [](const fs::path& root, int64_t last) {
        CheckpointWriter writer(root, 2);
        for (int64_t step = last + 1;; ++step) {
          writer.save(step, files_of(step), meta_of(step), {step / 5 * 5});
        }
      },
      check);
}

}  // namespace
}  // namespace braid::io
