#include "braid/data/words.h"

#include <algorithm>
#include <limits>

#include "braid/base/error.h"

namespace braid::data {
namespace {

bool is_white(char c) {
  return c == ' ' || c == '\t' || c == '\r' || c == '\v' || c == '\f';
}

class WordReader {
 public:
  WordReader(std::string_view who, std::string_view file)
      : who_(who), file_(file) {}

  WordText read(std::string_view text) {
    while (!text.empty()) {
      size_t end = std::min(text.find('\n'), text.size());
      read_line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    return std::move(made_);
  }

 private:
  void read_line(std::string_view line) {
    for (size_t at = 0; at < line.size();) {
      size_t begin = at;
      while (at < line.size() && !is_white(line[at])) ++at;
      if (at > begin) add(line.substr(begin, at - begin));
      while (at < line.size() && is_white(line[at])) ++at;
    }
    add(kLineEnd);
  }

  void add(std::string_view word) {
    auto next = static_cast<uint32_t>(made_.words.size());
    auto [found, is_new] = numbers_.try_emplace(word, next);
    if (is_new) {
      if (next == std::numeric_limits<uint32_t>::max()) {
        fail_world("[{}] expected at most 2^32 words, got more ({})", who_,
                   file_);
      }
      made_.words.push_back(word);
    }
    made_.row.push_back(found->second);
  }

  std::string_view who_, file_;
  WordText made_;
  std::unordered_map<std::string_view, uint32_t> numbers_;
};

}  // namespace

WordText read_words(io::Bytes bytes, std::string_view who,
                    std::string_view file) {
  return WordReader(who, file).read(
      {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

WordVocabulary::WordVocabulary(const WordText& text, size_t count, int64_t most)
    : names_{std::string(kUnknownWord), std::string(kLineEnd)} {
  std::vector<size_t> counts(text.words.size());
  for (uint32_t word : std::span(text.row).first(count)) ++counts[word];
  std::vector<uint32_t> seen;
  for (uint32_t word = 0; word < counts.size(); ++word) {
    bool is_ours =
        text.words[word] == kUnknownWord || text.words[word] == kLineEnd;
    if (counts[word] > 0 && !is_ours) seen.push_back(word);
  }
  std::ranges::sort(seen, [&](uint32_t a, uint32_t b) {
    if (counts[a] != counts[b]) return counts[a] > counts[b];
    return text.words[a] < text.words[b];
  });
  size_t room = most > 0 ? static_cast<size_t>(std::max<int64_t>(most - 2, 0))
                         : seen.size();
  for (uint32_t word : std::span(seen).first(std::min(room, seen.size()))) {
    names_.emplace_back(text.words[word]);
  }
  number_names();
}

WordVocabulary::WordVocabulary(std::vector<std::string> names)
    : names_(std::move(names)) {
  number_names();
}

void WordVocabulary::number_names() {
  for (uint32_t i = 0; i < names_.size(); ++i) numbers_.emplace(names_[i], i);
}

std::vector<uint32_t> WordVocabulary::encode(const WordText& text) const {
  std::vector<uint32_t> number_of;
  for (std::string_view word : text.words) {
    auto found = numbers_.find(word);
    number_of.push_back(found == numbers_.end() ? 0 : found->second);
  }
  std::vector<uint32_t> numbers(text.row.size());
  std::ranges::transform(text.row, numbers.begin(),
                         [&](uint32_t word) { return number_of[word]; });
  return numbers;
}

}  // namespace braid::data
