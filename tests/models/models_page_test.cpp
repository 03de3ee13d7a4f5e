#include "braid/models/models_page.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "braid/models/models.h"
#include "source_dir.h"

namespace braid::models {
namespace {

const std::string kPath = std::string(kSourceDir) + "/docs/models.md";

// `make docs` runs this test with BRAID_WRITE_DOCS set.
TEST(ModelsPage, IsWhatTheTableSays) {
  std::string page = models_page(standard_ops());
  if (std::getenv("BRAID_WRITE_DOCS")) std::ofstream(kPath) << page;
  std::stringstream kept;
  kept << std::ifstream(kPath).rdbuf();
  EXPECT_TRUE(kept.str() == page) << "HINT: docs/models.md is old: make docs";
}

TEST(ModelsPage, NamesEveryModelAndEachOfItsSizes) {
  std::string page = models_page(standard_ops());
  for (const Model& model : all_models()) {
    size_t at = page.find("\n## " + model.name + "\n");
    ASSERT_NE(at, std::string::npos) << model.name;
    std::string section = page.substr(at, page.find("\n## ", at + 1) - at);
    for (const Size& size : model.sizes) {
      EXPECT_NE(section.find("| `" + size.name + "` |"), std::string::npos)
          << model.name << ": " << size.name;
    }
  }
}

}  // namespace
}  // namespace braid::models
