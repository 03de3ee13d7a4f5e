// What to say about a word of the command line that a verb does not know: the
// way that works, an option that is near, or what there is.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace braid::cli {

// After "HINT: "; never empty. `verb` is one of `program`, or the program
// itself; `arguments` are all of the command line.
std::string unknown_word_hint(const CLI::App& program, const CLI::App& verb,
                              const std::string& word,
                              const std::vector<std::string>& arguments);

}  // namespace braid::cli
