#include "braid/models/models_page.h"

#include <gtest/gtest.h>

#include "braid/models/models.h"
#include "docs_page.h"

namespace braid::models {
namespace {

TEST(ModelsPage, IsWhatTheTableSays) {
  expect_docs_page("models.md", models_page(standard_ops()));
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
