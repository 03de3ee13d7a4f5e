// Small helpers on words.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace braid {

// The name with the least edit distance; empty when there are no names.
std::string nearest_name(std::string_view wanted,
                         const std::vector<std::string>& names);

// The same when it is so near that it may have been meant: two letters
// in five may differ, or one is how the other begins; else empty.
std::string near_name(std::string_view wanted,
                      const std::vector<std::string>& names);

// What to say about a name that there is not: "did you mean 'loss'?" when one
// is near, else "there are loss, accuracy", or how many more.
std::string name_hint(std::string_view wanted,
                      const std::vector<std::string>& names);

// Whether a name fits a pattern in which '*' stands for any text and '?' for
// any one character.
bool fits_pattern(std::string_view name, std::string_view pattern);

// How many bytes from the beginning are whole UTF-8 characters; all of them
// when the text is valid.
size_t utf8_length(std::string_view text);

}  // namespace braid
