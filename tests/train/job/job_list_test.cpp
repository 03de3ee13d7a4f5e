// Lists of jobs: members become plain jobs with names, problems are said with
// the line and the member.
#include "braid/train/job/job_list.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "braid/base/error.h"
#include "braid/train/job/job_file.h"
#include "io/scratch.h"
#include "job_lines.h"
#include "thrown.h"

namespace braid::train {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

TEST(JobList, OneFileWithoutMembersIsOneJob) {
  JobList list = read("seed: 3\n", {"optimizer.lr=1e-2"});
  EXPECT_TRUE(list.is_single);
  ASSERT_THAT(names_of(list), ElementsAre("sweep"));
  EXPECT_EQ(list.jobs[0].config,
            parse_job(std::string(kBase) + "seed: 3\n", "/jobs/sweep.yaml",
                      {"optimizer.lr=1e-2"}));
}

// Each is the job that the command line would make with the same overrides.
TEST(JobList, MembersAreTheJobWithOverrides) {
  JobList list = read(
      "optimizer: {kind: sgd, lr: 0.1}\n"
      "groups: [{pattern: '*.bias', lr: 1}]\n"
      "members:\n"
      "  - {}\n"
      "  - {optimizer.lr: 3e-3, seed: 2, clip: 1}\n"
      "  - {groups.0.lr: 5, freeze: ['a.*', b], schedule: {kind: "
      "exponential, gamma: 0.5}}\n"
      "  - {optimizer: adam, epochs: ~, steps: 7}\n");
  EXPECT_FALSE(list.is_single);
  std::string file = std::string(kBase) +
                     "optimizer: {kind: sgd, lr: 0.1}\n"
                     "groups: [{pattern: '*.bias', lr: 1}]\n";
  const std::vector<Names> overrides = {
      {},
      {"optimizer.lr=3e-3", "seed=2", "clip=1"},
      {"groups.0.lr=5", "freeze=['a.*', b]",
       "schedule={kind: exponential, gamma: 0.5}"},
      {"optimizer=adam", "epochs=", "steps=7"}};
  ASSERT_EQ(list.jobs.size(), overrides.size());
  for (size_t i = 0; i < overrides.size(); ++i) {
    EXPECT_EQ(list.jobs[i].config,
              parse_job(file, "/jobs/sweep.yaml", overrides[i]))
        << i;
  }
  EXPECT_EQ(list.jobs[3].config.epochs, std::nullopt);
}

TEST(JobList, TheCommandLineCountsOverMembers) {
  JobList list = read("members: [{seed: 1}, {seed: 2, batch_size: 8}]\n",
                      {"batch_size=4"});
  EXPECT_EQ(list.jobs[1].config.seed, 2);
  EXPECT_EQ(list.jobs[1].config.batch_size, 4);
}

TEST(JobList, TheCommandLineMayHaveTheMembers) {
  JobList list = read("members: [{seed: 9}]\n",
                      {"members=[{seed: 1}, {seed: 2}]", "threads=1"});
  EXPECT_THAT(names_of(list), ElementsAre("seed=1", "seed=2"));
  EXPECT_EQ(list.jobs[1].config.threads, 1);
  EXPECT_TRUE(read("members: [{seed: 9}]\n", {"members="}).is_single);
  EXPECT_THAT(problems("members: [{seed: 9}]\n", {"members.0.seed=2"}),
              HasSubstr("HINT: the whole list is set by members=[...]"));
}

// Paths of members are of the file, as those of the job.
TEST(JobList, PathsOfMembersBeginAtTheFile) {
  JobList list = read("members: [{init.file: w.safetensors}, {seed: 1}]\n");
  EXPECT_EQ(list.jobs[0].config.init.file, "/jobs/w.safetensors");
}

TEST(JobList, WrittenJobsHaveNoMembers) {
  JobList list = read("members: [{seed: 1}, {seed: 2}]\n");
  std::string text = job_text(list.jobs[1].config);
  EXPECT_THAT(text, Not(HasSubstr("members")));
  EXPECT_EQ(parse_job(text, "/jobs/a/config.yaml"), list.jobs[1].config);
}

TEST(JobList, NamesSayWhatDiffers) {
  EXPECT_THAT(names_of(read("members:\n"
                            "  - {optimizer.lr: 1e-3, seed: 1}\n"
                            "  - {optimizer.lr: 3e-3, seed: 2, threads: 0}\n")),
              ElementsAre("lr=1e-3,seed=1", "lr=3e-3,seed=2"));
}

TEST(JobList, NamesHaveSizesOfModelsAndShortNumbers) {
  EXPECT_THAT(
      names_of(read("members:\n"
                    "  - {model: 'mlp(hidden=64)', optimizer.lr: .001}\n"
                    "  - {model: 'mlp(hidden=8)', optimizer.lr: .01}\n"
                    "  - {model: lenet, optimizer.lr: 0.00025}\n")),
      ElementsAre("model=mlp,hidden=64,lr=1e-3", "model=mlp,hidden=8,lr=0.01",
                  "model=lenet,lr=2.5e-4"));
  EXPECT_THAT(names_of(read("members:\n"
                            "  - {schedule: 'cosine(steps=90,warmup=10)'}\n"
                            "  - {schedule: 'cosine(steps=90,warmup=5)'}\n")),
              ElementsAre("warmup=10", "warmup=5"));
  EXPECT_THAT(names_of(read("members:\n"
                            "  - {schedule: cosine(warmup=5)}\n"
                            "  - {schedule: {kind: cosine, warmup: 5%}}\n")),
              ElementsAre("warmup=5", "warmup=5pct"));
}

TEST(JobList, NamesOfWhatIsAbsentLeaveItOut) {
  EXPECT_THAT(names_of(read("members: [{}, {clip: 1}, {ema: .9}]\n")),
              ElementsAre("base", "norm=1", "ema=0.9"));
}

// Keys that end alike are written in full.
TEST(JobList, NamesTellKeysApart) {
  EXPECT_THAT(
      names_of(read("members: [{seed: 1, data.order_seed: 1, eval.every: 5},\n"
                    "          {seed: 2, checkpoint.every: 9}]\n")),
      ElementsAre("order_seed=1,seed=1,eval.every=5,checkpoint.every=0",
                  "seed=2,eval.every=0,checkpoint.every=9"));
}

TEST(JobList, NamesHaveSafeCharacters) {
  EXPECT_THAT(
      names_of(read("members:\n"
                    "  - {schedule: 'cosine(steps=900,warmup=50)'}\n"
                    "  - {schedule: constant, model: ../m/big net.graph}\n")),
      ElementsAre("model=lenet,schedule=cosine,steps=900,warmup=50",
                  "model=big-net.graph,schedule=constant"));
}

TEST(JobList, LongOrEqualNamesAreNumbers) {
  std::string longer = "freeze: ['" + std::string(70, 'a') + "']";
  EXPECT_THAT(names_of(read("members: [{seed: 1}, {" + longer + "}]\n")),
              ElementsAre("member-00", "member-01"));
  EXPECT_THAT(
      names_of(read("members: [{name: member-01}, {seed: 1}, {seed: 1}]\n")),
      ElementsAre("member-01", "member-01-2", "member-02"));
}

TEST(JobList, GivenNamesStay) {
  EXPECT_THAT(names_of(read("members: [{seed: 1, name: first}, {seed: 2}]\n")),
              ElementsAre("first", "seed=2"));
}

TEST(JobList, NamesThatCannotBeFoldersAreProblems) {
  std::string text = problems(
      "members:\n"
      "  - {name: a/b}\n"
      "  - {name: array-0}\n"
      "  - {name: jobs.yaml}\n"
      "  - {name: same, seed: 1}\n"
      "  - {name: same, seed: 2}\n"
      "  - {name: ..}\n"
      "  - {name: ''}\n"
      "  - {name: [x]}\n"
      "  - {name: jobs.json}\n");
  EXPECT_THAT(text, HasSubstr("8 problems"));
  EXPECT_THAT(text, HasSubstr("line 5: members.0.name 'a/b' has other"));
  EXPECT_THAT(text, HasSubstr("line 6: members.1.name 'array-0' is the name"));
  EXPECT_THAT(text, HasSubstr("line 7: members.2.name 'jobs.yaml' is the"));
  EXPECT_THAT(text, HasSubstr("line 13: members.8.name 'jobs.json' is the"));
  EXPECT_THAT(text, HasSubstr("line 9: members.4.name 'same' is that of"));
  EXPECT_THAT(text, HasSubstr("line 12: members.7.name is a text, got a list"));
}

TEST(JobList, ProblemsNameLineAndMember) {
  std::string text = problems(
      "members:\n"
      "  - {optimizer.lr: fast}\n"
      "  - {name: deep, optimzer.lr: 1e-3}\n"
      "  - {batch_size: 0, phases.0.every: 2}\n"
      "  - 7\n"
      "  - {members: [{seed: 1}]}\n");
  EXPECT_THAT(text, HasSubstr("line 5: members.0: optimizer.lr is a number"));
  EXPECT_THAT(text, HasSubstr("line 6: member 'deep': unknown key 'optimzer'"));
  EXPECT_THAT(text, HasSubstr("line 7: members.2: batch_size is at least 1"));
  EXPECT_THAT(text, HasSubstr("line 8: members.3: a member is a map of keys"));
  EXPECT_THAT(text, HasSubstr("line 9: members.4: members make several jobs"));
}

TEST(JobList, WhatAllMembersHaveIsSaidOnce) {
  std::string text = problems(
      "dtype: f16\noptimizer: {lr: fast}\n"
      "members: [{seed: 1}, {seed: 2}, {optimizer.lr: 1}]\n");
  EXPECT_THAT(text, HasSubstr("2 problems"));
  EXPECT_THAT(text, HasSubstr("line 4: dtype is"));
  EXPECT_THAT(text,
              HasSubstr("line 5: members.0 and 1 more: optimizer.lr is a"));
}

TEST(JobList, MembersAreAListWithLimits) {
  EXPECT_THAT(problems("members: 3\n"),
              HasSubstr("line 4: members is a list of maps, got '3'"));
  EXPECT_THAT(problems("members: []\n"),
              HasSubstr("members has 1 to 4096 items, got 0"));
  std::string many = "members: [";
  for (int i = 0; i <= 4096; ++i) many += fmt::format("{{seed: {}}},", i);
  EXPECT_THAT(problems(many + "]\n"), HasSubstr("items, got 4097"));
}

// Each member has what the file has, so that a large file may have few.
TEST(JobList, MembersOfLargeFilesAreLimited) {
  std::string lines = "freeze: [";
  for (int i = 0; i < 3000; ++i) lines += "a,";
  lines += "]\nmembers: [";
  for (int i = 0; i < 2000; ++i) lines += fmt::format("{{seed: {}}},", i);
  EXPECT_THAT(problems(lines + "]\n"),
              HasSubstr("2000 members of a file with"));
}

// A job where only one can be used says so.
TEST(JobList, OneJobHasNoMembers) {
  std::string text = thrown_by([] {
    parse_job(std::string(kBase) + "members: [{seed: 1}]\n", "/a.yaml");
  });
  EXPECT_THAT(text, HasSubstr("line 4: members make several jobs"));
}

class JobFiles : public testing::Test {
 protected:
  JobFiles() { std::filesystem::create_directory(folder_.path() / "other"); }

  std::filesystem::path write(const std::string& name,
                              const std::string& lines) {
    std::filesystem::path path = folder_.path() / name;
    io::write_text(path, kBase + lines);
    return path;
  }

  io::ScratchDirectory folder_;
};

TEST_F(JobFiles, NamesOfSeveralFilesBeginWithTheirs) {
  auto a = write("a.yaml", "members: [{seed: 1}, {seed: 2}]\n");
  auto b = write("b.yaml", "");
  auto other = write("other/b.yaml", "seed: 5\n");
  auto array = write("array.yaml", "members: [{name: '0'}]\n");
  JobList list = read_job_list({a, b, other, array}, {"threads=1"});
  EXPECT_FALSE(list.is_single);
  EXPECT_THAT(names_of(list),
              ElementsAre("a-seed=1", "a-seed=2", "b", "b-2", "array-0-2"));
  EXPECT_EQ(list.jobs[3].config.seed, 5);
  EXPECT_EQ(list.jobs[3].config.threads, 1);
}

TEST_F(JobFiles, ProblemsOfAllFilesAreSaidAtOnce) {
  auto a = write("a.yaml", "seed: x\n");
  auto b = write("b.yaml", "members: [{seed: -1}, {}]\n");
  std::string text = thrown_by([&] { read_job_list({a, b}); });
  EXPECT_THAT(text, HasSubstr("a.yaml line 4: seed is a whole number"));
  EXPECT_THAT(text, HasSubstr("b.yaml line 4: members.0: seed is at least 0"));
}

}  // namespace
}  // namespace braid::train
