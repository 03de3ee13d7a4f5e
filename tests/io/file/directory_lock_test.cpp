// One process at a time writes to a directory.
#include "braid/io/file/directory_lock.h"

#include <gtest/gtest.h>

#include <fstream>

#include "io/scratch.h"
#include "thrown.h"

namespace braid::io {
namespace {

namespace fs = std::filesystem;

std::string failure(const fs::path& path) {
  return thrown_by<std::runtime_error>([&] { DirectoryLock lock(path); });
}

TEST(DirectoryLock, is_held_once_and_ends_with_its_object) {
  ScratchDirectory scratch;
  {
    DirectoryLock lock(scratch.path());
    EXPECT_NE(failure(scratch.path()).find("[out] another run writes to"),
              std::string::npos);
    DirectoryLock moved = std::move(lock);
    EXPECT_NE(failure(scratch.path()), "");
  }
  EXPECT_EQ(failure(scratch.path()), "");
  EXPECT_TRUE(fs::is_empty(scratch.path()));
}

TEST(DirectoryLock, takes_directories_only) {
  ScratchDirectory scratch;
  fs::path file = scratch.path() / "file";
  std::ofstream(file) << "text";
  EXPECT_NE(failure(file).find("HINT: "), std::string::npos);
  EXPECT_NE(failure(scratch.path() / "none").find("HINT: "), std::string::npos);
  EXPECT_FALSE(DirectoryLock::take_if_exists(scratch.path() / "none"));
  EXPECT_TRUE(DirectoryLock::take_if_exists(scratch.path()));
  EXPECT_THROW(DirectoryLock::take_if_exists(file), std::runtime_error);
}

TEST(RemoveTemporaryFiles, spares_all_other_names) {
  ScratchDirectory scratch;
  for (const char* name : {".braid-tmp-1-0", ".hidden", "braid-tmp-1-0"}) {
    std::ofstream(scratch.path() / name) << "text";
  }
  remove_temporary_files(scratch.path());
  EXPECT_FALSE(fs::exists(scratch.path() / ".braid-tmp-1-0"));
  EXPECT_TRUE(fs::exists(scratch.path() / ".hidden"));
  EXPECT_TRUE(fs::exists(scratch.path() / "braid-tmp-1-0"));
  remove_temporary_files(scratch.path() / "none");
}

}  // namespace
}  // namespace braid::io
