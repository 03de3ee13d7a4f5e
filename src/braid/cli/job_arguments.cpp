#include "braid/cli/job_arguments.h"

namespace braid::cli {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& word) {
  std::error_code unreadable;
  return fs::is_regular_file(word, unreadable);
}

bool is_file(const std::string& word, bool is_first) {
  size_t equals = word.find('=');
  if (equals != word.npos) return exists(word) || word.find('/') < equals;
  bool is_yaml = word.ends_with(".yaml") || word.ends_with(".yml");
  return is_first || is_yaml || exists(word);
}

}  // namespace

JobArguments split_arguments(const std::vector<std::string>& words) {
  JobArguments arguments;
  for (const std::string& word : words) {
    if (is_file(word, arguments.files.empty())) {
      arguments.files.emplace_back(word);
    } else {
      arguments.overrides.push_back(word);
    }
  }
  return arguments;
}

}  // namespace braid::cli
