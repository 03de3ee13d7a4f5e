#include "braid/io/checkpoint.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "scratch.h"

namespace braid::io {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// What a step contains is a function of its number, so it can be checked.
std::string content_of(int64_t step, size_t bytes) {
  std::mt19937_64 random(static_cast<uint64_t>(step));
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

constexpr size_t kModelBytes = 40'000;
constexpr size_t kOptimizerBytes = 3;

Json meta_of(int64_t step) { return {{"step", step}, {"lr", 0.1}}; }

void save(const fs::path& root, int64_t step) {
  std::string model = content_of(step, kModelBytes);
  std::string momentum = content_of(step, kOptimizerBytes);
  std::vector<CheckpointFile> files = {
      {"model", {{"w", DType::kUInt8, {kModelBytes}, bytes_of(model)}}},
      {"optimizer",
       {{"m", DType::kUInt8, {kOptimizerBytes}, bytes_of(momentum)}}}};
  save_checkpoint(root, step, files, meta_of(step));
}

void expect_intact(const CheckpointDir& found) {
  SafetensorsFile model = found.open("model");
  ASSERT_TRUE(model.find("w"));
  EXPECT_EQ(text_of(model.find("w")->bytes),
            content_of(found.step, kModelBytes));
  SafetensorsFile optimizer = found.open("optimizer");
  ASSERT_TRUE(optimizer.find("m"));
  EXPECT_EQ(text_of(optimizer.find("m")->bytes),
            content_of(found.step, kOptimizerBytes));
  EXPECT_EQ(found.meta(), meta_of(found.step));
}

// The step of the newest complete checkpoint, which must be intact; or -1.
int64_t newest_step(const fs::path& root) {
  std::optional<CheckpointDir> found = newest_complete(root);
  if (!found) return -1;
  expect_intact(*found);
  return found->step;
}

std::vector<std::string> names_in(const fs::path& root) {
  std::vector<std::string> names;
  for (auto& entry : fs::directory_iterator(root)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

using Names = std::vector<std::string>;

TEST(Checkpoint, is_found_as_it_was_saved) {
  ScratchDirectory scratch;
  fs::path root = scratch.path() / "run";
  save(root, 0);
  save(root, 9);
  save(root, 10);
  std::optional<CheckpointDir> found = newest_complete(root);
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
  EXPECT_FALSE(newest_complete(scratch.path()));
  EXPECT_FALSE(newest_complete(scratch.path() / "no"));
}

TEST(Checkpoint, marker_lists_names_and_sizes) {
  ScratchDirectory scratch;
  save(scratch.path(), 1);
  fs::path step = scratch.path() / "step-1";
  Json marker = Json::parse(read_text(step / "COMPLETE"));
  ASSERT_EQ(marker.size(), 3u);
  for (const Json& entry : marker) {
    EXPECT_EQ(fs::file_size(step / entry["name"].get<std::string>()),
              entry["bytes"].get<uintmax_t>());
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

void cut(const fs::path& path) {
  fs::resize_file(path, fs::file_size(path) - 1);
}

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
  save(scratch.path(), 2);
  EXPECT_EQ(newest_step(scratch.path()), 2);
  EXPECT_EQ(names_in(scratch.path()), (Names{"step-1", "step-2"}));
}

std::string name_of_case(const testing::TestParamInfo<Damage>& info) {
  return info.param.name;
}

INSTANTIATE_TEST_SUITE_P(table, DamagedCheckpoint, testing::ValuesIn(kDamages),
                         name_of_case);

TEST(Checkpoint, marker_cut_anywhere_does_not_count) {
  ScratchDirectory scratch;
  save(scratch.path(), 1);
  fs::path marker = scratch.path() / "step-1" / "COMPLETE";
  std::string text = read_text(marker);
  size_t list_end = text.rfind(']');
  for (size_t n = 0; n <= list_end; ++n) {
    write_text(marker, text.substr(0, n));
    EXPECT_FALSE(newest_complete(scratch.path())) << n;
  }
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
  expect_contains(error_of<std::runtime_error>(
                      [&] { newest_complete(scratch.path())->meta(); }),
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

TEST(KeepLast, counts_only_complete_ones) {
  ScratchDirectory scratch;
  for (int64_t step : {1, 2, 3, 4}) save(scratch.path(), step);
  fs::remove(scratch.path() / "step-4" / "COMPLETE");
  fs::remove(scratch.path() / "step-1" / "COMPLETE");
  keep_last(scratch.path(), 1);
  EXPECT_EQ(names_in(scratch.path()), (Names{"step-3", "step-4"}));
}

pid_t start_child(const std::function<void()>& work) {
  pid_t child = ::fork();
  if (child != 0) return child;
  try {
    work();
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

int wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

TEST(RemoveLitter, spares_live_processes_and_other_names) {
  ScratchDirectory scratch;
  pid_t live = start_child([] { ::pause(); });
  pid_t dead = start_child([] {});
  wait_for(dead);
  auto name = [](const char* prefix, pid_t pid) {
    return prefix + std::to_string(pid);
  };
  save(scratch.path(), 1);
  Names kept = {name(".tmp-step-1-", live),
                ".tmp-step-1--1",
                ".tmp-step-1-x",
                ".tmp-step-1",
                ".tmp-other",
                ".trash-other",
                "step-1"};
  Names gone = {name(".tmp-step-2-", dead), name(".tmp-step-3-", ::getpid()),
                name(".trash-step-4-", dead), name(".trash-step-5-", live)};
  for (const Names& names : {kept, gone}) {
    for (const std::string& n : names) {
      fs::create_directories(scratch.path() / n / "inside");
    }
  }
  remove_litter(scratch.path());
  std::ranges::sort(kept);
  EXPECT_EQ(names_in(scratch.path()), kept);
  ::kill(live, SIGKILL);
  wait_for(live);
  remove_litter(scratch.path() / "no");
}

TEST(Checkpoint, survives_kills_at_random_moments) {
  constexpr int kRounds = 30;
  ScratchDirectory scratch;
  const fs::path& root = scratch.path();
  std::mt19937 random(7);
  auto before = std::chrono::steady_clock::now();
  save(root, 0);
  auto save_time = std::chrono::steady_clock::now() - before;
  int64_t last = 0;
  for (int round = 0; round < kRounds; ++round) {
    pid_t child = start_child([&] {
      for (int64_t step = last + 1;; ++step) {
        save(root, step);
        keep_last(root, 2);
      }
    });
    std::this_thread::sleep_for(save_time * (random() % 400) / 100);
    ::kill(child, SIGKILL);
    ASSERT_TRUE(WIFSIGNALED(wait_for(child)));  // not by an error of its own
    int64_t step = newest_step(root);
    ASSERT_GE(step, last);
    last = step;
    remove_litter(root);
    for (const std::string& name : names_in(root)) {
      EXPECT_TRUE(name.starts_with("step-")) << name;
    }
  }
  EXPECT_GT(last, 0);  // or the children did nothing
}

enum class Outcome { kKilled, kFinished, kNotPossible };

// Runs the work in a child and kills it where it is about to make, or comes
// back from, its system call number `stop`.
Outcome run_until_stop(const std::function<void()>& work, int stop) {
  pid_t child = start_child([&] {
    if (::ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) ::_exit(2);
    ::raise(SIGSTOP);
    work();
  });
  int status = wait_for(child);
  if (!WIFSTOPPED(status)) return Outcome::kNotPossible;
  for (int i = 0; i < stop && WIFSTOPPED(status); ++i) {
    ::ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    status = wait_for(child);
  }
  if (WIFEXITED(status)) {
    return WEXITSTATUS(status) == 0 ? Outcome::kFinished
                                    : Outcome::kNotPossible;
  }
  ::kill(child, SIGKILL);
  wait_for(child);
  return Outcome::kKilled;
}

// Step 1 is complete, step 2 was damaged; step 2 is saved anew and step 1
// deleted. Killed at whichever system call, one of them is always there.
TEST(Checkpoint, survives_a_kill_at_every_system_call) {
  Outcome outcome = Outcome::kKilled;
  int stop = 0;
  int64_t last = 0;
  for (; outcome == Outcome::kKilled; ++stop) {
    ScratchDirectory scratch(fast_parent());
    const fs::path& root = scratch.path();
    save(root, 1);
    save(root, 2);
    cut(root / "step-2" / "model.safetensors");
    auto work = [&] {
      save(root, 2);
      keep_last(root, 1);
    };
    outcome = run_until_stop(work, stop);
    if (outcome == Outcome::kNotPossible) GTEST_SKIP() << "no ptrace here";
    last = newest_step(root);
    ASSERT_GE(last, 1) << "killed at stop " << stop;
    remove_litter(root);
    work();
    EXPECT_EQ(newest_step(root), 2);
    EXPECT_EQ(names_in(root), Names{"step-2"}) << "killed at stop " << stop;
  }
  EXPECT_EQ(last, 2);
  EXPECT_GT(stop, 50);  // or it was never killed
}

}  // namespace
}  // namespace braid::io
