#include "braid/cli/job_arguments.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace braid::cli {
namespace {

using Files = std::vector<std::filesystem::path>;
using Words = std::vector<std::string>;

TEST(JobArguments, FilesAndValuesInAnyOrder) {
  JobArguments arguments = split_arguments(
      {"a.yaml", "seed=2", "b.yml", "optimizer.lr=1/2", "members=[{seed: 1}]"});
  EXPECT_EQ(arguments.files, (Files{"a.yaml", "b.yml"}));
  EXPECT_EQ(arguments.overrides,
            (Words{"seed=2", "optimizer.lr=1/2", "members=[{seed: 1}]"}));
}

TEST(JobArguments, TheFirstIsAFile) {
  EXPECT_EQ(split_arguments({"job", "typo"}).files, Files{"job"});
  EXPECT_EQ(split_arguments({"job", "typo"}).overrides, Words{"typo"});
}

// Folders are often named by values.
TEST(JobArguments, PathsMayHaveAnEqualsSign) {
  std::string path = "runs/lr=0.1/config.yaml";
  EXPECT_EQ(split_arguments({"a.yaml", path}).files, (Files{"a.yaml", path}));
  std::string file = "lr=" + std::to_string(::getpid()) + ".yaml";
  EXPECT_EQ(split_arguments({"a.yaml", file}).overrides, Words{file});
  std::ofstream(file) << "model: mlp\n";
  EXPECT_EQ(split_arguments({"a.yaml", file}).files, (Files{"a.yaml", file}));
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace braid::cli
