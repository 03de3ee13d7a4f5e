// What training data taught a source, kept so that other data can be read
// alike: class names, the unit of tokens, means and categories of columns.
//
// A run has it as data.json. To read other data for the same model:
//
//   std::vector<Field> known = read_known_fields(run / "data.json");
//   open_source("csv", options, base, {.known = &known});
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "braid/data/dataset.h"

namespace braid::data {

// Whether something was learned from the data that cannot be seen in others.
bool has_known(const std::vector<Field>& fields);

// Tells fields apart that other data would be read by differently; empty:
// nothing was learned.
std::string known_text(const std::vector<Field>& fields);

// The same as JSON, and back. Only what stands in it is set in the fields.
// Throws std::runtime_error, with the file, when it is no such JSON.
std::string known_json(const std::vector<Field>& fields);
std::vector<Field> parse_known_fields(std::string_view json,
                                      const std::string& file);
std::vector<Field> read_known_fields(const std::filesystem::path& path);

}  // namespace braid::data
