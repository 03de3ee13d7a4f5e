#include "braid/train/run/class_counts.h"

#include <gtest/gtest.h>

#include <cmath>

#include "braid/train/run/class_tables.h"
#include "thrown.h"

namespace braid::train {
namespace {

// Targets 0 0 0 1 1 2, taken as 0 1 0 1 2 none; class 3 never occurs.
ClassCounts some_counts() {
  ClassCounts counts(4, true);
  counts.add(0, 0);
  counts.add(0, 1);
  counts.add(0, 0);
  counts.add(1, 1);
  counts.add(1, 2);
  counts.add(2, -1);
  return counts;
}

TEST(ClassCounts, MeansAreThoseOfScikitLearn) {
  ClassCounts counts = some_counts();
  EXPECT_DOUBLE_EQ(counts.value("precision_macro"), (1 + 0.5 + 0) / 3);
  EXPECT_DOUBLE_EQ(counts.value("recall_macro"), (2 / 3.0 + 0.5 + 0) / 3);
  EXPECT_DOUBLE_EQ(counts.value("f1_macro"), (0.8 + 0.5 + 0) / 3);
  EXPECT_DOUBLE_EQ(counts.value("f1_weighted"), (3 * 0.8 + 2 * 0.5) / 6);
  EXPECT_DOUBLE_EQ(counts.value("recall_micro"), 3 / 6.0);
  EXPECT_DOUBLE_EQ(counts.value("precision_micro"), 3 / 5.0);
  EXPECT_DOUBLE_EQ(counts.value("f1_micro"), 6 / 11.0);
  EXPECT_DOUBLE_EQ(counts.value("precision"), 0.5);  // of class 1
}

TEST(ClassCounts, SharesOfNothingAreZero) {
  ClassCounts counts(2);
  EXPECT_TRUE(std::isnan(counts.value("f1")));
  EXPECT_TRUE(std::isnan(counts.value("recall_weighted")));
  counts.add(0, 0);
  for (const char* name : {"precision", "recall", "f1"}) {
    EXPECT_EQ(counts.value(name), 0) << name;
  }
  EXPECT_EQ(counts.value("f1_macro"), 1);
}

TEST(ClassCounts, ClassesThatThereAreNotAreRefused) {
  ClassCounts counts(2);
  EXPECT_EQ(thrown_by([&] { counts.add(2, 0); }),
            "[metrics] expected classes from 0 to 1, got 2");
  EXPECT_NE(thrown_by([&] { counts.add(0, 5); }), "");
}

TEST(ClassTables, AreCsvAndMarkdown) {
  ClassCounts counts = some_counts();
  EXPECT_EQ(classes_csv(counts, 7),
            "step,class,targets,taken,right,precision,recall,f1\n"
            "7,0,3,2,2,1,0.6666666666666666,0.8\n"
            "7,1,2,2,1,0.5,0.5,0.5\n"
            "7,2,1,1,0,0,0,0\n"
            "7,3,0,0,0,0,0,0\n");
  EXPECT_EQ(confusion_csv(counts),
            "target,0,1,2,3,none\n"
            "0,2,1,0,0,0\n"
            "1,0,1,1,0,0\n"
            "2,0,0,0,0,1\n"
            "3,0,0,0,0,0\n");
  ClassCounts right(2, true);
  right.add(1, 1);
  EXPECT_EQ(confusion_csv(right), "target,0,1\n0,0,0\n1,0,1\n");
  EXPECT_EQ(confusion_markdown(right),
            "| target | 0 | 1 |\n| ---: | ---: | ---: |\n"
            "| 0 | 0 | 0 |\n| 1 | 0 | 1 |\n");
}

TEST(ClassTables, HaveTheNamesOfTheirClasses) {
  ClassCounts counts(2, true);
  counts.add(1, 0);
  std::vector<std::string> names{"a,b", "c|d"};
  EXPECT_EQ(classes_csv(counts, 3, names),
            "step,class,name,targets,taken,right,precision,recall,f1\n"
            "3,0,\"a,b\",0,1,0,0,0,0\n"
            "3,1,c|d,1,0,0,0,0,0\n");
  EXPECT_EQ(confusion_csv(counts, names),
            "target,\"a,b\",c|d\n\"a,b\",0,0\nc|d,1,0\n");
  EXPECT_EQ(confusion_markdown(counts, names),
            "| target | a,b | c\\|d |\n| ---: | ---: | ---: |\n"
            "| a,b | 0 | 0 |\n| c\\|d | 1 | 0 |\n");
}

}  // namespace
}  // namespace braid::train
