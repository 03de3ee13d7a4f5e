// Checkpoints of processes that are killed at any moment.
#include <sys/ptrace.h>

#include <chrono>
#include <thread>

#include "io/checkpoint_content.h"

namespace braid::io {
namespace {

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
  survives_kills(7, [](const fs::path& root, int64_t last) {
    for (int64_t step = last + 1;; ++step) {
      save(root, step);
      keep_last(root, 2);
    }
  });
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
