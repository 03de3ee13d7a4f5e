// Tables with missing cells, scales and words.
#include <cmath>

#include "braid/data/known_fields.h"
#include "braid/data/table_cells.h"
#include "braid/data/table_facts.h"
#include "data/files.h"

namespace braid::data {
namespace {

using Floats = std::vector<float>;
using Wholes = std::vector<int64_t>;

class CsvTables : public testing::Test {
 protected:
  DatasetPtr open(const std::string& text, Texts texts = {},
                  const Opening& opening = {}) {
    write_text(scratch_.path() / "t.csv", text);
    texts.emplace("file", "t.csv");
    return open_source("csv", texts, scratch_.path(), opening);
  }
  DatasetPtr open_like(const DatasetPtr& train, const std::string& text,
                       const Texts& texts = {}) {
    return open(text, texts, {.known = &train->fields()});
  }
  std::string refused(const std::string& text, const Texts& texts = {},
                      const Opening& opening = {}) {
    return error_of<std::runtime_error>([&] { open(text, texts, opening); });
  }
  Floats x(const DatasetPtr& data, int64_t row) const {
    return values_of<float>(*data, row, 0);
  }
  ScratchDirectory scratch_;
};

const std::string kGaps = "a,b,y\n1,,0\n,4,1\n3,6,0\n8,NA,1\n";

TEST(TableCells, KnowsWhatIsMissing) {
  for (const char* cell : {"", "  ", "\t", "NA", "na", "N/A", "NaN", "nan",
                           " nan ", "null", "NULL", "None", "?"}) {
    EXPECT_TRUE(is_missing(cell)) << cell;
  }
  for (const char* cell : {"0", "nana", "-", "none at all", "inf", "N"}) {
    EXPECT_FALSE(is_missing(cell)) << cell;
  }
}

TEST_F(CsvTables, MissingCellsAreAnErrorThatSaysWhatHelps) {
  std::string text = refused(kGaps);
  expect_contains(text, "expected a number in column 'b', got ''");
  expect_contains(text, "line 2)");
  expect_contains(text, "HINT: 'missing' says");
  text = refused(kGaps, {{"standardise", "true"}});
  expect_contains(text, "line 2)");
  expect_contains(text, "HINT: 'missing' says");
}

TEST_F(CsvTables, MissingCellsAreFilled) {
  DatasetPtr mean = open(kGaps, {{"missing", "mean"}});
  EXPECT_EQ(mean->size(), 4);
  EXPECT_EQ(x(mean, 0), (Floats{1, 5}));
  EXPECT_EQ(x(mean, 1), (Floats{4, 4}));
  EXPECT_EQ(x(mean, 3), (Floats{8, 5}));
  DatasetPtr median = open(kGaps, {{"missing", "median"}});
  EXPECT_EQ(x(median, 1), (Floats{3, 4}));
  EXPECT_EQ(x(median, 0), (Floats{1, 5}));
  DatasetPtr zero = open(kGaps, {{"missing", "zero"}});
  EXPECT_EQ(x(zero, 1), (Floats{0, 4}));
}

TEST_F(CsvTables, RowsWithMissingCellsAreLeftOut) {
  DatasetPtr data =
      open("a,b,y\n1,2,0\n,4,1\n3,6,\n8,9,1\n", {{"missing", "drop"}});
  EXPECT_EQ(data->size(), 2);
  EXPECT_EQ(x(data, 1), (Floats{8, 9}));
  EXPECT_EQ(label_of(*data, 1), 1);
  expect_contains(data->place(0, 1), "line 5 of ");
  expect_contains(refused("a,y\n,1\n", {{"missing", "drop"}}),
                  "a row without missing cells");
  DatasetPtr number =
      open("a,y\n1,2\n3,NA\n", {{"missing", "drop"}, {"target", "number"}});
  EXPECT_EQ(number->size(), 1);
  expect_contains(
      refused("a,y\n1,2\n3,NA\n", {{"missing", "mean"}, {"target", "number"}}),
      "'missing: drop' leaves such rows out");
}

TEST_F(CsvTables, NumbersAreStandardised) {
  DatasetPtr data = open("a,b,c,y\n1,5,0.1,0\n2,5,0.1,1\n6,5,0.1,0\n",
                         {{"standardise", "true"}});
  double deviation = std::sqrt((4.0 + 1.0 + 9.0) / 3);
  for (auto [row, a] : {std::pair{0, 1.0}, {1, 2.0}, {2, 6.0}}) {
    EXPECT_EQ(x(data, row),
              (Floats{static_cast<float>((a - 3) / deviation), 0, 0}));
  }
}

// As of sklearn's SimpleImputer and StandardScaler one after the other.
TEST_F(CsvTables, CellsThatAreFilledInCountForTheScale) {
  DatasetPtr data =
      open("a,y\n1,0\n,1\n3,0\n", {{"missing", "zero"}, {"standardise", "1"}});
  double mean = 4.0 / 3, deviation = std::sqrt(10.0 / 3 - mean * mean);
  EXPECT_NEAR(x(data, 1)[0], -mean / deviation, 1e-6);
  EXPECT_NEAR(x(data, 2)[0], (3 - mean) / deviation, 1e-6);
}

TEST_F(CsvTables, EvaluationIsReadByTheFactsOfTraining) {
  DatasetPtr train = open("a,b,y\n1,,0\n3,4,1\n",
                          {{"missing", "mean"}, {"standardise", "true"}});
  DatasetPtr eval = open_like(train, "a,b,y\n,10,1\n5,,0\n");
  EXPECT_EQ(x(eval, 0), (Floats{0, 6}));  // b: mean 4, one value
  EXPECT_EQ(x(eval, 1), (Floats{3, 0}));  // a: mean 2, deviation 1
  EXPECT_EQ(*eval->fields()[0].table, *train->fields()[0].table);
  std::string text = error_of<std::invalid_argument>([&] {
    open_like(train, "a,b,y\n1,2,0\n", {{"missing", "zero"}});
  });
  expect_contains(text, "'missing' is 'zero' here, and 'mean'");
  text = error_of<std::invalid_argument>(
      [&] { open_like(train, "b,a,y\n1,2,0\n"); });
  expect_contains(text, "expected the column 'a'");
  EXPECT_EQ(x(open_like(train, "b,a,y\n4,2,0\n", {{"columns", "[a, b]"}}), 0),
            (Floats{0, 0}));
  text =
      error_of<std::invalid_argument>([&] { open_like(train, "a,y\n1,0\n"); });
  expect_contains(text, "expected 2 columns as the training data have, got 1");
  DatasetPtr plain = open("a,b,y\n1,2,0\n");
  text = error_of<std::invalid_argument>([&] {
    open_like(plain, "a,b,y\n1,2,0\n", {{"standardise", "true"}});
  });
  expect_contains(text, "'standardise' is 'true' here, and 'false'");
}

const std::string kWords =
    "colour,size,y\nred,1,0\nblue,2,1\n red ,3,0\ngreen,4,1\n";

TEST_F(CsvTables, WordsAreRefusedWithAHint) {
  std::string text = refused(kWords);
  expect_contains(text, "expected a number in column 'colour', got 'red'");
  expect_contains(text, "HINT: 'categories' says");
}

TEST_F(CsvTables, WordsBecomeOneOfSeveral) {
  DatasetPtr data = open(kWords, {{"categories", "one_hot"}});
  EXPECT_EQ(data->fields()[0].shape, (Shape{4}));
  EXPECT_EQ(x(data, 0), (Floats{0, 0, 1, 1}));  // blue, green, red
  EXPECT_EQ(x(data, 1), (Floats{1, 0, 0, 2}));
  EXPECT_EQ(x(data, 2), (Floats{0, 0, 1, 3}));
  DatasetPtr scaled =
      open(kWords, {{"categories", "one_hot"}, {"standardise", "true"}});
  EXPECT_EQ(x(scaled, 1)[0], 1);  // these stay 0 and 1
}

TEST_F(CsvTables, WordsBecomeCodes) {
  DatasetPtr data = open(kWords, {{"categories", "codes"}});
  ASSERT_EQ(data->fields().size(), 3u);
  EXPECT_EQ(data->fields()[0], (Field{"x", DType::kFloat32, {1}}));
  EXPECT_EQ(data->fields()[1], (Field{"codes", DType::kInt64, {1}, 3}));
  EXPECT_EQ(values_of<int64_t>(*data, 0, 1), Wholes{2});
  EXPECT_EQ(values_of<int64_t>(*data, 3, 1), Wholes{1});
  DatasetPtr alone = open("c,y\na,0\nb,1\n", {{"categories", "codes"}});
  EXPECT_EQ(alone->fields()[0].name, "codes");
}

TEST_F(CsvTables, ColumnsOfNumbersMayBeCategories) {
  Texts texts = {{"categories", "codes"}, {"category_columns", "[zip]"}};
  DatasetPtr data = open("zip,a,y\n08,1,0\n9,2,1\n10,3,1\n", texts);
  EXPECT_EQ(values_of<int64_t>(*data, 0, 1), Wholes{0});  // "08", "10", "9"
  EXPECT_EQ(values_of<int64_t>(*data, 1, 1), Wholes{2});
  // Then a word in another column is an error still.
  expect_contains(refused("zip,a,y\n8,one,0\n", texts),
                  "a number in column 'a'");
  std::string text = error_of<std::invalid_argument>([&] {
    open(kWords, {{"category_columns", "[colour]"}});
  });
  expect_contains(text, "HINT: write categories: one_hot");
  text = error_of<std::invalid_argument>([&] {
    open(kWords, {{"categories", "codes"}, {"category_columns", "[y]"}});
  });
  expect_contains(text, "expected a column of x");
}

TEST_F(CsvTables, AMisspeltNumberMakesNoThousandColumns) {
  std::string text = "a,y\n";
  for (int i = 0; i < 1500; ++i) {
    text += i == 700 ? "7OO,1\n" : fmt::format("{},0\n", i);
  }
  std::string message = refused(text, {{"categories", "one_hot"}});
  expect_contains(message, "at most 1000 categories in column 'a', got 1500");
  expect_contains(message, "line 702)");
  EXPECT_EQ(open(text, {{"categories", "codes"}})->fields()[0].classes, 1500);
}

TEST_F(CsvTables, UnknownCategoriesAreAnErrorOrTheirOwn) {
  const std::string other = "colour,size,y\nblue,1,0\npink,2,1\n";
  DatasetPtr strict = open(kWords, {{"categories", "one_hot"}});
  Opening opening{.known = &strict->fields()};
  std::string text = refused(other, {}, opening);
  expect_contains(text,
                  "expected a category of column 'colour' that the training "
                  "data have, got 'pink'");
  expect_contains(text, "line 3)");
  DatasetPtr hot =
      open(kWords, {{"categories", "one_hot"}, {"unknown", "own"}});
  EXPECT_EQ(x(open_like(hot, other), 1), (Floats{0, 0, 0, 2}));
  DatasetPtr codes =
      open(kWords, {{"categories", "codes"}, {"unknown", "own"}});
  EXPECT_EQ(codes->fields()[1].classes, 4);
  DatasetPtr eval = open_like(codes, other);
  EXPECT_EQ(values_of<int64_t>(*eval, 1, 1), Wholes{3});
  EXPECT_EQ(values_of<int64_t>(*eval, 0, 1), Wholes{0});
  EXPECT_EQ(eval->fields()[1].classes, 4);
}

TEST_F(CsvTables, MissingCategoriesAreOneOfTheirOwn) {
  const std::string text = "c,y\nb,0\n,1\na,0\n";
  DatasetPtr data =
      open(text, {{"categories", "one_hot"}, {"missing", "mean"}});
  EXPECT_EQ(x(data, 1), (Floats{1, 0, 0}));  // "", a, b
  EXPECT_EQ(x(data, 0), (Floats{0, 0, 1}));
  expect_contains(refused(text, {{"categories", "one_hot"}}),
                  "expected a cell in column 'c', got ''");
}

// Rows that are held back teach nothing.
TEST_F(CsvTables, StatisticsAreThoseOfTheTrainingPart) {
  std::string text = "a,c,y\n";
  for (int i = 0; i < 40; ++i) {
    text += fmt::format("{},w{},{}\n", i * i, i % 20, i % 2);
  }
  Split split{0.25, 3};
  DatasetPtr data = open(
      text,
      {{"standardise", "true"}, {"categories", "codes"}, {"unknown", "own"}},
      {.split = split});
  EXPECT_EQ(data->size(), 40);
  Parts parts = split_samples(split, 40, 0, "t");
  double mean = 0, square = 0;
  for (int64_t i = 0; i < 30; ++i) {
    auto value = static_cast<double>(parts.train[i] * parts.train[i]);
    mean += value / 30;
    square += value * value / 30;
  }
  const TableFacts& facts = *data->fields()[0].table;
  EXPECT_NEAR(facts.columns[0].mean, mean, 1e-9);
  EXPECT_NEAR(facts.columns[0].deviation, std::sqrt(square - mean * mean),
              1e-6);
  DatasetPtr few = open(text, {{"standardise", "true"},
                               {"categories", "one_hot"},
                               {"unknown", "own"},
                               {"limit", "3"}});
  EXPECT_EQ(few->fields()[0].table->columns[0].mean, 5.0 / 3);
  EXPECT_EQ(few->fields()[0].table->columns[1].categories.size(), 3u);
}

TEST_F(CsvTables, AColumnWithoutNumbersTeachesNothing) {
  std::string text = refused("a,b,y\n1,,0\n2,,1\n", {{"missing", "mean"}});
  expect_contains(text, "column 'b'");
  expect_contains(text, "leave the column out");
}

TEST_F(CsvTables, LabelsAreNumberedAsInTraining) {
  DatasetPtr train = open("a,y\n1,iris\n2,rose\n3,tulip\n");
  DatasetPtr eval = open_like(train, "a,y\n1,tulip\n2,rose\n");
  EXPECT_EQ(label_of(*eval, 0), 2);
  EXPECT_EQ(label_of(*eval, 1), 1);
  EXPECT_EQ(eval->fields()[1].classes, 3);
  Opening opening{.known = &train->fields()};
  expect_contains(refused("a,y\n1,fern\n", {}, opening),
                  "expected a label that the training data have, got 'fern'");
  expect_contains(refused("a,y\n1,0\n", {}, opening), "got '0'");
  DatasetPtr numbers = open("a,y\n1,0\n2,1\n");
  expect_contains(error_of<std::invalid_argument>(
                      [&] { open_like(numbers, "a,y\n1,rose\n"); }),
                  "the training data have numbers as labels");
}

TEST_F(CsvTables, WhatWasLearnedCanBeKept) {
  DatasetPtr train =
      open("a,c,y\n1.1,\xC3\xA9t\xC3\xA9,iris\n,b,rose\n7,\xFF,rose\n",
           {{"missing", "median"},
            {"standardise", "true"},
            {"categories", "codes"},
            {"unknown", "own"}});
  ASSERT_TRUE(has_known(train->fields()));
  std::vector<Field> back =
      parse_known_fields(known_json(train->fields()), "data.json");
  EXPECT_EQ(back, train->fields());
  EXPECT_EQ(back[2].class_names, train->fields()[2].class_names);
  EXPECT_EQ(*back[0].table, *train->fields()[0].table);
  EXPECT_EQ(known_text(back), known_text(train->fields()));
  const std::string other = "a,c,y\n,zz,rose\n2,\xFF,iris\n";
  DatasetPtr one = open_like(train, other),
             two = open(other, {}, {.known = &back});
  for (int64_t i = 0; i < 2; ++i) {
    EXPECT_EQ(sample_of(*one, i), sample_of(*two, i));
  }
}

TEST(KnownFields, OtherFilesAreRefused) {
  for (const char* text :
       {"", "{}", "[]", "{\"version\": 9, \"fields\": []}",
        "{\"version\": 1, \"fields\": [{\"name\": 3}]}",
        "{\"version\": 1, \"fields\": [{\"name\": \"x\", \"dtype\": \"f9\", "
        "\"shape\": [], \"classes\": 0}]}"}) {
    expect_contains(error_of<std::runtime_error>(
                        [&] { parse_known_fields(text, "data.json"); }),
                    "data.json");
  }
  DatasetPtr glyphs = open_source("glyphs", {{"count", "2"}});
  EXPECT_FALSE(has_known(glyphs->fields()));
  EXPECT_EQ(known_text(glyphs->fields()), "");
}

TEST(CsvTablesHostile, BeginningsAndChanges) {
  Texts texts = {{"file", "t.csv"},
                 {"missing", "median"},
                 {"standardise", "true"},
                 {"categories", "codes"},
                 {"unknown", "own"}};
  bears_every_change("csv", texts, "t.csv", "a,c,y\n1,x,0\n,\"y\",1\n3,,0\n");
}

}  // namespace
}  // namespace braid::data
