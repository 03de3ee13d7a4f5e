// Reading a struct from a tree, by its description. The kinds of values come
// from the struct, never from how a value looks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "braid/config/section.h"

namespace braid::config {

// Where relative paths begin.
struct Folders {
  std::filesystem::path file;     // those of the file
  std::filesystem::path working;  // those of overrides
};

// The whole key that was meant by one that its section does not have: "lr" is
// "optimizer.lr"; empty: none.
using FindKey = std::string (*)(std::string_view key);

class Reader : public Section {
 public:
  // Borrows the node, the report and the folders. `key` is that of the
  // section: "optimizer", empty for the whole.
  Reader(const Node& node, std::string key, const Folders& folders,
         Report& report, FindKey find_key = nullptr);

  // After the description: keys that nobody asked for are problems.
  void finish();

  void bare(Name key) override;
  void rest(Options& options, Name what, Meaning meaning) override;

 protected:
  void value(const Field& field) override;
  void limit(const Limit& limit) override;
  void group(const Group& group) override;
  void groups(const Items& items) override;

 private:
  const Node* take(Name name);
  std::string full_key(std::string_view name) const;
  const std::filesystem::path& folder_of(const Node& node) const;
  void add(const Node& node, std::string_view name, const Problem& problem);
  void add_no_map(const Node& node);
  void add_unknown(const Node& item);
  void add_option(Options& options, const Node& item);
  void read_item(const Items& items, const Node& item, const std::string& name);

  // The value that limits are about.
  struct Last {
    const Node* node = nullptr;
    std::string name = {};
    std::vector<double> numbers = {};
  };

  const Node* node_;
  Node made_;  // from a bare value
  std::string key_;
  const Folders& folders_;
  Report& report_;
  FindKey find_key_;
  std::vector<std::string> known_;
  Last last_;
};

// Problems go to the report; what is wrong or absent keeps its default.
template <class T>
void read_config(const Node& root, T& config, const Folders& folders,
                 Report& report, FindKey find_key = nullptr) {
  Reader reader(root, "", folders, report, find_key);
  describe(reader, config);
  reader.finish();
}

}  // namespace braid::config
