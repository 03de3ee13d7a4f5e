// Shared by the tests of checkpoints: contents that can be checked, and
// processes that can be killed.
#pragma once

#include <signal.h>
#include <sys/wait.h>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <thread>

#include "braid/io/checkpoint/checkpoint.h"
#include "scratch.h"

namespace braid::io {

namespace fs = std::filesystem;
using Json = nlohmann::json;

// What a step contains is a function of its number, so it can be checked.
inline std::string content_of(int64_t step, size_t bytes) {
  std::mt19937_64 random(static_cast<uint64_t>(step));
  std::string text(bytes, '\0');
  for (char& c : text) c = static_cast<char>(random());
  return text;
}

inline constexpr size_t kModelBytes = 40'000;
inline constexpr size_t kOptimizerBytes = 3;

inline Json meta_of(int64_t step) { return {{"step", step}, {"lr", 0.1}}; }

inline void save(const fs::path& root, int64_t step) {
  std::string model = content_of(step, kModelBytes);
  std::string momentum = content_of(step, kOptimizerBytes);
  std::vector<CheckpointFile> files = {
      {"model", {{"w", DType::kUInt8, {kModelBytes}, bytes_of(model)}}},
      {"optimizer",
       {{"m", DType::kUInt8, {kOptimizerBytes}, bytes_of(momentum)}}}};
  save_checkpoint(root, step, files, meta_of(step));
}

inline void expect_intact(const CheckpointDir& found) {
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
inline int64_t newest_step(const fs::path& root) {
  std::optional<CheckpointDir> found = newest_complete(root).checkpoint;
  if (!found) return -1;
  expect_intact(*found);
  return found->step;
}

inline std::vector<std::string> names_in(const fs::path& root) {
  std::vector<std::string> names;
  for (auto& entry : fs::directory_iterator(root)) {
    names.push_back(entry.path().filename().string());
  }
  std::ranges::sort(names);
  return names;
}

using Names = std::vector<std::string>;

inline void cut(const fs::path& path) {
  fs::resize_file(path, fs::file_size(path) - 1);
}

inline void flip_bit(const fs::path& path, size_t offset, int bit = 0) {
  std::string text = read_text(path);
  text.at(offset) = static_cast<char>(text.at(offset) ^ (1 << bit));
  write_text(path, text);
}

inline pid_t start_child(const std::function<void()>& work) {
  pid_t child = ::fork();
  if (child != 0) return child;
  try {
    work();
  } catch (...) {
    ::_exit(1);
  }
  ::_exit(0);
}

inline int wait_for(pid_t child) {
  int status = 0;
  ::waitpid(child, &status, 0);
  return status;
}

// How often a random test is repeated.
inline int num_rounds() { return ::getenv("BRAID_TEST_LONG") ? 500 : 20; }

// Children that save one step after the other, after the last one that was
// seen, are killed at random moments: the newest checkpoint is intact and no
// older than it was, and no litter stays. `check` may look at the folder.
inline void survives_kills(
    unsigned seed,
    const std::function<void(const fs::path& root, int64_t last)>& save_all,
    const std::function<void(const fs::path& root)>& check = {}) {
  ScratchDirectory scratch;
  const fs::path& root = scratch.path();
  std::mt19937 random(seed);
  auto before = std::chrono::steady_clock::now();
  save(root, 0);
  auto save_time = std::chrono::steady_clock::now() - before;
  int64_t last = 0;
  // Where others have the cores, children may not come to save anything in the
  // time that one save took: then they get more of it.
  constexpr int kMostLonger = 20;
  for (int round = 0; round < num_rounds() ||
                      (last == 0 && round < kMostLonger * num_rounds());
       ++round) {
    pid_t child = start_child([&] { save_all(root, last); });
    int longer = 1 + round / num_rounds();
    std::this_thread::sleep_for(longer * save_time * (random() % 400) / 100);
    ::kill(child, SIGKILL);
    ASSERT_TRUE(WIFSIGNALED(wait_for(child)));  // not by an error of its own
    int64_t step = newest_step(root);
    ASSERT_GE(step, last);
    if (check) check(root);
    last = step;
    remove_litter(root);
    for (const std::string& name : names_in(root)) {
      EXPECT_TRUE(name.starts_with("step-")) << name;
    }
  }
  EXPECT_GT(last, 0);  // or the children did nothing
}

}  // namespace braid::io
