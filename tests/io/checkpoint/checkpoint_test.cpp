#include "braid/io/checkpoint/checkpoint.h"

#include "braid/io/format/crc32.h"
#include "io/checkpoint_content.h"

namespace braid::io {
namespace {

TEST(Checkpoint, is_found_as_it_was_saved) {
  ScratchDirectory scratch;
  fs::path root = scratch.path() / "run";
  save(root, 0);
  save(root, 9);
  save(root, 10);
  std::optional<CheckpointDir> found = newest_complete(root).checkpoint;
  ASSERT_TRUE(found);
  EXPECT_EQ(found->step, 10);
  EXPECT_EQ(found->path, root / "step-10");
  expect_intact(*found);
  EXPECT_EQ(names_in(found->path),
            (Names{"COMPLETE", "meta.json", "model.safetensors",
                   "optimizer.safetensors"}));
  EXPECT_EQ(names_in(root), (Names{"step-0", "step-10", "step-9"}));
}

TEST(Checkpoint, is_not_found_where_there_is_none) {
  ScratchDirectory scratch;
  EXPECT_FALSE(newest_complete(scratch.path()).checkpoint);
  EXPECT_FALSE(newest_complete(scratch.path() / "no").checkpoint);
}

TEST(Checkpoint, marker_lists_names_sizes_and_sums) {
  ScratchDirectory scratch;
  save(scratch.path(), 1);
  fs::path step = scratch.path() / "step-1";
  Json marker = Json::parse(read_text(step / "COMPLETE"));
  ASSERT_EQ(marker.size(), 3u);
  for (const Json& entry : marker) {
    EXPECT_EQ(fs::file_size(step / entry["name"].get<std::string>()),
              entry["bytes"].get<uintmax_t>());
    std::string text = read_text(step / entry["name"].get<std::string>());
    EXPECT_EQ(fmt::format("{:08x}", crc32(bytes_of(text))),
              entry["crc32"].get<std::string>());
  }
}

TEST(Checkpoint, ignores_other_names) {
  ScratchDirectory scratch;
  save(scratch.path(), 3);
  for (const char* name :
       {"step-", "step-x", "step-07", "step--1", "step-+9",
        "step-99999999999999999999", "best", "xstep-8", "step-8 ", "Step-9"}) {
    fs::copy(scratch.path() / "step-3", scratch.path() / name);
  }
  write_text(scratch.path() / "step-12", "a file");
  EXPECT_EQ(newest_step(scratch.path()), 3);
}

// A way to damage the newest of two checkpoints.
struct Damage {
  const char* name;
  void (*apply)(const fs::path& step);
};

const Damage kDamages[] = {
    {"marker_deleted", [](const fs::path& s) { fs::remove(s / "COMPLETE"); }},
    {"marker_empty", [](const fs::path& s) { write_text(s / "COMPLETE", ""); }},
    {"marker_empty_list",
     [](const fs::path& s) { write_text(s / "COMPLETE", "[]"); }},
    {"marker_without_sizes",
     [](const fs::path& s) {
       write_text(s / "COMPLETE", R"([{"name":"meta.json"}])");
     }},
    {"marker_of_numbers",
     [](const fs::path& s) { write_text(s / "COMPLETE", "[1, 2]"); }},
    {"marker_nested",
     [](const fs::path& s) {
       write_text(s / "COMPLETE", std::string(1'000'000, '['));
     }},
    {"marker_halved",
     [](const fs::path& s) {
       fs::resize_file(s / "COMPLETE", fs::file_size(s / "COMPLETE") / 2);
     }},
    {"model_cut", [](const fs::path& s) { cut(s / "model.safetensors"); }},
    {"model_bit_flipped",
     [](const fs::path& s) { flip_bit(s / "model.safetensors", 20'000); }},
    {"model_last_bit_flipped",
     [](const fs::path& s) {
       fs::path path = s / "model.safetensors";
       flip_bit(path, fs::file_size(path) - 1);
     }},
    {"model_page_never_written",
     [](const fs::path& s) {
       std::string text = read_text(s / "model.safetensors");
       write_text(s / "model.safetensors",
                  text.replace(8192, 4096, std::string(4096, '\0')));
     }},
    {"meta_bit_flipped",
     [](const fs::path& s) { flip_bit(s / "meta.json", 12); }},
    {"marker_without_sums",
     [](const fs::path& s) {
       write_text(s / "COMPLETE",
                  fmt::format(R"([{{"name":"meta.json","bytes":{}}}])",
                              fs::file_size(s / "meta.json")));
     }},
    {"model_empty",
     [](const fs::path& s) { fs::resize_file(s / "model.safetensors", 0); }},
    {"model_deleted",
     [](const fs::path& s) { fs::remove(s / "model.safetensors"); }},
    {"model_is_directory",
     [](const fs::path& s) {
       fs::remove(s / "model.safetensors");
       fs::create_directory(s / "model.safetensors");
     }},
    {"meta_cut", [](const fs::path& s) { cut(s / "meta.json"); }},
    {"meta_deleted", [](const fs::path& s) { fs::remove(s / "meta.json"); }},
    {"everything_deleted",
     [](const fs::path& s) {
       fs::remove_all(s);
       fs::create_directory(s);
     }},
};

class DamagedCheckpoint : public testing::TestWithParam<Damage> {};

TEST_P(DamagedCheckpoint, is_skipped_and_can_be_saved_again) {
  ScratchDirectory scratch;
  save(scratch.path(), 1);
  save(scratch.path(), 2);
  GetParam().apply(scratch.path() / "step-2");
  EXPECT_EQ(newest_step(scratch.path()), 1);
  std::vector<std::string> warnings = newest_complete(scratch.path()).warnings;
  ASSERT_EQ(warnings.size(), 1u);
  expect_contains(warnings[0], (scratch.path() / "step-2").string());
  save(scratch.path(), 2);
  EXPECT_EQ(newest_step(scratch.path()), 2);
  EXPECT_TRUE(newest_complete(scratch.path()).warnings.empty());
  EXPECT_EQ(names_in(scratch.path()), (Names{"step-1", "step-2"}));
}

std::string name_of_case(const testing::TestParamInfo<Damage>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(table, DamagedCheckpoint, testing::ValuesIn(kDamages),
                         name_of_case);

TEST(Checkpoint, marker_cut_anywhere_does_not_count) {
  ScratchDirectory scratch(fast_parent());
  save(scratch.path(), 1);
  fs::path marker = scratch.path() / "step-1" / "COMPLETE";
  std::string text = read_text(marker);
  size_t list_end = text.rfind(']');
  for (size_t n = 0; n <= list_end; ++n) {
    write_text(marker, text.substr(0, n));
    EXPECT_FALSE(newest_complete(scratch.path()).checkpoint) << n;
  }
}

// A flip may leave the marker as good as it was; the content then is too.
TEST(Checkpoint, bit_flipped_anywhere_is_never_read_as_content) {
  ScratchDirectory scratch(fast_parent());
  save(scratch.path(), 1);
  save(scratch.path(), 2);
  std::mt19937 random(5);
  for (const std::string& name : names_in(scratch.path() / "step-2")) {
    fs::path path = scratch.path() / "step-2" / name;
    for (int round = 0; round < num_rounds(); ++round) {
      std::string text = read_text(path);
      flip_bit(path, random() % text.size(), static_cast<int>(random() % 8));
      int64_t step = newest_step(scratch.path());  // and it is intact
      EXPECT_TRUE(step == 1 || (step == 2 && name == "COMPLETE")) << name;
      write_text(path, text);
    }
  }
}

TEST(Checkpoint, says_what_is_wrong_with_each_damaged_one) {
  ScratchDirectory scratch;
  for (int64_t step : {1, 2, 3, 4}) save(scratch.path(), step);
  flip_bit(scratch.path() / "step-4" / "optimizer.safetensors", 20);
  cut(scratch.path() / "step-3" / "meta.json");
  fs::remove(scratch.path() / "step-2" / "COMPLETE");
  NewestCheckpoint found = newest_complete(scratch.path());
  EXPECT_EQ(found.checkpoint->step, 1);
  ASSERT_EQ(found.warnings.size(), 3u);
  expect_contains(found.warnings[0], "'optimizer.safetensors' has other");
  expect_contains(found.warnings[1], "bytes");
  expect_contains(found.warnings[2], "no completion marker");
}

TEST(Checkpoint, complete_step_is_left_as_is) {
  ScratchDirectory scratch;
  save(scratch.path(), 5);
  save_checkpoint(scratch.path(), 5, {}, {{"other", 1}});
  EXPECT_EQ(newest_step(scratch.path()), 5);
}

TEST(Checkpoint, names_are_checked) {
  ScratchDirectory scratch;
  auto refuse = [&](int64_t step, std::vector<CheckpointFile> files, Json meta,
                    const char* message) {
    expect_contains(error_of<std::invalid_argument>([&] {
                      save_checkpoint(scratch.path(), step, files, meta);
                    }),
                    message);
  };
  refuse(-1, {}, {}, "step -1 is negative");
  refuse(1, {{"", {}}}, {}, "'' is not a file name");
  refuse(1, {{"a/b", {}}}, {}, "'a/b' is not a file name");
  refuse(1, {{"a", {}}, {"a", {}}}, {}, "two files are named 'a'");
  refuse(1, {{"\xff", {}}}, {}, "must be UTF-8");
  refuse(1, {}, "\xff", "must be UTF-8");
  EXPECT_TRUE(names_in(scratch.path()).empty());
}

TEST(Checkpoint, full_disk_loses_nothing) {
  ScratchDirectory scratch;
  save(scratch.path(), 1);
  std::string text = error_of<std::runtime_error>([&] {
    SmallDisk disk(kModelBytes / 2);
    save(scratch.path(), 2);
  });
  expect_contains(text, "model.safetensors");
  expect_contains(text, "HINT: free some space");
  EXPECT_EQ(newest_step(scratch.path()), 1);
  EXPECT_EQ(names_in(scratch.path()), Names{"step-1"});
  save(scratch.path(), 2);
  EXPECT_EQ(newest_step(scratch.path()), 2);
}

TEST(Checkpoint, full_disk_keeps_even_an_incomplete_step) {
  ScratchDirectory scratch;
  save(scratch.path(), 2);
  fs::remove(scratch.path() / "step-2" / "COMPLETE");
  SmallDisk disk(kModelBytes / 2);
  EXPECT_THROW(save(scratch.path(), 2), std::runtime_error);
  EXPECT_TRUE(fs::exists(scratch.path() / "step-2" / "model.safetensors"));
}

TEST(Checkpoint, read_only_root_is_explained) {
  ScratchDirectory scratch;
  save(scratch.path(), 1);
  std::string text = error_of<std::runtime_error>([&] {
    ReadOnly closed(scratch.path());
    save(scratch.path(), 2);
  });
  expect_contains(text, "[checkpoint]");
  expect_contains(text, "Permission denied");
  expect_contains(text, "HINT: check the permissions");
  EXPECT_EQ(newest_step(scratch.path()), 1);
}

TEST(Checkpoint, missing_parent_is_explained) {
  ScratchDirectory scratch;
  std::string text = error_of<std::runtime_error>(
      [&] { save(scratch.path() / "no" / "run", 1); });
  expect_contains(text, (scratch.path() / "no" / "run").string());
  expect_contains(text, "HINT: check the spelling; a missing parent");
}

TEST(Checkpoint, root_that_is_a_file_is_an_error) {
  ScratchDirectory scratch;
  fs::path root = scratch.path() / "file";
  write_text(root, "x");
  EXPECT_THROW(save(root, 1), std::runtime_error);
  EXPECT_THROW(newest_complete(root), std::runtime_error);
}

TEST(Checkpoint, unreadable_root_is_an_error_and_not_an_empty_one) {
  ScratchDirectory scratch;
  fs::path root = scratch.path() / "run";
  save(root, 1);
  fs::permissions(root, fs::perms::none);
  EXPECT_THROW(
      {
        ReadOnly closed(scratch.path());
        newest_complete(root);
      },
      std::runtime_error);
  fs::permissions(root, fs::perms::owner_all);
}

TEST(Checkpoint, bad_meta_is_explained) {
  ScratchDirectory scratch;
  save(scratch.path(), 1);
  fs::path path = scratch.path() / "step-1" / "meta.json";
  write_text(path, std::string(fs::file_size(path), '{'));
  expect_contains(error_of<std::runtime_error>([&] {
                    CheckpointDir{1, path.parent_path()}.meta();
                  }),
                  "not valid JSON");
}

TEST(KeepLast, deletes_all_but_the_newest) {
  ScratchDirectory scratch;
  for (int64_t step : {1, 2, 30, 4, 5}) save(scratch.path(), step);
  keep_last(scratch.path(), 9);
  EXPECT_EQ(names_in(scratch.path()).size(), 5u);
  keep_last(scratch.path(), 2);
  EXPECT_EQ(names_in(scratch.path()), (Names{"step-30", "step-5"}));
  keep_last(scratch.path() / "no", 2);
  EXPECT_THROW(keep_last(scratch.path(), 0), std::invalid_argument);
}

TEST(KeepLast, keeps_the_best_too) {
  ScratchDirectory scratch;
  for (int64_t step : {1, 2, 3, 4}) save(scratch.path(), step);
  keep_last(scratch.path(), 2, {1});
  EXPECT_EQ(names_in(scratch.path()), (Names{"step-1", "step-3", "step-4"}));
  keep_last(scratch.path(), 2, {4});
  EXPECT_EQ(names_in(scratch.path()), (Names{"step-3", "step-4"}));
  keep_last(scratch.path(), 1, {77});
  EXPECT_EQ(names_in(scratch.path()), Names{"step-4"});
}

TEST(KeepLast, several_may_be_the_best) {
  ScratchDirectory scratch;
  for (int64_t step : {1, 2, 3, 4, 5}) save(scratch.path(), step);
  keep_last(scratch.path(), 1, {3, 1});
  EXPECT_EQ(names_in(scratch.path()), (Names{"step-1", "step-3", "step-5"}));
}

// A link that leads to itself, and a folder where a file should be.
TEST(Checkpoint, what_cannot_be_read_is_passed_over) {
  ScratchDirectory scratch;
  save(scratch.path(), 1);
  fs::create_symlink("step-7", scratch.path() / "step-7");
  save(scratch.path(), 5);
  fs::remove(scratch.path() / "step-5" / "COMPLETE");
  fs::create_symlink("COMPLETE", scratch.path() / "step-5" / "COMPLETE");
  NewestCheckpoint found = newest_complete(scratch.path());
  ASSERT_TRUE(found.checkpoint);
  EXPECT_EQ(found.checkpoint->step, 1);
  ASSERT_EQ(found.warnings.size(), 2u);
  expect_contains(found.warnings[0], "step-7' is damaged and not used");
  EXPECT_FALSE(find_complete(scratch.path(), 7));
  // Nor is it in the way when its step is saved.
  save(scratch.path(), 7);
  EXPECT_EQ(newest_step(scratch.path()), 7);
  keep_last(scratch.path(), 1);
  EXPECT_EQ(names_in(scratch.path()), Names{"step-7"});
}

// While another thread saves and deletes, there is always a newest one.
TEST(Checkpoint, what_vanishes_is_not_damaged) {
  ScratchDirectory scratch;
  save(scratch.path(), 0);
  std::atomic<bool> ends = false;
  std::thread writer([&] {
    for (int64_t step = 1; step <= 60; ++step) {
      save(scratch.path(), step);
      keep_last(scratch.path(), 1);
    }
    ends = true;
  });
  int64_t last = 0;
  while (!ends) {
    NewestCheckpoint found = newest_complete(scratch.path());
    EXPECT_EQ(found.warnings, std::vector<std::string>{});
    ASSERT_TRUE(found.checkpoint);
    EXPECT_GE(found.checkpoint->step, last);
    last = found.checkpoint->step;
  }
  writer.join();
}

TEST(KeepLast, does_not_count_one_with_a_flipped_bit_unless_told) {
  ScratchDirectory scratch;
  for (int64_t step : {1, 2}) save(scratch.path(), step);
  flip_bit(scratch.path() / "step-2" / "model.safetensors", 1000);
  keep_last(scratch.path(), 1);
  EXPECT_EQ(names_in(scratch.path()), (Names{"step-1", "step-2"}));
  int64_t trusted = 2;
  keep_last(scratch.path(), 1, {}, std::span(&trusted, 1));
  EXPECT_EQ(names_in(scratch.path()), Names{"step-2"});
}

TEST(KeepLast, counts_only_complete_ones) {
  ScratchDirectory scratch;
  for (int64_t step : {1, 2, 3, 4}) save(scratch.path(), step);
  fs::remove(scratch.path() / "step-4" / "COMPLETE");
  fs::remove(scratch.path() / "step-1" / "COMPLETE");
  keep_last(scratch.path(), 1);
  EXPECT_EQ(names_in(scratch.path()), (Names{"step-3", "step-4"}));
}

}  // namespace
}  // namespace braid::io
