// Makes fields of values that are maps in a file.
#pragma once

#include <map>
#include <string>

#include "braid/config/section.h"

namespace braid::config {

// A text, or a map that says the same: {kind: cosine, steps: 9}.
Field call_field(std::string_view name, std::string& value,
                 const CallForm& form, std::string_view meaning);

// Texts under names of the user's choice.
Field names_field(std::string_view name,
                  std::map<std::string, std::string>& value,
                  std::string_view meaning);

}  // namespace braid::config
