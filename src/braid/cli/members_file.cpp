#include "braid/cli/members_file.h"

#include "braid/base/error.h"
#include "braid/base/numbers.h"
#include "braid/cli/yaml_file.h"

namespace braid::cli {
namespace {

int64_t read_seed(const YamlFile& file, const config::Node& node,
                  const std::string& text) {
  auto seed = parse_whole(text);
  if (!seed || *seed < 0) {
    file.fail(node,
              fmt::format("'seed' is a whole number from 0, not '{}'", text));
  }
  return *seed;
}

passes::Schedule read_schedule(const YamlFile& file, const config::Node& node,
                               const std::string& text) {
  try {
    return passes::parse_schedule(text);
  } catch (const std::invalid_argument& error) {
    file.fail(node, error.what());
  }
}

MemberEntry read_member(const YamlFile& file, const config::Node& map,
                        int64_t seed) {
  MemberEntry member{.seed = seed};
  auto path = [&](const std::string& text) {
    return file.path().parent_path() / text;
  };
  for (const config::Node& node : file.items(map, "a member")) {
    const std::string& key = node.key;
    std::string text = file.text(node, key);
    if (key == "seed") {
      member.seed = read_seed(file, node, text);
    } else if (key == "init") {
      member.init = path(text);
    } else if (key == "inputs") {
      member.inputs = path(text);
    } else if (key == "schedule") {
      member.schedule = read_schedule(file, node, text);
    } else {
      member.settings.push_back({key, text, "[members] " + file.place(node)});
    }
  }
  return member;
}

}  // namespace

const std::vector<std::string>& member_keys() {
  static const std::vector<std::string> keys{"seed", "init", "inputs",
                                             "schedule"};
  return keys;
}

std::vector<MemberEntry> read_members(const std::filesystem::path& path,
                                      int64_t seed) {
  YamlFile file("members", path);
  if (!file.root().is_list() || file.root().items.empty()) {
    fail_usage(
        "[members] {}: expected a list of members\n"
        "HINT: write one line per member: - {{seed: 1, lr: 1e-3}}",
        path.string());
  }
  std::vector<MemberEntry> members;
  for (const config::Node& map : file.root().items) {
    members.push_back(read_member(file, map, seed));
  }
  return members;
}

}  // namespace braid::cli
