#include "braid/config/yaml_reader.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include "braid/base/error.h"
#include "braid/base/text.h"

namespace braid::config {
namespace {

// What ends the reading of a file.
struct Refusal {
  Place place;
  Problem problem;
};

[[noreturn]] void refuse(const YAML::Mark& mark, std::string text,
                         std::string hint = {}) {
  throw Refusal{{mark.line + 1}, {std::move(text), std::move(hint)}};
}

size_t num_nodes(const Node& node) {
  size_t count = 1;
  for (const Node& item : node.items) count += num_nodes(item);
  return count;
}

size_t depth_of(const Node& node) {
  size_t depth = 0;
  for (const Node& item : node.items) depth = std::max(depth, depth_of(item));
  return depth + 1;
}

// Makes the tree from the parser's events.
class TreeBuilder : public YAML::EventHandler {
 public:
  explicit TreeBuilder(Report& report) : report_(report) {}

  Node take_root() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    begin(mark, anchor, {});
    end();
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag,
                YAML::anchor_t anchor, const std::string& value) override {
    check_tag(mark, tag);
    begin(mark, anchor, make_value(value, tag == "!"));
    end();
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag,
                       YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    begin(mark, anchor, make_list());
  }
  void OnSequenceEnd() override { end(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag,
                  YAML::anchor_t anchor, YAML::EmitterStyle::value) override {
    check_tag(mark, tag);
    begin(mark, anchor, make_map());
  }
  void OnMapEnd() override { end(); }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    auto found = anchored_.find(anchor);
    if (found == anchored_.end()) {
      refuse(mark, "an alias stands inside what it names");
    }
    if (open_.size() + depth_of(found->second) > kMostDepth) too_deep(mark);
    begin(mark, 0, found->second, num_nodes(found->second));
    end();
  }

 private:
  struct Open {
    Node node;
    YAML::anchor_t anchor;
    bool has_key = false;  // of a map: the next node is a value
    Node key = {};
    std::set<std::string> keys = {};
  };

  static void check_tag(const YAML::Mark& mark, const std::string& tag) {
    // "?" and "!" are the parser's own marks for plain and quoted values.
    if (tag.empty() || tag == "?" || tag == "!") return;
    refuse(mark, fmt::format("the tag '{}' is not read", shown_text(tag)),
           "write the value without a tag");
  }

  [[noreturn]] static void too_deep(const YAML::Mark& mark) {
    refuse(mark, fmt::format("expected at most {} levels", kMostDepth));
  }

  void begin(const YAML::Mark& mark, YAML::anchor_t anchor, Node node,
             size_t count = 1) {
    num_nodes_ += count;
    if (num_nodes_ > kMostNodes) {
      refuse(mark, fmt::format("expected at most {} values", kMostNodes),
             "an alias counts as all that it repeats");
    }
    if (open_.size() >= kMostDepth) too_deep(mark);
    node.place = {mark.line + 1};
    open_.push_back({std::move(node), anchor});
  }

  void end() {
    Open done = std::move(open_.back());
    open_.pop_back();
    if (done.anchor) anchored_[done.anchor] = done.node;
    if (open_.empty()) {
      root_ = std::move(done.node);
    } else {
      add(open_.back(), std::move(done.node));
    }
  }

  void add(Open& parent, Node node) {
    if (parent.node.is_map() && !parent.has_key) {
      take_key(parent, std::move(node));
      return;
    }
    if (parent.node.is_map()) {
      node.key = parent.key.text;
      parent.has_key = false;
      if (!parent.keys.insert(node.key).second) return;  // reported before
    }
    parent.node.items.push_back(std::move(node));
  }

  void take_key(Open& parent, Node key) {
    if (parent.keys.size() >= kMostKeys) {
      throw Refusal{
          key.place,
          {fmt::format("expected at most {} keys in a map", kMostKeys)}};
    }
    if (!key.is_value()) {
      report_.add(key.place, {"a key is a text, got " + shown(key)});
    } else if (parent.keys.contains(key.text)) {
      report_.add(key.place,
                  {fmt::format("'{}' stands twice", shown_text(key.text))});
    }
    parent.key = std::move(key);
    parent.has_key = true;
  }

  Report& report_;
  Node root_;
  std::vector<Open> open_;  // from the root down to where the parser is
  std::map<YAML::anchor_t, Node> anchored_;
  size_t num_nodes_ = 0;
};

int line_of(std::string_view text, size_t offset) {
  return 1 + static_cast<int>(std::ranges::count(text.substr(0, offset), '\n'));
}

// The parser would guess an encoding, and take any bytes.
void check_characters(std::string_view text) {
  size_t bad = std::min(utf8_length(text), text.find('\0'));
  if (bad >= text.size()) return;
  throw Refusal{
      {line_of(text, bad)},
      {fmt::format("byte {} is no UTF-8 text", bad), "save the file as UTF-8"}};
}

void check_size(std::string_view text) {
  if (text.size() <= kMostBytes) return;
  throw Refusal{{},
                {fmt::format("expected at most {} bytes, got {}", kMostBytes,
                             text.size())}};
}

Node parse(std::string_view text, Report& report) {
  check_size(text);
  check_characters(text);
  std::istringstream stream{std::string(text)};
  YAML::Parser parser(stream);
  TreeBuilder builder(report);
  parser.HandleNextDocument(builder);
  Node root = builder.take_root();
  TreeBuilder rest(report);
  if (parser.HandleNextDocument(rest)) {
    Node second = rest.take_root();
    throw Refusal{second.place,
                  {"a second document begins", "write one file for each"}};
  }
  return root;
}

}  // namespace

Node parse_yaml(std::string_view text, Report& report) {
  try {
    return parse(text, report);
  } catch (const Refusal& refusal) {
    report.add(refusal.place, refusal.problem);
  } catch (const YAML::Exception& error) {
    Place place;
    if (!error.mark.is_null()) place.line = error.mark.line + 1;
    report.add(place, {"not valid YAML: " + error.msg});
  }
  return {};
}

}  // namespace braid::config
