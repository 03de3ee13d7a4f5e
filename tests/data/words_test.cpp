#include "braid/data/words.h"

#include "data/files.h"

namespace braid::data {
namespace {

using Numbers64 = std::vector<int64_t>;
using Names = std::vector<std::string>;

// All tokens of a text, read one by one.
class Words : public testing::Test {
 protected:
  DatasetPtr open(const std::string& text, Texts texts = {},
                  const Opening& opening = {}) {
    write_text(scratch_.path() / "t.txt", text);
    texts.emplace("file", "t.txt");
    texts.emplace("unit", "words");
    texts.emplace("length", "1");
    texts.emplace("val_fraction", "0");
    return open_source("text", texts, scratch_.path(), opening);
  }
  static Numbers64 tokens_of(const DatasetPtr& data) {
    Numbers64 tokens;
    for (int64_t i = 0; i < data->size(); ++i) {
      tokens.push_back(values_of<int64_t>(*data, i, 0)[0]);
    }
    tokens.push_back(values_of<int64_t>(*data, data->size() - 1, 1)[0]);
    return tokens;
  }
  ScratchDirectory scratch_;
};

TEST_F(Words, AreNumberedByHowOftenTheyAre) {
  DatasetPtr data = open("b a  b\n\n c\tb a\r\n");
  EXPECT_EQ(data->fields()[0].class_names,
            (Names{"<unk>", "<eos>", "b", "a", "c"}));
  EXPECT_EQ(data->fields()[0].classes, 5);
  EXPECT_EQ(data->fields()[0].unit, "words");
  EXPECT_EQ(tokens_of(data), (Numbers64{2, 3, 2, 1, 1, 4, 2, 3, 1}));
}

TEST_F(Words, EqualOnesAreInOrderAndTheLastLineMayBeOpen) {
  DatasetPtr data = open("z y x\nx y z");
  EXPECT_EQ(data->fields()[0].class_names,
            (Names{"<unk>", "<eos>", "x", "y", "z"}));
  EXPECT_EQ(tokens_of(data), (Numbers64{4, 3, 2, 1, 2, 3, 4, 1}));
}

TEST_F(Words, BeyondTheVocabularyAreUnknown) {
  DatasetPtr data = open("a a a b b c\n", {{"vocab", "4"}});
  EXPECT_EQ(data->fields()[0].class_names, (Names{"<unk>", "<eos>", "a", "b"}));
  EXPECT_EQ(tokens_of(data), (Numbers64{2, 2, 2, 3, 3, 0, 1}));
  EXPECT_EQ(open("a b\n", {{"vocab", "100"}})->fields()[0].classes, 4);
  for (const char* vocab : {"1", "2"}) {
    EXPECT_THROW(open("a b\n", {{"vocab", vocab}}), std::invalid_argument);
  }
  EXPECT_THROW(open("a b\n", {{"vocab", "9"}, {"unit", "bytes"}}),
               std::invalid_argument);
}

// WikiText has <unk> in its text.
TEST_F(Words, OwnMarksInTheTextAreTheSame) {
  DatasetPtr data = open("a <unk> <eos> a\n");
  EXPECT_EQ(data->fields()[0].class_names, (Names{"<unk>", "<eos>", "a"}));
  EXPECT_EQ(tokens_of(data), (Numbers64{2, 0, 1, 2, 1}));
}

TEST_F(Words, OtherTextsAreReadByTheWordsOfTraining) {
  DatasetPtr train = open("b b a\n");
  Opening opening{.known = &train->fields()};
  DatasetPtr eval = open("a c b\nc\n", {}, opening);
  EXPECT_EQ(eval->fields()[0].class_names, train->fields()[0].class_names);
  EXPECT_EQ(tokens_of(eval), (Numbers64{3, 0, 2, 1, 0, 1}));
  // The unit follows too.
  DatasetPtr same = open_source(
      "text", {{"file", "t.txt"}, {"length", "1"}, {"val_fraction", "0"}},
      scratch_.path(), opening);
  EXPECT_EQ(tokens_of(same), tokens_of(eval));
  EXPECT_THROW(open("a b c\n", {{"unit", "characters"}}, opening),
               std::invalid_argument);
}

TEST_F(Words, OnlyTheTrainingPartTeachesWords) {
  const std::string text = "a b a b a b a b\nc d e f\n";  // 14 tokens
  DatasetPtr train = open(text, {{"val_fraction", "0.4"}});
  EXPECT_EQ(train->fields()[0].class_names,
            (Names{"<unk>", "<eos>", "a", "b"}));
  DatasetPtr val = open(text, {{"val_fraction", "0.4"}, {"part", "val"}});
  EXPECT_EQ(val->fields()[0].class_names, train->fields()[0].class_names);
  EXPECT_EQ(tokens_of(val), (Numbers64{1, 0, 0, 0, 0, 1}));
  DatasetPtr split = open(text, {}, {.split = Split{5, 0}});
  EXPECT_EQ(split->fields()[0].class_names, train->fields()[0].class_names);
  DatasetPtr few = open("a b c d\n", {{"limit", "2"}});
  EXPECT_EQ(few->fields()[0].classes, 5);  // a, b and the target c
}

TEST_F(Words, AreUtf8) {
  DatasetPtr data = open("\xC3\xA9t\xC3\xA9 \xE6\x97\xA5\xE6\x9C\xAC\n");
  EXPECT_EQ(data->fields()[0].class_names[2], "\xC3\xA9t\xC3\xA9");
  expect_contains(error_of<std::runtime_error>([&] { open("ab \xFF\n"); }),
                  "offset 3");
  expect_contains(error_of<std::runtime_error>([&] { open(""); }), "tokens");
}

TEST(WordsHostile, Changes) {
  bears_every_change("text",
                     {{"file", "t"}, {"unit", "words"}, {"length", "2"}}, "t",
                     "ab cd \xC3\xA9\nab\n\nx y\n");
}

class Characters : public testing::Test {
 protected:
  DatasetPtr open(const std::string& text, const Opening& opening = {}) {
    write_text(scratch_.path() / "t.txt", text);
    return open_source(
        "text", {{"file", "t.txt"}, {"length", "1"}, {"val_fraction", "0"}},
        scratch_.path(), opening);
  }
  ScratchDirectory scratch_;
};

TEST_F(Characters, OtherTextsAreReadByThoseOfTraining) {
  DatasetPtr train = open("abcd\xC3\xA9");
  Opening opening{.known = &train->fields()};
  DatasetPtr eval = open(
      "\xC3\xA9"
      "bd",
      opening);
  EXPECT_EQ(values_of<int64_t>(*eval, 0, 0), Numbers64{4});
  EXPECT_EQ(values_of<int64_t>(*eval, 1, 1), Numbers64{3});
  EXPECT_EQ(eval->fields()[0].classes, 5);
  expect_contains(
      error_of<std::runtime_error>([&] { open("abx", opening); }),
      "expected a character that the training data have, got U+0078");
}

}  // namespace
}  // namespace braid::data
