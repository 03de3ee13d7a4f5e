#include "braid/train/job/job_grid.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/config/yaml_writer.h"
#include "braid/train/job/job_list.h"
#include "braid/train/job/job_names.h"

namespace braid::train {
namespace {

using config::Node;
using config::Report;

// Values that belong together, under their keys.
using Choice = std::vector<Node>;
// What one of is taken for each job.
using Axis = std::vector<Choice>;

class Expander {
 public:
  explicit Expander(Report& report) : report_(report) {}

  void add_grid(const Node& grid) {
    for (const Node& list : lists_of(grid, "grid")) {
      Axis axis;
      for (const Node& value : list.items) {
        axis.push_back({under(list.key, value)});
      }
      add(std::move(axis), list);
    }
  }

  void add_zip(const Node& zip) {
    std::vector<Node> lists = lists_of(zip, "zip");
    if (lists.empty()) return;
    Axis axis(lists[0].items.size());
    for (const Node& list : lists) {
      if (list.items.size() != axis.size()) {
        report_.add(
            list.place,
            {fmt::format("zip.{} has {} values, zip.{} has {}", list.key,
                         list.items.size(), lists[0].key, axis.size()),
             "the lists of zip go side by side; those of grid are "
             "combined"});
        return;
      }
      for (size_t i = 0; i < axis.size(); ++i) {
        axis[i].push_back(under(list.key, list.items[i]));
      }
    }
    add(std::move(axis), zip);
  }

  Node run(const Node& members, const Node& at) {
    if (members.items.size() * num_choices_ > kMostMembers) {
      report_.add(
          at.place,
          {fmt::format("grid, zip and members make {} jobs, and at "
                       "most {} are possible",
                       members.items.size() * num_choices_, kMostMembers)});
      return {};
    }
    Node all = config::make_list();
    all.place = members.place;
    for (const Node& member : members.items) add_members(member, all);
    return all;
  }

 private:
  // Keys with points and maps within maps are the same.
  void add_lists(const Node& node, const std::string& key,
                 const std::string& what, std::vector<Node>& lists) {
    if (node.is_map()) {
      for (const Node& item : node.items) {
        add_lists(item, key.empty() ? item.key : key + "." + item.key, what,
                  lists);
      }
    } else if (node.is_null() && key.empty()) {
      return;
    } else if (!node.is_list() || node.items.empty()) {
      report_.add(node.place,
                  {fmt::format("{}.{} is a list of values, got {}", what, key,
                               node.is_list() ? "none" : shown(node)),
                   fmt::format("write {}: {{seed: [1, 2, 3]}}", what)});
    } else {
      lists.push_back(under(key, node));
    }
  }

  std::vector<Node> lists_of(const Node& node, const std::string& what) {
    std::vector<Node> lists;
    if (!node.is_null() && !node.is_map()) {
      report_.add(node.place,
                  {fmt::format("{} is a map of keys with lists, got {}", what,
                               shown(node)),
                   fmt::format("write {}: {{seed: [1, 2, 3]}}", what)});
    } else {
      add_lists(node, "", what, lists);
    }
    return lists;
  }

  static Node under(const std::string& key, Node value) {
    value.key = key;
    return value;
  }

  void add(Axis axis, const Node& at) {
    for (const Node& value : axis[0]) {
      if (std::ranges::count(keys_, value.key) > 0) {
        report_.add(at.place, {fmt::format("{} is in grid and zip, or twice",
                                           config::shown_text(value.key))});
      }
      keys_.push_back(value.key);
    }
    // Beyond the limit how many they are does not matter.
    num_choices_ = std::min(num_choices_ * axis.size(), 1000 * kMostMembers);
    axes_.push_back(std::move(axis));
  }

  void add_members(const Node& member, Node& all) {
    for (const Node& item : member.items) {
      if (!member.is_map() || std::ranges::count(keys_, item.key) == 0) {
        continue;
      }
      report_.add(item.place,
                  {fmt::format("a member sets {}, which the grid sets too",
                               config::shown_text(item.key))});
    }
    for (size_t number = 0; number < num_choices_; ++number) {
      Choice choice = choice_of(number);
      Node made = member;
      if (Node* name = made.find("name"); name && name->is_value()) {
        name->text = name_of(name->text, choice, number);
      }
      made.items.insert(made.items.end(), choice.begin(), choice.end());
      all.items.push_back(std::move(made));
    }
  }

  // The last axis changes fastest.
  Choice choice_of(size_t number) const {
    Choice choice;
    for (size_t i = axes_.size(); i-- > 0;) {
      const Choice& one = axes_[i][number % axes_[i].size()];
      choice.insert(choice.begin(), one.begin(), one.end());
      number /= axes_[i].size();
    }
    return choice;
  }

  // "slow-lr=1e-3,seed=2"
  static std::string name_of(const std::string& name, const Choice& choice,
                             size_t number) {
    std::string text = name;
    for (const Node& value : choice) {
      text += fmt::format("{}{}={}", text == name ? "-" : ",",
                          value.key.substr(value.key.rfind('.') + 1),
                          value.is_value() ? value.text : flow_text(value));
    }
    text = safe_name(text);
    return text.size() <= kMostName ? text
                                    : fmt::format("{}-{}", name, number + 1);
  }

  Report& report_;
  std::vector<Axis> axes_;
  std::vector<std::string> keys_;
  size_t num_choices_ = 1;
};

}  // namespace

Node take_key(Node& root, const char* key) {
  Node taken;
  if (const Node* found = root.find(key)) taken = *found;
  if (root.is_map()) {
    std::erase_if(root.items, [&](const Node& i) { return i.key == key; });
  }
  return taken;
}

Node expand_grids(Node& root, Node members, Report& report) {
  Node grid = take_key(root, "grid"), zip = take_key(root, "zip");
  if (grid.is_null() && zip.is_null()) return members;
  Expander expander(report);
  expander.add_grid(grid);
  expander.add_zip(zip);
  const Node& at = grid.is_null() ? zip : grid;
  if (members.is_null()) {
    members = config::make_list({config::make_map()});
    members.items[0].place = members.place = at.place;
  }
  // What else it may be is for whoever reads members.
  if (!members.is_list() || !report.empty()) return members;
  return expander.run(members, at);
}

}  // namespace braid::train
