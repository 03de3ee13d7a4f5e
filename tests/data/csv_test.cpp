#include "data/files.h"

namespace braid::data {
namespace {

class Csv : public testing::Test {
 protected:
  DatasetPtr open(const std::string& text, Texts texts = {}) {
    write_text(scratch_.path() / "t.csv", text);
    texts.emplace("file", "t.csv");
    return open_source("csv", texts, scratch_.path());
  }
  std::string refused(const std::string& text, const Texts& texts = {}) {
    return error_of<std::runtime_error>([&] { open(text, texts); });
  }
  ScratchDirectory scratch_;
};

TEST_F(Csv, SortsLabelsThatAreWords) {
  DatasetPtr data = open("a,b,kind\n1,2.5,rose\n-3,4e2,iris\n 5 ,+6,rose\n");
  EXPECT_EQ(data->size(), 3);
  EXPECT_EQ(data->fields(), (std::vector<Field>{{"x", DType::kFloat32, {2}},
                                                {"y", DType::kInt64, {}, 2}}));
  EXPECT_EQ(values_of<float>(*data, 1, 0), (std::vector<float>{-3, 400}));
  EXPECT_EQ(values_of<float>(*data, 2, 0), (std::vector<float>{5, 6}));
  EXPECT_EQ(label_of(*data, 0), 1);
  EXPECT_EQ(label_of(*data, 1), 0);
}

TEST_F(Csv, KeepsLabelsThatAreNumbers) {
  DatasetPtr data = open("1,2,0\n3,4,7\n");
  EXPECT_EQ(data->size(), 2);
  EXPECT_EQ(data->fields()[1].classes, 8);
  EXPECT_EQ(label_of(*data, 1), 7);
  EXPECT_EQ(open("1,2,0\n", {{"classes", "10"}})->fields()[1].classes, 10);
}

TEST_F(Csv, KeepsLabelsThatAreWrittenAsDecimals) {
  DatasetPtr data = open("1,2,0.0\n3,4,10.0\n5,6,9\n");
  EXPECT_EQ(data->fields()[1].classes, 11);
  EXPECT_EQ(label_of(*data, 1), 10);
  EXPECT_EQ(label_of(*data, 2), 9);
}

// They would be numbered as words: 10.5 before 9.5.
TEST_F(Csv, RefusesFractionsAsClasses) {
  std::string text = "a,price\n1,9\n2,10.5\n";
  expect_contains(refused(text),
                  "expected classes in column 'price', got the number 10.5 (");
  expect_contains(refused(text), "t.csv, line 3)\nHINT: 'target: number'");
  EXPECT_NO_THROW(open(text, {{"target", "number"}}));
  EXPECT_NO_THROW(open(text, {{"names", "[9, 10.5]"}}));
  EXPECT_EQ(label_of(*open("1,-1\n2,1\n"), 0), 0);  // two classes
}

TEST_F(Csv, RefusesMissingLabels) {
  expect_contains(refused("1,a\n2,\n"), "expected a label in column 1, got ''");
  expect_contains(refused("1,0\n2,\n"), "t.csv, line 2)");
}

TEST_F(Csv, TakesNamesOfLabelsInAnOrder) {
  Texts texts = {{"names", "[b, a, c]"}};
  DatasetPtr data = open("1,a\n2,b\n", texts);
  EXPECT_EQ(data->fields()[1].classes, 3);
  EXPECT_EQ(label_of(*data, 0), 1);
  EXPECT_EQ(label_of(*data, 1), 0);
  expect_contains(refused("1,a\n2,d\n", texts),
                  "expected one of the given names as label, got 'd' (");
  expect_contains(refused("1,a\n2,d\n", texts), "t.csv, line 2)");
}

TEST_F(Csv, ChoosesColumnsByNameAndNumber) {
  std::string text = "id,kind,a,b\n9,x,1,2\n8,y,3,4\n";
  DatasetPtr data = open(text, {{"label", "kind"}, {"columns", "[b, 2]"}});
  EXPECT_EQ(values_of<float>(*data, 1, 0), (std::vector<float>{4, 3}));
  EXPECT_EQ(label_of(*data, 1), 1);
  data = open("5,1,2\n6,3,4\n", {{"label", "0"}});
  EXPECT_EQ(values_of<float>(*data, 1, 0), (std::vector<float>{3, 4}));
  EXPECT_EQ(label_of(*data, 1), 6);
  std::string message = error_of<std::invalid_argument>([&] {
    open(text, {{"label", "kinds"}});
  });
  expect_contains(message, "HINT: did you mean 'kind'?");
  for (const char* bad : {"4", "-5", "1.5"}) {
    EXPECT_THROW(open(text, {{"label", bad}}), std::invalid_argument);
  }
}

TEST_F(Csv, GivesNumbersOrNoLabels) {
  DatasetPtr numbers = open("1,2,0.5\n3,4,-7\n", {{"target", "number"}});
  EXPECT_EQ(numbers->fields()[1], (Field{"y", DType::kFloat32, {}}));
  EXPECT_EQ(values_of<float>(*numbers, 1, 1), std::vector<float>{-7});
  DatasetPtr none = open("1,2,3\n", {{"label", ""}});
  ASSERT_EQ(none->fields().size(), 1U);
  EXPECT_EQ(none->fields()[0].shape, Shape{3});
}

TEST_F(Csv, KnowsAHeader) {
  EXPECT_EQ(open("a,b\n1,2\n")->size(), 1);
  EXPECT_EQ(open("1,b\n1,c\n")->size(), 2);
  EXPECT_EQ(open("1,2\n3,4\n", {{"header", "yes"}})->size(), 1);
  expect_contains(refused("a,b\n1,2\n", {{"header", "no"}}),
                  "expected a number in column 0, got 'a'");
}

TEST_F(Csv, ReadsOtherSeparators) {
  EXPECT_EQ(open("1;2;0", {{"separator", "semicolon"}})->fields()[0].shape,
            Shape{2});
  EXPECT_EQ(open("1\t2\t0", {{"separator", "tab"}})->fields()[0].shape,
            Shape{2});
}

TEST_F(Csv, RefusesBadCellsWithLineAndColumn) {
  expect_contains(refused("a,b\n1,0\nx,0\n"),
                  "expected a number in column 'a', got 'x' (");
  expect_contains(refused("a,b\n1,0\nx,0\n"), "t.csv, line 3)");
  expect_contains(refused("1,0\n,0\n"), "got ''");
  expect_contains(refused("1,0\nnan,0\n"), "got 'nan'");
  expect_contains(refused("1,0\n1e999,0\n"), "got '1e999'");
  expect_contains(refused("1,2,0\n1,0\n"), "expected 3 cells, got 2 (");
  expect_contains(refused("1,5\n", {{"classes", "5"}}),
                  "expected a class below 5, got '5' (");
  expect_contains(refused("1,a\n1,b\n1,c\n", {{"classes", "2"}}),
                  "expected a class below 2, got 'c' (");
}

TEST_F(Csv, RefusesNoRows) {
  expect_contains(refused(""), "expected rows, got an empty file");
  expect_contains(refused("\n\n"), "expected rows, got an empty file");
  expect_contains(refused("a,b\n"), "expected rows, got a header alone");
  expect_contains(refused("1\n2\n"), "expected a column besides the label");
}

TEST(CsvHostile, Changes) {
  bears_every_change("csv", {{"file", "t.csv"}}, "t.csv",
                     "a,b,c\n1,2.5,\"x\"\n3,4,\"y\"\r\n");
}

}  // namespace
}  // namespace braid::data
