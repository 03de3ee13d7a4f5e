#include <set>
#include <sstream>

#include "data/samples.h"

namespace braid::data {
namespace {

constexpr std::string_view kCharacters = "\n*+-0123456789=";

std::string text_of(const Dataset& data, int64_t index) {
  std::string text;
  for (int64_t token : values_of<int64_t>(data, index, 0)) {
    text += kCharacters.at(static_cast<size_t>(token));
  }
  return text;
}

struct Sum {
  int64_t a = 0, b = 0, result = 0;
  char sign = ' ', equals = ' ';

  bool is_right() const {
    int64_t right = sign == '+' ? a + b : sign == '-' ? a - b : a * b;
    return equals == '=' && result == right;
  }
};

// The whole lines of a sample; the last one may be cut.
std::vector<std::string> lines_of(const Dataset& data, int64_t index) {
  std::istringstream text(text_of(data, index));
  std::vector<std::string> lines;
  for (std::string line; std::getline(text, line);) lines.push_back(line);
  if (!text_of(data, index).ends_with('\n')) lines.pop_back();
  return lines;
}

TEST(Arithmetic, IsRight) {
  DatasetPtr data = open_source(
      "arithmetic", {{"operators", "+-*"}, {"digits", "3"}, {"length", "80"}});
  EXPECT_EQ(data->fields(),
            (std::vector<Field>{{"tokens", DType::kInt64, {80}, 15},
                                {"targets", DType::kInt64, {80}, 15}}));
  std::set<char> signs;
  for (int64_t i = 0; i < 100; ++i) {
    std::vector<std::string> lines = lines_of(*data, i);
    EXPECT_GE(lines.size(), 4U);
    for (const std::string& line : lines) {
      Sum sum;
      std::istringstream(line) >> sum.a >> sum.sign >> sum.b >> sum.equals >>
          sum.result;
      EXPECT_TRUE(sum.is_right()) << line;
      EXPECT_LT(sum.a, 1000);
      signs.insert(sum.sign);
    }
  }
  EXPECT_EQ(signs.size(), 3U);
}

TEST(Arithmetic, HasTargetsOneFurther) {
  DatasetPtr data = open_source("arithmetic", {{"length", "16"}});
  for (int64_t i = 0; i < 20; ++i) {
    std::vector<int64_t> tokens = values_of<int64_t>(*data, i, 0);
    std::vector<int64_t> targets = values_of<int64_t>(*data, i, 1);
    tokens.erase(tokens.begin());
    EXPECT_GE(targets.back(), 0);
    EXPECT_LT(targets.back(), 15);
    targets.pop_back();
    EXPECT_EQ(tokens, targets);
  }
}

std::set<std::string> questions_of(const Texts& texts) {
  DatasetPtr data = open_source("arithmetic", texts);
  std::set<std::string> questions;
  for (int64_t i = 0; i < 500; ++i) {
    for (const std::string& line : lines_of(*data, i)) {
      questions.insert(line.substr(0, line.find('=')));
    }
  }
  return questions;
}

TEST(Arithmetic, NeverShowsTheQuestionsOfTheTest) {
  for (const char* signs : {"+", "-", "*", "+-*"}) {
    Texts texts = {{"digits", "1"}, {"operators", signs}};
    std::set<std::string> train = questions_of(texts);
    texts["part"] = "test";
    texts["seed"] = "5";
    std::set<std::string> test = questions_of(texts);
    EXPECT_GE(test.size(), 5U) << signs;
    EXPECT_EQ(train.size() + test.size(), 100 * std::string(signs).size());
    for (const std::string& question : test) {
      EXPECT_FALSE(train.contains(question)) << question;
    }
  }
}

TEST(Arithmetic, IsTheSameWheneverRead) {
  DatasetPtr a = open_source("arithmetic");
  EXPECT_EQ(text_of(*a, 3), text_of(*open_source("arithmetic"), 3));
  EXPECT_NE(text_of(*a, 3), text_of(*a, 4));
  EXPECT_NE(text_of(*a, 3),
            text_of(*open_source("arithmetic", {{"seed", "1"}}), 3));
}

TEST(Arithmetic, RefusesOtherSigns) {
  for (const Texts& texts : std::vector<Texts>{
           {{"operators", "/"}}, {{"operators", ""}}, {{"digits", "10"}}}) {
    EXPECT_THROW(open_source("arithmetic", texts), std::invalid_argument);
  }
}

}  // namespace
}  // namespace braid::data
