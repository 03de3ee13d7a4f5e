#include "braid/data/sources.h"

#include <set>

#include "data/samples.h"

namespace braid::data {
namespace {

TEST(Sources, AreNamedOnceAndDescribed) {
  std::set<std::string> names;
  for (const Source& source : all_sources()) {
    EXPECT_TRUE(names.insert(source.name).second) << source.name;
    EXPECT_FALSE(source.summary.empty()) << source.name;
    EXPECT_FALSE(source.fields.empty()) << source.name;
    std::set<std::string> options;
    for (const Option& option : source.options) {
      EXPECT_TRUE(options.insert(option.name).second)
          << source.name << " " << option.name;
      EXPECT_FALSE(option.meaning.empty()) << source.name << " " << option.name;
    }
    EXPECT_TRUE(options.contains("limit")) << source.name;
  }
}

// A default must be of its kind: given as text it is taken.
TEST(Sources, HaveDefaultsOfTheirKind) {
  for (const Source& source : all_sources()) {
    Texts defaults;
    for (const Option& option : source.options) {
      if (!option.value.empty()) defaults[option.name] = option.value;
      if (option.required) defaults[option.name] = "some";
    }
    EXPECT_NO_THROW(Options(source.name, source.options, defaults))
        << source.name;
  }
}

TEST(Sources, UnknownOnesNameTheNearest) {
  EXPECT_EQ(error_of<std::invalid_argument>([] { open_source("glyfs"); }),
            "[data] unknown source 'glyfs'\nHINT: did you mean 'glyphs'?");
}

TEST(Datasets, WithoutSamplesAreRefused) {
  expect_contains(error_of<std::runtime_error>([] { Numbers(0); }),
                  "[data] expected at least one sample, got 0 (numbers)");
}

TEST(Datasets, AreCutToTheirFirstSamples) {
  auto whole = std::make_shared<Numbers>(5);
  EXPECT_EQ(first_samples(whole, 5), whole);
  EXPECT_EQ(first_samples(whole, 9), whole);
  DatasetPtr cut = first_samples(whole, 3);
  EXPECT_EQ(cut->size(), 3);
  EXPECT_EQ(cut->fields(), whole->fields());
  EXPECT_EQ(values_of<int64_t>(*cut, 2, 0), std::vector<int64_t>{2});
}

TEST(Datasets, FindFieldsByName) {
  Numbers numbers(1);
  EXPECT_EQ(numbers.find_field("n"), size_t{0});
  EXPECT_FALSE(numbers.find_field("x"));
}

TEST(Fields, AreCountedAndWritten) {
  Field field{"x", DType::kFloat32, {1, 28, 28}};
  EXPECT_EQ(sample_bytes(field), 28U * 28 * 4);
  EXPECT_EQ(field_text(field), "x f32 [1, 28, 28]");
  EXPECT_EQ(sample_bytes({"y", DType::kInt64, {}}), 8U);
}

}  // namespace
}  // namespace braid::data
