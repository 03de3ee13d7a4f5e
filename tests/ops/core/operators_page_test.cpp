#include "braid/ops/core/operators_page.h"
#include "source_dir.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

namespace braid {
namespace {

const std::string kPath = std::string(kSourceDir) + "/docs/operators.md";

// `make docs` runs this test with BRAID_WRITE_DOCS set.
TEST(OperatorsPage, IsWhatTheTableSays) {
  std::string page = operators_page(standard_ops());
  if (std::getenv("BRAID_WRITE_DOCS")) std::ofstream(kPath) << page;
  std::stringstream kept;
  kept << std::ifstream(kPath).rdbuf();
  EXPECT_TRUE(kept.str() == page)
      << "HINT: docs/operators.md is old: make docs";
}

TEST(OperatorsPage, NamesEveryOperatorOnce) {
  OpTable ops = standard_ops();
  std::string page = operators_page(ops);
  for (const auto& [name, op] : ops.all()) {
    std::string quoted = "`" + name + "`";
    size_t at = page.find(quoted, page.find("\n## "));
    ASSERT_NE(at, std::string::npos) << name;
  }
}

}  // namespace
}  // namespace braid
