// A text as words, and words as numbers, as the word data sets of language
// models have them: words lie between spaces, and every line ends with <eos>.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "braid/io/file/file.h"

namespace braid::data {

inline constexpr std::string_view kUnknownWord = "<unk>";
inline constexpr std::string_view kLineEnd = "<eos>";

// The text with every different word once; borrows the bytes.
struct WordText {
  std::vector<std::string_view> words;  // in the order of their appearance
  std::vector<uint32_t> row;            // numbers of words, with line ends
};

// An empty line is a line end alone. Spaces, tabs and other control characters
// of ASCII that are white part words. Throws std::runtime_error for more words
// than can be numbered.
WordText read_words(io::Bytes bytes, std::string_view who,
                    std::string_view file);

// <unk> is 0 and <eos> is 1; the others follow.
class WordVocabulary {
 public:
  // The words among the first `count` of the row, the most frequent first,
  // equals in the order of their bytes. At most `most` in all, <unk> and <eos>
  // among them; 0: every one.
  WordVocabulary(const WordText& text, size_t count, int64_t most);
  // Words by their number.
  explicit WordVocabulary(std::vector<std::string> names);

  const std::vector<std::string>& names() const { return names_; }
  int64_t size() const { return static_cast<int64_t>(names_.size()); }

  // The row by the numbers of this vocabulary.
  std::vector<uint32_t> encode(const WordText& text) const;

 private:
  void number_names();

  std::vector<std::string> names_;
  std::unordered_map<std::string_view, uint32_t> numbers_;  // of names_
};

}  // namespace braid::data
