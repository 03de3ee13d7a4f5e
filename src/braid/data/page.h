// The page of the documentation on data, from the tables.
#pragma once

#include <string>

namespace braid::data {

// Markdown, as docs/data.md.
std::string data_page();

}  // namespace braid::data
