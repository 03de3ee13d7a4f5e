#include "braid/data/vocabulary.h"
#include "data/files.h"

namespace braid::data {
namespace {

using Numbers64 = std::vector<int64_t>;

class Text : public testing::Test {
 protected:
  DatasetPtr open(const std::string& text, Texts texts = {}) {
    write_text(scratch_.path() / "t", text);
    texts.emplace("file", "t");
    texts.emplace("val_fraction", "0");
    return open_source("text", texts, scratch_.path());
  }
  std::string refused(const std::string& text, const Texts& texts) {
    return error_of<std::runtime_error>([&] { open(text, texts); });
  }
  ScratchDirectory scratch_;
};

TEST_F(Text, NumbersCharactersByCodePoint) {
  DatasetPtr data = open(
      "b\xC3\xA9"
      "a\xF0\x9F\x98\x80"
      "b\n",
      {{"length", "2"}});
  EXPECT_EQ(data->fields(),
            (std::vector<Field>{{"tokens", DType::kInt64, {2}, 5},
                                {"targets", DType::kInt64, {2}, 5}}));
  ASSERT_EQ(data->size(), 2);
  EXPECT_EQ(values_of<int64_t>(*data, 0, 0), (Numbers64{2, 3}));
  EXPECT_EQ(values_of<int64_t>(*data, 0, 1), (Numbers64{3, 1}));
  EXPECT_EQ(values_of<int64_t>(*data, 1, 0), (Numbers64{1, 4}));
  EXPECT_EQ(values_of<int64_t>(*data, 1, 1), (Numbers64{4, 2}));
}

TEST_F(Text, ReadsBytes) {
  DatasetPtr data = open(
      "ab\xFF"
      "d",
      {{"length", "3"}, {"unit", "bytes"}});
  EXPECT_EQ(data->size(), 1);
  EXPECT_EQ(data->fields()[0].classes, 256);
  EXPECT_EQ(values_of<int64_t>(*data, 0, 0), (Numbers64{'a', 'b', 255}));
  EXPECT_EQ(values_of<int64_t>(*data, 0, 1), (Numbers64{'b', 255, 'd'}));
}

TEST_F(Text, HasAWindowWhereverATargetFollows) {
  auto count = [&](const std::string& text, const char* stride) {
    return open(text, {{"length", "3"}, {"stride", stride}})->size();
  };
  EXPECT_EQ(count("abcd", "0"), 1);
  EXPECT_EQ(count("abcdef", "0"), 1);
  EXPECT_EQ(count("abcdefg", "0"), 2);
  EXPECT_EQ(count("abcdefg", "1"), 4);
  EXPECT_EQ(count("abcdefg", "5"), 1);
}

// As the usual script: data[:int(0.9 * n)] and data[int(0.9 * n):].
TEST_F(Text, KeepsItsEndForValidation) {
  std::string text = "0123456789abcdefghij";
  Texts texts = {{"length", "1"}, {"val_fraction", "0.1"}};
  DatasetPtr train = open(text, texts);
  texts["part"] = "val";
  DatasetPtr val = open(text, texts);
  EXPECT_EQ(train->size(), 17);
  EXPECT_EQ(val->size(), 1);
  EXPECT_EQ(values_of<int64_t>(*train, 16, 1), Numbers64{17});
  EXPECT_EQ(values_of<int64_t>(*val, 0, 0), Numbers64{18});
  EXPECT_EQ(val->fields()[0].classes, 20);
}

TEST_F(Text, RefusesWhatIsTooShort) {
  std::string message = refused("abc", {{"length", "3"}});
  expect_contains(message, "expected more than 3 tokens");
  expect_contains(message, "HINT: take a smaller 'length'");
  refused("", {{"length", "1"}});
  refused("abcdef", {{"length", "1"}, {"part", "val"}});
  for (const char* fraction : {"-0.1", "1", "2"}) {
    EXPECT_THROW(open("abcd", {{"length", "1"}, {"val_fraction", fraction}}),
                 std::invalid_argument);
  }
}

TEST_F(Text, RefusesOtherEncodingsWithTheOffset) {
  for (const char* bad :
       {"\xE9", "\x80", "\xC0\x80", "\xC1\xBF", "\xED\xA0\x80",
        "\xF4\x90\x80\x80", "\xE0\x80\x80", "\xF5\x80\x80\x80", "\xFF", "\xC3",
        "\xE2\x82", "\xC3("}) {
    std::string message = refused(std::string("abcd") + bad, {{"length", "1"}});
    expect_contains(message, "[data.text] expected UTF-8, got the byte 0x");
    expect_contains(message, "/t, offset 4)");
  }
}

TEST(Vocabulary, IsInTheOrderOfCodePoints) {
  Vocabulary vocabulary(U"hello\U0001F600");
  EXPECT_EQ(vocabulary.characters(),
            (std::vector<char32_t>{'e', 'h', 'l', 'o', 0x1F600}));
  EXPECT_EQ(vocabulary.encode(U"\U0001F600leo", "text", "t"),
            (std::vector<uint32_t>{4, 2, 0, 3}));
}

class Tokens : public testing::Test {
 protected:
  DatasetPtr open(const std::string& text, Texts texts = {}) {
    write_text(scratch_.path() / "t.bin", text);
    texts.emplace("file", "t.bin");
    texts.emplace("length", "2");
    return open_source("tokens", texts, scratch_.path());
  }
  std::string refused(const std::string& text, const Texts& texts = {}) {
    return error_of<std::runtime_error>([&] { read_all(*open(text, texts)); });
  }
  ScratchDirectory scratch_;
};

const std::string kShort = bytes_text<uint16_t>({5, 65535, 7, 8, 9});

TEST_F(Tokens, AreNumbersOfTwoBytes) {
  DatasetPtr data = open(kShort);
  EXPECT_EQ(data->size(), 2);
  EXPECT_EQ(data->fields()[0], (Field{"tokens", DType::kInt64, {2}, 65536}));
  EXPECT_EQ(values_of<int64_t>(*data, 0, 0), (Numbers64{5, 65535}));
  EXPECT_EQ(values_of<int64_t>(*data, 1, 1), (Numbers64{8, 9}));
}

TEST_F(Tokens, AreNumbersOfFourBytes) {
  DatasetPtr data =
      open(bytes_text<uint32_t>({1, 100000, 3}), {{"type", "u32"}});
  EXPECT_EQ(data->size(), 1);
  EXPECT_EQ(data->fields()[1].classes, 100001);
  EXPECT_EQ(values_of<int64_t>(*data, 0, 1), (Numbers64{100000, 3}));
}

TEST_F(Tokens, RefuseATokenOutOfRangeWithItsPlace) {
  EXPECT_EQ(open(kShort, {{"vocab", "70000"}})->fields()[0].classes, 70000);
  expect_contains(refused(kShort, {{"vocab", "10"}}),
                  "[data.tokens] expected a token below 10, got 65535 (");
  expect_contains(refused(kShort, {{"vocab", "10"}}), "t.bin, offset 2)");
  expect_contains(refused(kShort, {{"vocab", "5"}}), "offset 0)");
  expect_contains(
      refused(bytes_text<uint16_t>({1, 2, 3, 4, 9}), {{"vocab", "9"}}),
      "offset 8)");
}

TEST_F(Tokens, BeginAfterAHeader) {
  DatasetPtr data = open("head" + kShort, {{"skip", "4"}});
  EXPECT_EQ(data->size(), 2);
  EXPECT_EQ(values_of<int64_t>(*data, 0, 0), (Numbers64{5, 65535}));
  expect_contains(refused("head" + kShort, {{"skip", "4"}, {"vocab", "10"}}),
                  "offset 6)");
  expect_contains(refused(kShort, {{"skip", "99"}}),
                  "expected more than 2 tokens for a window");
}

TEST_F(Tokens, RefuseFilesCutShort) {
  expect_contains(refused(kShort.substr(0, 9)),
                  "expected tokens of 2 bytes, got 1 (");
  expect_contains(refused(kShort, {{"type", "u32"}}),
                  "expected tokens of 4 bytes, got 2 (");
  expect_contains(refused(kShort.substr(0, 4)), "expected more than 2 tokens");
  expect_contains(refused(""), "expected more than 2 tokens");
}

TEST(TextHostile, Changes) {
  bears_every_change("text", {{"file", "t"}, {"length", "2"}}, "t",
                     "plain \xC3\xA9 \xF0\x9F\x98\x80 text to read");
  bears_every_change("tokens", {{"file", "t"}, {"length", "2"}}, "t", kShort);
}

}  // namespace
}  // namespace braid::data
