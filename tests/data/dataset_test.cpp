#include "braid/data/dataset.h"

#include "data/files.h"

namespace braid::data {
namespace {

class TwoFiles : public testing::Test {
 protected:
  TwoFiles() {
    write_text(
        scratch_.path() / "a.npy",
        npy_text("<f4", "(3, 2)", bytes_text<float>({0, 1, 2, 3, 4, 5})));
    write_text(scratch_.path() / "b.npy",
               npy_text("<i8", "(3,)", bytes_text<int64_t>({7, 8, 9})));
  }
  DatasetPtr open(const std::string& files) const {
    return open_source("npy", {{"files", files}}, scratch_.path());
  }

  ScratchDirectory scratch_;
};

TEST_F(TwoFiles, FieldsTakeAnotherOrder) {
  DatasetPtr data = open("a=a.npy, b=b.npy");
  DatasetPtr turned = ordered_fields(data, {"b", "a"});
  ASSERT_EQ(turned->fields().size(), 2u);
  EXPECT_EQ(turned->fields()[0], data->fields()[1]);
  EXPECT_EQ(turned->fields()[1], data->fields()[0]);
  EXPECT_EQ(turned->size(), 3);
  EXPECT_EQ(values_of<int64_t>(*turned, 2, 0), (std::vector<int64_t>{9}));
  EXPECT_EQ(values_of<float>(*turned, 2, 1), (std::vector<float>{4, 5}));
  EXPECT_EQ(ordered_fields(data, {"a", "b"}), data);
}

TEST_F(TwoFiles, AnOrderNamesEveryFieldOnce) {
  DatasetPtr data = open("a=a.npy, b=b.npy");
  using Names = std::vector<std::string>;
  for (const Names& names :
       {Names{"a"}, Names{"a", "c"}, Names{"a", "a"}, Names{"a", "b", "c"}}) {
    EXPECT_THROW(ordered_fields(data, names), std::invalid_argument);
  }
}

// However a dataset is wrapped, a field is found in its own file.
TEST_F(TwoFiles, PlacesNameTheFileOfTheField) {
  DatasetPtr data = first_samples(open("a=a.npy, b=b.npy"), 2);
  EXPECT_TRUE(data->place(0, 1).ends_with("/a.npy")) << data->place(0, 1);
  EXPECT_TRUE(data->place(1, 1).starts_with("row 1 of ")) << data->place(1, 1);
  EXPECT_TRUE(data->place(1, 1).ends_with("/b.npy")) << data->place(1, 1);
  DatasetPtr turned = ordered_fields(data, {"b", "a"});
  EXPECT_EQ(turned->place(0, 1), data->place(1, 1));
}

TEST_F(TwoFiles, WhatIsKnownOfFieldsIsSaid) {
  DatasetPtr data = open("a=a.npy, b=b.npy");
  EXPECT_FALSE(data->fields()[0].is_checked);  // any float may be in the file
  EXPECT_TRUE(data->fields()[1].is_checked);
  DatasetPtr glyphs = open_source("glyphs", {{"count", "3"}});
  EXPECT_TRUE(glyphs->fields()[0].is_checked);
  EXPECT_TRUE(glyphs->fields()[1].is_checked);
}

TEST_F(TwoFiles, TokensAreKnownWhenTheVocabularyWasCounted) {
  write_text(scratch_.path() / "t.bin", counting_bytes(64));
  auto tokens = [&](const std::string& vocab) {
    return open_source("tokens",
                       {{"file", "t.bin"}, {"length", "4"}, {"vocab", vocab}},
                       scratch_.path());
  };
  EXPECT_TRUE(tokens("0")->fields()[0].is_checked);
  EXPECT_FALSE(tokens("5")->fields()[0].is_checked);
}

TEST_F(TwoFiles, SourcesThatNumberLabelsSayHow) {
  write_text(scratch_.path() / "t.csv", "1,rose\n2,iris\n3,rose\n");
  DatasetPtr table = open_source("csv", {{"file", "t.csv"}}, scratch_.path());
  EXPECT_EQ(table->fields()[1].class_names,
            (std::vector<std::string>{"iris", "rose"}));
  write_text(scratch_.path() / "t.txt", "abcabc");
  DatasetPtr text = open_source("text", {{"file", "t.txt"}, {"length", "2"}},
                                scratch_.path());
  EXPECT_EQ(text->fields()[0].class_names,
            (std::vector<std::string>{"U+0061", "U+0062", "U+0063"}));
}

}  // namespace
}  // namespace braid::data
