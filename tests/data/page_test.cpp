#include "braid/data/page.h"

#include <gtest/gtest.h>

#include "braid/data/augment.h"
#include "braid/data/sources.h"
#include "docs_page.h"

namespace braid::data {
namespace {

TEST(DataPage, IsWhatTheTablesSay) { expect_docs_page("data.md", data_page()); }

void expect_options(const std::string& page, const std::string& title,
                    const std::vector<Option>& options) {
  size_t at = page.find("\n## " + title + "\n");
  ASSERT_NE(at, std::string::npos) << title;
  std::string section = page.substr(at, page.find("\n## ", at + 1) - at);
  for (const Option& option : options) {
    EXPECT_NE(section.find("| `" + option.name + "` |"), std::string::npos)
        << title << ": " << option.name;
  }
}

TEST(DataPage, NamesEverySourceAndEachOfItsOptions) {
  std::string page = data_page();
  for (const Source& source : all_sources()) {
    expect_options(page, source.name, source.options);
  }
  expect_options(page, "Augmentation", augment_options());
}

}  // namespace
}  // namespace braid::data
