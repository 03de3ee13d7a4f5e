#include "braid/runtime/comm/launch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "thrown.h"

namespace braid::runtime {
namespace {

Launch launch_of(const std::map<std::string, std::string>& variables) {
  return read_launch([&](const char* name) -> const char* {
    auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

TEST(Launch, AProcessAloneHasNoLauncher) {
  Launch launch = launch_of({});
  EXPECT_EQ(launch.launcher, "");
  EXPECT_EQ(launch.rank, 0);
  EXPECT_EQ(launch.size, 1);
  EXPECT_FALSE(launch.store);
}

TEST(Launch, TorchrunKeepsAStore) {
  Launch launch = launch_of({{"RANK", "3"},
                             {"WORLD_SIZE", "8"},
                             {"LOCAL_RANK", "1"},
                             {"MASTER_ADDR", "node1"},
                             {"MASTER_PORT", "29400"},
                             {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
  EXPECT_EQ(launch.launcher, "torchrun");
  EXPECT_EQ(launch.rank, 3);
  EXPECT_EQ(launch.size, 8);
  EXPECT_EQ(launch.local_rank, 1);
  EXPECT_EQ(launch.store, (Endpoint{"node1", 29400}));
}

TEST(Launch, WithoutAnAgentNobodyKeepsOne) {
  std::map<std::string, std::string> variables{{"RANK", "0"},
                                               {"WORLD_SIZE", "2"},
                                               {"MASTER_ADDR", "node1"},
                                               {"MASTER_PORT", "29400"}};
  EXPECT_FALSE(launch_of(variables).store);
  variables["TORCHELASTIC_USE_AGENT_STORE"] = "False";
  EXPECT_FALSE(launch_of(variables).store);
}

TEST(Launch, OfMpirunAndSrun) {
  Launch mpi = launch_of({{"OMPI_COMM_WORLD_RANK", "1"},
                          {"OMPI_COMM_WORLD_SIZE", "4"},
                          {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                          {"SLURM_PROCID", "0"},
                          {"SLURM_NTASKS", "1"}});
  EXPECT_EQ(mpi.launcher, "mpirun");
  EXPECT_EQ(mpi.rank, 1);
  Launch slurm = launch_of(
      {{"SLURM_PROCID", "5"}, {"SLURM_NTASKS", "6"}, {"SLURM_LOCALID", "2"}});
  EXPECT_EQ(slurm.launcher, "srun");
  EXPECT_EQ(slurm.rank, 5);
  EXPECT_EQ(slurm.size, 6);
  EXPECT_EQ(slurm.local_rank, 2);
}

TEST(Launch, RefusesWhatMakesNoSense) {
  using Usage = std::invalid_argument;
  EXPECT_THAT(thrown_by<Usage>([] {
                launch_of({{"RANK", "0"}});
              }),
              testing::HasSubstr("RANK is set and WORLD_SIZE is not"));
  EXPECT_THAT(thrown_by<Usage>([] {
                launch_of({{"SLURM_NTASKS", "2"}});
              }),
              testing::HasSubstr("SLURM_PROCID is not"));
  EXPECT_THAT(thrown_by<Usage>([] {
                launch_of({{"RANK", "2"}, {"WORLD_SIZE", "2"}});
              }),
              testing::HasSubstr("is not below WORLD_SIZE=2"));
  EXPECT_THAT(thrown_by<Usage>([] {
                launch_of({{"RANK", "x"}, {"WORLD_SIZE", "2"}});
              }),
              testing::HasSubstr("RANK=x is no number"));
  EXPECT_THAT(thrown_by<Usage>([] {
                launch_of({{"RANK", "0"},
                           {"WORLD_SIZE", "2"},
                           {"MASTER_ADDR", "node1"},
                           {"TORCHELASTIC_USE_AGENT_STORE", "True"}});
              }),
              testing::HasSubstr("MASTER_PORT is missing"));
}

TEST(Endpoint, ComesFromText) {
  EXPECT_EQ(parse_endpoint("node1:29500"), (Endpoint{"node1", 29500}));
  EXPECT_EQ(parse_endpoint("::1:80"), (Endpoint{"::1", 80}));
  EXPECT_EQ(parse_endpoint("node1:29500").text(), "node1:29500");
  for (const char* text :
       {"", "node1", ":80", "a:", "a:0", "a:65536", "a:-1", "a:1x"}) {
    EXPECT_THROW(parse_endpoint(text), std::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace braid::runtime
