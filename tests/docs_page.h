// Pages of docs/ that are made from tables.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string>

#include "source_dir.h"

namespace braid {

// The file must hold the page. `make docs` runs such tests with
// BRAID_WRITE_DOCS set, which writes it.
inline void expect_docs_page(const std::string& name, const std::string& page) {
  std::string path = std::string(kSourceDir) + "/docs/" + name;
  if (std::getenv("BRAID_WRITE_DOCS")) std::ofstream(path) << page;
  std::stringstream kept;
  kept << std::ifstream(path).rdbuf();
  EXPECT_TRUE(kept.str() == page)
      << "HINT: docs/" << name << " is old: make docs";
}

}  // namespace braid
