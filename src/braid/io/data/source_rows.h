// The rows of the table, by the file they lie in. To add a source: its file,
// a line here and one in sources.cpp.
#pragma once

#include "braid/io/data/sources.h"

namespace braid::data {

Source glyphs_source();

}  // namespace braid::data
