#include "braid/cli/data_words.h"

#include <algorithm>
#include <filesystem>

#include "braid/base/error.h"
#include "braid/config/writer.h"
#include "braid/config/yaml_reader.h"
#include "braid/io/file/file.h"
#include "braid/train/job/job_data.h"
#include "braid/train/job/job_file.h"

namespace braid::cli {
namespace {

using config::Node;

bool is_yaml(const std::string& word) {
  return word.ends_with(".yaml") || word.ends_with(".yml");
}

bool sets(const std::vector<std::string>& words, std::string_view key) {
  return std::ranges::any_of(words, [&](const std::string& word) {
    return word.starts_with(key) && word.size() > key.size() &&
           (word[key.size()] == '=' || word[key.size()] == '.');
  });
}

// A file may be a section alone, or have it under its key.
Node read_section(const std::string& path, config::Report& report) {
  io::MappedFile file(path);
  std::string_view text(reinterpret_cast<const char*>(file.bytes().data()),
                        file.bytes().size());
  Node root = config::parse_yaml(text, report);
  report.throw_if_any();
  if (const Node* inner = root.find("data")) return *inner;
  return root;
}

Node section_of(const train::DataConfig& base) {
  train::JobConfig job;
  job.data = base;
  Node root = config::write_config(job);
  return *root.find("data");
}

// With "KEY=" the default would count; here it is an empty text.
std::string override_of(const std::string& word) {
  return "data." + word + (word.ends_with('=') ? "''" : "");
}

}  // namespace

train::DataConfig read_data_words(const std::vector<std::string>& words,
                                  const train::DataConfig& base,
                                  const std::string& who) {
  bool has_file = !words.empty() && is_yaml(words[0]);
  bool is_new = has_file || sets(words, "source");
  std::string path = has_file ? words[0] : "--data";
  config::Report report("data", path);
  Node section = has_file ? read_section(path, report)
                 : is_new ? config::make_map()
                          : section_of(base);
  bool has_augment =
      sets(words, "augment") || (has_file && section.find("augment"));
  section.key = "data";
  Node root = config::make_map();
  for (auto [key, value] : {std::pair("model", "mlp"), {"epochs", "1"}}) {
    root.items.push_back(config::make_value(value));
    root.items.back().key = key;
  }
  root.items.push_back(std::move(section));
  std::vector<std::string> overrides;
  for (size_t i = has_file ? 1 : 0; i < words.size(); ++i) {
    if (words[i].find('=') == std::string::npos) {
      fail_usage(
          "[{}] --data: '{}' is no KEY=VALUE\n"
          "HINT: write --data source=csv file=test.csv, and what is no data "
          "before it",
          who, words[i]);
    }
    overrides.push_back(override_of(words[i]));
  }
  train::JobConfig job =
      train::job_of(std::move(root), path, overrides, report);
  report.throw_if_any();
  train::resolve_data_paths(job);
  job.data.split.reset();  // of training
  if (is_new && !has_augment) job.data.augment = base.augment;
  return job.data;
}

}  // namespace braid::cli
