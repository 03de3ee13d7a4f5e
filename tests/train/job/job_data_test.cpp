#include "braid/train/job/job_data.h"

#include <gtest/gtest.h>

#include <cstring>

#include "braid/data/sources.h"
#include "io/scratch.h"
#include "passes/text_graphs.h"

namespace braid::train {
namespace {

using io::error_of;
using io::expect_contains;
using passes::graph_of;

config::Options options(
    const std::vector<std::pair<std::string, std::string>>& pairs) {
  config::Options made;
  for (const auto& [name, text] : pairs) made.push_back({name, text});
  return made;
}

DataConfig glyphs(const std::string& count = "12",
                  const std::string& classes = "10") {
  return {.source = "glyphs",
          .options = options({{"count", count}, {"classes", classes}})};
}

JobConfig job(DataConfig data) {
  JobConfig made;
  made.data = std::move(data);
  return made;
}

class TableData : public testing::Test {
 protected:
  DataConfig table(const std::string& name, const std::string& text) {
    io::write_text(folder_.path() / name, text);
    return {.source = "csv",
            .options = options({{"file", (folder_.path() / name).string()}})};
  }

  io::ScratchDirectory folder_;
};

std::string usage_error(const JobConfig& config) {
  return error_of<std::invalid_argument>([&] { open_data(config); });
}

TEST(JobData, TheTestPartIsEvaluatedWhereThereIsOne) {
  JobData data = open_data(job(glyphs()));
  ASSERT_NE(data.eval, nullptr);
  EXPECT_EQ(data.train->size(), 12);
  EXPECT_EQ(data.eval->size(), 12);
  std::vector<std::byte> a(28 * 28 * 4), b(a.size()), label(8);
  std::byte* to_a[] = {a.data(), label.data()};
  std::byte* to_b[] = {b.data(), label.data()};
  data.train->read(0, {}, to_a);
  data.eval->read(0, {}, to_b);
  EXPECT_TRUE(a != b) << "both parts are the same";
}

TEST(JobData, TestDataAreNotEvaluatedOnThemselves) {
  DataConfig test = glyphs();
  test.options.push_back({"part", "test"});
  EXPECT_EQ(open_data(job(test)).eval, nullptr);
}

TEST(JobData, EvalDataMayBeNamedAndLimited) {
  JobConfig config = job(glyphs());
  config.eval.data = glyphs("30");
  config.eval.limit = 7;
  EXPECT_EQ(open_data(config).eval->size(), 7);
  config.eval.limit = 100;
  EXPECT_EQ(open_data(config).eval->size(), 30);
}

// The labels of a dataset, in order.
std::vector<int64_t> labels(const data::Dataset& dataset) {
  std::vector<std::vector<std::byte>> room;
  std::vector<std::byte*> out;
  for (const data::Field& field : dataset.fields()) {
    room.emplace_back(data::sample_bytes(field));
  }
  for (auto& bytes : room) out.push_back(bytes.data());
  std::vector<int64_t> found(static_cast<size_t>(dataset.size()));
  for (int64_t i = 0; i < dataset.size(); ++i) {
    dataset.read(i, {}, out);
    std::memcpy(&found[static_cast<size_t>(i)], out.back(), sizeof(int64_t));
  }
  return found;
}

// Rows whose label says which they are.
std::string counting_table(int rows) {
  std::string text;
  for (int i = 0; i < rows; ++i) text += fmt::format("{},{}\n", i, i);
  return text;
}

TEST_F(TableData, ASplitParts) {
  JobConfig config = job(table("a.csv", counting_table(40)));
  config.data.split = {.eval = 0.25, .seed = 3};
  JobData data = open_data(config);
  std::vector<int64_t> train = labels(*data.train), eval = labels(*data.eval);
  EXPECT_EQ(train.size(), 30u);
  EXPECT_EQ(eval.size(), 10u);
  std::vector<int64_t> all = train;
  all.insert(all.end(), eval.begin(), eval.end());
  std::ranges::sort(all);
  for (int64_t i = 0; i < 40; ++i) EXPECT_EQ(all[static_cast<size_t>(i)], i);
  EXPECT_EQ(data.eval_words, "by data.split");
  config.seed = 99;  // of the job, which is another
  EXPECT_EQ(labels(*open_data(config).eval), eval);
  config.data.split->seed = 4;
  EXPECT_NE(labels(*open_data(config).eval), eval);
}

TEST_F(TableData, EqualSplitsAreOneDataset) {
  JobConfig config = job(table("a.csv", counting_table(40)));
  config.data.split = {.eval = 0.25, .seed = 3};
  DatasetCache cache;
  JobData a = open_data(config, {.datasets = &cache});
  JobData b = open_data(config, {.datasets = &cache});
  EXPECT_EQ(a.train, b.train);
  EXPECT_EQ(a.eval, b.eval);
  EXPECT_NE(a.train, a.eval);
  config.data.split->seed = 4;
  JobData c = open_data(config, {.datasets = &cache});
  EXPECT_NE(a.train, c.train);
  config.data.split.reset();
  EXPECT_EQ(open_data(config, {.datasets = &cache}).train->size(), 40);
}

TEST(JobData, ASplitWinsOverTheTestPartAndSaysSo) {
  JobConfig config = job(glyphs("20"));
  config.data.split = {.eval = 5, .seed = 0};
  JobData data = open_data(config);
  EXPECT_EQ(data.train->size(), 15);
  EXPECT_EQ(data.eval->size(), 5);
  expect_contains(data.eval_words, "the test part of the source is not used");
}

TEST(JobData, ImagesThatAreHeldBackAreNotChanged) {
  JobConfig config = job(glyphs("20"));
  config.data.split = {.eval = 5, .seed = 0};
  config.data.augment = options({{"crop", "4"}, {"mean", "0.5"}});
  JobData data = open_data(config);
  auto first = [](const data::DatasetPtr& dataset, int64_t epoch) {
    std::vector<std::byte> x(28 * 28 * 4), y(8);
    std::byte* out[] = {x.data(), y.data()};
    dataset->read(0, {.seed = 1, .epoch = epoch}, out);
    return x;
  };
  EXPECT_NE(first(data.train, 0), first(data.train, 1));
  EXPECT_EQ(first(data.eval, 0), first(data.eval, 1));
}

TEST(JobData, ASplitNeedsSamplesForBothParts) {
  JobConfig config = job(glyphs("3"));
  config.data.split = {.eval = 0.1, .seed = 0};
  expect_contains(usage_error(config), "[data.split] 0.1 of 3 samples");
  config.data.split->eval = 3;
  expect_contains(usage_error(config), "3 of 3 samples");
}

// Datasets of a program are parted too.
TEST(JobData, AGivenDatasetIsParted) {
  JobConfig config;
  config.data.source = kCustom;
  config.data.split = {.eval = 0.5, .seed = 0};
  data::DatasetPtr given = data::open_source("glyphs", {{"count", "8"}});
  DatasetCache cache;
  JobData data = open_data(config, {.train = given, .datasets = &cache});
  EXPECT_EQ(data.train->size(), 4);
  EXPECT_EQ(data.eval->size(), 4);
  EXPECT_EQ(open_data(config, {.train = given, .datasets = &cache}).train,
            data.train);
}

TEST_F(TableData, ASourceWithoutPartsIsNotEvaluated) {
  EXPECT_EQ(open_data(job(table("a.csv", "1,2,0\n3,4,1\n"))).eval, nullptr);
}

TEST_F(TableData, OtherFieldsForEvaluationAreAnError) {
  JobConfig config = job(table("a.csv", "1,2,0\n3,4,1\n"));
  config.eval.data = table("b.csv", "1,2,3,0\n");
  expect_contains(usage_error(config),
                  "[data] training data have x f32 [2], y i64 [], eval data "
                  "x f32 [3], y i64 []");
}

TEST_F(TableData, TheSameFieldsInAnotherOrderAreOne) {
  class Turned : public data::Dataset {
   public:
    Turned()
        : Dataset("turned",
                  {{"y", DType::kInt64, {}, 9}, {"x", DType::kFloat32, {2}}},
                  3) {}
    void read(int64_t index, const data::Draw&,
              std::span<std::byte* const> out) const override {
      float x[] = {5, static_cast<float>(index)};
      std::memcpy(out[0], &index, sizeof index);
      std::memcpy(out[1], x, sizeof x);
    }
  };
  JobConfig config = job(table("a.csv", "1,2,0\n3,4,1\n"));
  config.eval.data = DataConfig{};
  JobData data = open_data(config, {.eval = std::make_shared<Turned>()});
  EXPECT_EQ(data.eval->fields()[0].name, "x");
  EXPECT_EQ(data.eval->fields()[1].name, "y");
  EXPECT_EQ(data.classes(1), 9);
  float x[2];
  int64_t y = 0;
  std::byte* out[] = {reinterpret_cast<std::byte*>(x),
                      reinterpret_cast<std::byte*>(&y)};
  data.eval->read(2, {}, out);
  EXPECT_EQ(x[1], 2);
  EXPECT_EQ(y, 2);
}

// A file that lacks a label would number the others anew.
TEST_F(TableData, LabelsHaveOneNumberInBothParts) {
  JobConfig config = job(table("a.csv", "1,2,iris\n3,4,rose\n5,6,tulip\n"));
  config.eval.data = table("b.csv", "1,2,rose\n1,2,tulip\n");
  EXPECT_EQ(labels(*open_data(config).eval), (std::vector<int64_t>{1, 2}));
  config.eval.data->options.push_back({"names", "[rose, tulip]"});
  std::string text = error_of<std::runtime_error>([&] { open_data(config); });
  expect_contains(text,
                  "[data] class 0 of the field 'y' is 'iris' in training");
  expect_contains(text, "'rose' in evaluation");
  config.eval.data->options.back().text = "[iris, rose, tulip]";
  EXPECT_NO_THROW(open_data(config));
  config.eval.data = table("b.csv", "1,2,rose\n1,2,fern\n");
  text = error_of<std::runtime_error>([&] { open_data(config); });
  expect_contains(text, "'fern'");
  expect_contains(text, "b.csv, line 2");
}

// What training taught is used for the evaluation, with nothing said there.
TEST_F(TableData, EvaluationDataAreReadAsTrainingDataAre) {
  JobConfig config = job(table("a.csv", "1,a,0\n,b,1\n3,a,1\n"));
  config.data.options.push_back({"missing", "mean"});
  config.data.options.push_back({"standardise", "true"});
  config.data.options.push_back({"categories", "one_hot"});
  config.eval.data = table("b.csv", ",b,1\n");
  JobData data = open_data(config);
  float x[3];
  int64_t y = 0;
  std::byte* out[] = {reinterpret_cast<std::byte*>(x),
                      reinterpret_cast<std::byte*>(&y)};
  data.eval->read(0, {}, out);
  EXPECT_EQ(x[0], 0);
  EXPECT_EQ(x[1], 0);
  EXPECT_EQ(x[2], 1);
  io::write_text(folder_.path() / "c.csv", "1,0,1,0\n");
  config.eval.data = {.source = kCustom};
  JobHooks hooks{
      .eval = data::open_source("csv", {{"file", "c.csv"}}, folder_.path())};
  expect_contains(
      error_of<std::invalid_argument>([&] { open_data(config, hooks); }),
      "evaluation data of");
}

TEST_F(TableData, ClassesAreThoseOfBothParts) {
  JobConfig config = job(table("a.csv", "1,2,0\n3,4,1\n"));
  EXPECT_EQ(open_data(config).classes(1), 2);
  config.eval.data = table("b.csv", "1,2,4\n");
  JobData data = open_data(config);
  EXPECT_EQ(data.classes(1), 5);
  EXPECT_EQ(data.classes(0), 0);
}

TEST(JobData, FieldsFeedArgumentsOfTheirNameOrOfAnother) {
  JobConfig config = job(glyphs());
  config.inputs = {{"x", "image"}};
  JobData data = open_data(config);
  EXPECT_EQ(data.argument("x"), "image");
  EXPECT_EQ(data.argument("y"), "y");
  EXPECT_EQ(data.field_of("image"), 0u);
  EXPECT_EQ(data.field_of("y"), 1u);
  EXPECT_EQ(data.field_of("x"), std::nullopt);
  auto types = argument_types(data, 5);
  EXPECT_EQ(types.at("image").shape, (Shape{5, 1, 28, 28}));
  EXPECT_EQ(types.at("y").shape, Shape{5});
  EXPECT_EQ(types.at("y").dtype, DType::kInt64);
}

TEST(JobData, AMisspeltKeyIsNotTakenForAnOption) {
  JobConfig config = job(glyphs());
  config.data.options.push_back({"allow_nam", "true"});
  expect_contains(
      usage_error(config),
      "unknown option 'allow_nam'\nHINT: did you mean 'allow_nan'?");
  config.data.options.back() = {"on_chang", "refuse"};
  expect_contains(usage_error(config), "did you mean 'on_change'?");
  config.data.options.back().name = "clases";
  expect_contains(usage_error(config), "did you mean 'classes'?");
}

TEST(JobData, AnUnknownFieldIsAnError) {
  JobConfig config = job(glyphs());
  config.inputs = {{"z", "image"}};
  expect_contains(usage_error(config), "[inputs] the data have no field 'z'");
}

TEST(JobData, FloatsAreOfTheJobsType) {
  JobConfig config = job(glyphs());
  config.dtype = "f64";
  JobData data = open_data(config);
  EXPECT_EQ(data.train->fields()[0].dtype, DType::kFloat64);
  EXPECT_EQ(data.eval->fields()[0].dtype, DType::kFloat64);
  EXPECT_EQ(data.train->fields()[1].dtype, DType::kInt64);
}

TEST(JobData, OnlyTrainingIsAugmented) {
  JobConfig config = job(glyphs());
  config.data.augment = options({{"flip", "true"}, {"mean", "0.5"}});
  JobData data = open_data(config);
  JobConfig plain = job(glyphs());
  plain.data.augment = options({{"mean", "0.5"}});
  JobData scaled = open_data(plain);
  std::vector<std::byte> label(8);
  auto differ = [&](const data::Dataset& a, const data::Dataset& b) {
    int count = 0;
    for (int64_t i = 0; i < 12; ++i) {
      std::vector<std::byte> one(28 * 28 * 4), other(one.size());
      std::byte* to_one[] = {one.data(), label.data()};
      std::byte* to_other[] = {other.data(), label.data()};
      a.read(i, {}, to_one);
      b.read(i, {}, to_other);
      count += one != other;
    }
    return count;
  };
  EXPECT_GT(differ(*data.train, *scaled.train), 0);
  EXPECT_EQ(differ(*data.eval, *scaled.eval), 0);
}

const char* const kModel = R"(
  input %0 "x" f32[4, 2]
  input %1 "y" i64[4]
  input %2 "/micro" i64[]
  %3: f32[], %4: f32[4], %5: f32[] = cross_entropy_loss(%0, %1)
  output "loss" %3
)";

TEST_F(TableData, ArgumentsAreCheckedAllAtOnce) {
  JobData data = open_data(job(table("a.csv", "1,2,0\n3,4,1\n")));
  EXPECT_NO_THROW(check_arguments(data, graph_of(kModel), 4, {}));
  Graph other = graph_of(R"(
    input %0 "x" f32[4, 3]
    input %1 "mask" f32[4]
    input %2 "z" f32[4]
    %3: f32[] = sum(%1) {dims=[0], keep_dims=false}
    output "loss" %3
  )");
  std::string text = error_of<std::invalid_argument>(
      [&] { check_arguments(data, other, 4, {"z"}); });
  expect_contains(text,
                  "argument 'x' is f32 [4, 3], the field 'x' gives f32 "
                  "[4, 2]");
  expect_contains(text, "argument 'mask' f32 [4] has no field");
  EXPECT_EQ(text.find("'z'"), text.npos) << text;
}

TEST(JobData, GreyImagesNeedAChannel) {
  class Flat : public data::Dataset {
   public:
    Flat() : Dataset("flat", {{"x", DType::kFloat32, {5, 6}}}, 1) {}
    void read(int64_t, const data::Draw&,
              std::span<std::byte* const>) const override {}
  };
  JobData data{std::make_shared<Flat>(), nullptr, {}};
  Graph images = graph_of(R"(
    input %0 "x" f32[4, 1, 5, 5]
    %1: f32[] = sum(%0) {dims=[0, 1, 2, 3], keep_dims=false}
    output "loss" %1
  )");
  std::string text = error_of<std::invalid_argument>(
      [&] { check_arguments(data, images, 4, {}); });
  expect_contains(text,
                  "HINT: images have channels, [C, H, W]: save x[:, None]");
  expect_contains(text, "[N, 1, 5, 6]");
}

TEST_F(TableData, MoreClassesThanTheModelHasAreAnError) {
  JobConfig config = job(table("a.csv", "1,2,0\n3,4,1\n"));
  config.eval.data = table("b.csv", "1,2,2\n");
  std::string text = error_of<std::invalid_argument>(
      [&] { check_arguments(open_data(config), graph_of(kModel), 4, {}); });
  expect_contains(text, "argument 'y' takes 2 classes, the field 'y' has 3: ");
  expect_contains(text, "line 1 of ");
  expect_contains(text, "b.csv holds 2, expected 0 to 1");
}

TEST_F(TableData, PathsBecomeAbsolute) {
  JobConfig config = job(table("a.csv", "1,2,0\n"));
  config.data.options[0].text = "a.csv";
  resolve_data_paths(config);
  EXPECT_TRUE(std::filesystem::path(config.data.options[0].text).is_absolute());
}

}  // namespace
}  // namespace braid::train
