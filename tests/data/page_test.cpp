#include "braid/data/page.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "braid/data/augment.h"
#include "braid/data/sources.h"
#include "source_dir.h"

namespace braid::data {
namespace {

const std::string kPath = std::string(kSourceDir) + "/docs/data.md";

// `make docs` runs this test with BRAID_WRITE_DOCS set.
TEST(DataPage, IsWhatTheTablesSay) {
  std::string page = data_page();
  if (std::getenv("BRAID_WRITE_DOCS")) std::ofstream(kPath) << page;
  std::stringstream kept;
  kept << std::ifstream(kPath).rdbuf();
  EXPECT_TRUE(kept.str() == page) << "HINT: docs/data.md is old: make docs";
}

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
