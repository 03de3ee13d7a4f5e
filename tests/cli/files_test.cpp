// Members and plan files, and the values they set.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "braid/cli/members_file.h"
#include "braid/cli/settings.h"
#include "braid/models/models.h"
#include "braid/train/job/job_plan.h"
#include "io/scratch.h"
#include "thrown.h"

namespace braid::cli {
namespace {

using plan::Activations;
using plan::Parameters;
using plan::Update;

// A plan for these segments.
plan::Plan read_plan(const std::filesystem::path& path,
                     const std::vector<std::string>& segments) {
  return plan::resolve(train::read_plan_file(path), segments).filled();
}

class Files : public testing::Test {
 protected:
  std::filesystem::path write(const std::string& text) {
    std::filesystem::path path = folder_.path() / "file.yaml";
    io::write_text(path, text);
    return path;
  }

  io::ScratchDirectory folder_;
};

TEST_F(Files, MembersKeepWhatTheyName) {
  auto members =
      read_members(write("# two members\n"
                         "- seed: 4\n"
                         "  lr: 1e-4\n"
                         "- {init: a/b.safetensors, dropout: 0.1}\n"),
                   9);
  ASSERT_EQ(members.size(), 2u);
  EXPECT_EQ(members[0].seed, 4);
  ASSERT_EQ(members[0].settings.size(), 1u);
  EXPECT_EQ(members[0].settings[0].text, "1e-4");
  EXPECT_NE(members[0].settings[0].where.find("line 3"), std::string::npos);
  EXPECT_EQ(members[1].seed, 9);
  EXPECT_EQ(members[1].init, folder_.path() / "a/b.safetensors");
  EXPECT_TRUE(members[1].inputs.empty());
}

TEST_F(Files, PlansDecidePerSegment) {
  plan::Plan plan = read_plan(write("depth: 2\n"
                                    "segments:\n"
                                    "  head: keep\n"
                                    "  default: recompute\n"
                                    "  blocks.0: offload,spilled,host\n"),
                              {"stem", "blocks.0", "head"});
  EXPECT_EQ(plan.depth, 2);
  ASSERT_EQ(plan.segments.size(), 3u);
  EXPECT_EQ(plan.segments[0].activations, Activations::kRecompute);
  EXPECT_EQ(plan.segments[1],
            (plan::Decision{Activations::kOffload, Parameters::kSpilled,
                            Update::kHost}));
  EXPECT_EQ(plan.segments[2], plan::Decision{});
}

TEST_F(Files, ErrorsNameFileLineAndNearest) {
  std::string text = thrown_by(
      [&] { read_plan(write("segments:\n  block.0: keep\n"), {"blocks.0"}); });
  EXPECT_NE(text.find("file.yaml line 2"), std::string::npos) << text;
  EXPECT_NE(text.find("HINT: did you mean 'blocks.0'?"), std::string::npos);
}

// Whatever is written there, a file is looked through in no time.
TEST_F(Files, HugeAndDeepOnesAreRefused) {
  std::string keys = "- {";
  for (int i = 0; i < 5000; ++i) keys += fmt::format("k{}: 1, ", i);
  std::string bomb = "a: &a0 [x]\n";
  for (int i = 1; i < 60; ++i) {
    bomb += fmt::format("k{}: &a{} [*a{}, *a{}]\n", i, i, i - 1, i - 1);
  }
  const std::pair<std::string, std::string> cases[] = {
      {std::string(2000000, 'a'), "at most 1048576 bytes"},
      {keys + "}", "at most 4096 keys"},
      {std::string(100000, '['), "at most 64 levels"},
      {bomb, "at most 100000 values"},
  };
  for (const auto& [text, problem] : cases) {
    std::filesystem::path path = write(text);
    std::string error = thrown_by([&] { read_members(path, 1); });
    EXPECT_NE(error.find(problem), std::string::npos) << error.substr(0, 200);
  }
}

TEST(Settings, AreReadByNameKindAndRange) {
  OpTable ops = standard_ops();
  Graph graph = models::build_model(ops, "mlp(dropout=0.1)", DType::kFloat32);
  KnownValues known(passes::make_optimizer("sgd"), graph);
  EXPECT_EQ(known.read({"lr", "1e-3", "here"}), 1e-3);
  EXPECT_EQ(known.read({"lr", "inf", "here"}), INFINITY);
  EXPECT_EQ(known.read({"nesterov", "true", "here"}), 1);
  EXPECT_EQ(known.read({"dropout", "0.5", "here"}), 0.5);
  EXPECT_EQ(known.read({"drop.1.p", "0", "here"}), 0);
  EXPECT_TRUE(known.is_of_optimizer("clip_norm"));
  EXPECT_FALSE(known.is_of_optimizer("dropout"));
  for (auto [name, text] : {std::pair{"dropout", "1"},
                            {"clip_norm", "0"},
                            {"momentum", "-1"},
                            {"lr", "nan"},
                            {"skip_nonfinite", "0.5"},
                            {"beta1", "0.9"}}) {
    EXPECT_EQ(thrown_by([&] {
                known.read({name, text, "here"});
              }).find("here"),
              0u)
        << name;
  }
  EXPECT_NE(thrown_by([&] {
              known.read({"sede", "1", "here"}, {"seed"});
            }).find("'seed'"),
            std::string::npos);
}

}  // namespace
}  // namespace braid::cli
