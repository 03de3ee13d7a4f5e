#include "braid/train/queue/worker_name.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "braid/train/job/job_names.h"

namespace braid::train {
namespace {

// What the function says in another process, which has ended then.
std::string name_of_another() {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  pid_t child = ::fork();
  if (child == 0) {
    std::string name = worker_name();
    ssize_t written = ::write(ends[1], name.data(), name.size());
    ::_exit(written == static_cast<ssize_t>(name.size()) ? 0 : 1);
  }
  ::close(ends[1]);
  std::string name(256, ' ');
  ssize_t count = ::read(ends[0], name.data(), name.size());
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  name.resize(static_cast<size_t>(std::max<ssize_t>(count, 0)));
  return name;
}

TEST(WorkerName, IsOnesOwnAndThatOfAFile) {
  EXPECT_EQ(worker_name(), worker_name());
  EXPECT_NE(worker_name(), name_of_another());
  EXPECT_EQ(safe_name(worker_name()), worker_name());
}

TEST(WorkerName, TellsTheDeadOfThisHostAlone) {
  EXPECT_FALSE(has_died_here(worker_name()));
  std::string dead = name_of_another();
  EXPECT_TRUE(has_died_here(dead));
  EXPECT_FALSE(has_died_here("elsewhere" + dead));
  EXPECT_FALSE(has_died_here("node1"));
  EXPECT_FALSE(has_died_here(""));
}

// The number of a process is given to others later.
TEST(WorkerName, ANumberThatAnotherProcessHasIsNoSignOfLife) {
  std::string own = worker_name();
  std::string other = own.substr(0, own.rfind('-')) + "-1";
  EXPECT_TRUE(has_died_here(other));
}

}  // namespace
}  // namespace braid::train
