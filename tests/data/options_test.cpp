#include "braid/data/options.h"

#include "data/samples.h"

namespace braid::data {
namespace {

using Kind = Option::Kind;

std::vector<Option> table() {
  return {{"file", Kind::kPath, "", "where", {}, true},
          {"length", Kind::kWhole, "64", "tokens"},
          {"limit", Kind::kCount, "0", "samples"},
          {"noise", Kind::kNumber, "0.5", "of pixels"},
          {"header", Kind::kFlag, "true", "first line"},
          choice_option("part", {"train", "test"}, "which"),
          {"mean", Kind::kNumbers, "", "per channel"},
          {"names", Kind::kNames, "", "of labels"},
          {"files", Kind::kFiles, "", "by field"},
          {"note", Kind::kText, "", "anything"}};
}

Options read(Texts texts) {
  texts.emplace("file", "a.txt");
  return Options("data.test", table(), texts, "/base");
}

std::string refused(const Texts& texts) {
  return error_of<std::invalid_argument>([&] { read(texts); });
}

TEST(DataOptions, HaveTheDefaultsOfTheTable) {
  Options options = read({});
  EXPECT_EQ(options.whole("length"), 64);
  EXPECT_EQ(options.whole("limit"), 0);
  EXPECT_EQ(options.number("noise"), 0.5);
  EXPECT_TRUE(options.flag("header"));
  EXPECT_EQ(options.text("part"), "train");
  EXPECT_FALSE(options.has("mean"));
  EXPECT_TRUE(options.has("noise"));
  EXPECT_FALSE(options.is_given("noise"));
}

TEST(DataOptions, AreReadByKind) {
  Options options = read({{"length", "8"},
                          {"noise", "1e-3"},
                          {"header", "false"},
                          {"part", "test"},
                          {"mean", "[0.5, 0.25]"},
                          {"names", "a, b"},
                          {"files", "[x=images.npy, y=/abs/labels.npy]"}});
  EXPECT_EQ(options.whole("length"), 8);
  EXPECT_EQ(options.number("noise"), 1e-3);
  EXPECT_FALSE(options.flag("header"));
  EXPECT_EQ(options.text("part"), "test");
  EXPECT_EQ(options.numbers("mean"), (std::vector<double>{0.5, 0.25}));
  EXPECT_EQ(options.names("names"), (std::vector<std::string>{"a", "b"}));
  auto files = options.files("files");
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].first, "x");
  EXPECT_EQ(files[0].second, "/base/images.npy");
  EXPECT_EQ(files[1].second, "/abs/labels.npy");
  EXPECT_TRUE(options.is_given("noise"));
}

// As lists of a job file come, where texts are quoted there.
TEST(DataOptions, ItemsOfListsMayBeQuoted) {
  auto names = [](const std::string& text) {
    return Options("test", {{"names", Option::Kind::kNames, "", ""}},
                   {{"names", text}})
        .names("names");
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names("[\"a\",b, \"c, d\"]"), (Names{"a", "b", "c, d"}));
  EXPECT_EQ(names("\"x=y\""), Names{"x=y"});
  EXPECT_EQ(names("[\"\",\"say \\\"no\\\"\", \"a\\\\b\\n\"]"),
            (Names{"", "say \"no\"", "a\\b\n"}));
  EXPECT_EQ(names("[\"open, b]"), (Names{"\"open", "b"}));
  EXPECT_EQ(names("[a\"b, c]"), (Names{"a\"b", "c"}));
  EXPECT_THROW(names("[a,,b]"), std::invalid_argument);
}

TEST(DataOptions, TakeRelativePathsFromTheBase) {
  EXPECT_EQ(read({}).path("file"), "/base/a.txt");
  EXPECT_EQ(read({{"file", "/x/b.txt"}}).path("file"), "/x/b.txt");
}

TEST(DataOptions, RefuseUnknownNamesWithTheNearest) {
  EXPECT_EQ(refused({{"lenght", "8"}}),
            "[data.test] unknown option 'lenght'\n"
            "HINT: did you mean 'length'?");
}

TEST(DataOptions, RefuseValuesOfAnotherKind) {
  for (const Texts& texts : std::vector<Texts>{{{"length", "0"}},
                                               {{"length", "many"}},
                                               {{"length", "1.5"}},
                                               {{"length", "8 "}},
                                               {{"length", ""}},
                                               {{"limit", "-1"}},
                                               {{"noise", "inf"}},
                                               {{"noise", "0.1x"}},
                                               {{"header", "yes"}},
                                               {{"part", "tset"}},
                                               {{"mean", "[0.5, x]"}},
                                               {{"mean", "[]"}},
                                               {{"names", "a,,b"}},
                                               {{"files", "images.npy"}},
                                               {{"files", "x="}},
                                               {{"file", ""}}}) {
    std::string message = refused(texts);
    expect_contains(message, "for '" + texts.begin()->first + "', got '" +
                                 texts.begin()->second + "'");
  }
  EXPECT_EQ(refused({{"part", "tset"}}),
            "[data.test] expected one of train, test for 'part', got 'tset'\n"
            "HINT: did you mean 'test'?");
}

TEST(DataOptions, WantWhatIsRequired) {
  std::string message = error_of<std::invalid_argument>(
      [] { Options("data.test", table(), {}); });
  expect_contains(message, "[data.test] expected the option 'file', got none");
  expect_contains(message, "HINT: file: where (a path)");
}

TEST(DataOptions, AskedWronglyAreAMistakeOfTheProgram) {
  EXPECT_THROW(read({}).text("nothing"), std::logic_error);
  EXPECT_THROW(read({}).text("mean"), std::logic_error);
}

}  // namespace
}  // namespace braid::data
