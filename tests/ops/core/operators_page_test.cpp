#include "braid/ops/core/operators_page.h"
#include "docs_page.h"

#include <gtest/gtest.h>

namespace braid {
namespace {

TEST(OperatorsPage, IsWhatTheTableSays) {
  expect_docs_page("operators.md", operators_page(standard_ops()));
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
