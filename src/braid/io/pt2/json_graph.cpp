#include "braid/io/pt2/json_graph.h"

#include <fmt/format.h>

#include <unordered_map>
#include <utility>

#include "braid/io/pt2/json_arguments.h"
#include "braid/io/pt2/node_metadata.h"

namespace braid::io::pt2 {
namespace {

using Kind = Argument::Kind;

constexpr int64_t kKeyword = 2;  // the exporter's number of that kind

class GraphReader {
 public:
  ExportedGraph read(const JsonPlace& place) {
    read_values(place);
    place.at("inputs").each([&](const JsonPlace& item) {
      graph_.inputs.push_back(read_argument(item));
      Kind kind = graph_.inputs.back().kind;
      if (kind == Kind::kList || kind == Kind::kGraph) {
        item.fail("a list or a graph as an input of a graph");
      }
      define(graph_.inputs.back(), item);
    });
    place.at("nodes").each([&](const JsonPlace& item) {
      graph_.nodes.push_back(read_node(item));
    });
    place.at("outputs").each([&](const JsonPlace& item) {
      graph_.outputs.push_back(read_argument(item));
      use(graph_.outputs.back(), item);
    });
    return std::move(graph_);
  }

 private:
  void read_values(const JsonPlace& place) {
    place.at("tensor_values")
        .each_member([&](const std::string& name, const JsonPlace& item) {
          graph_.tensors.emplace(name, read_tensor_meta(item));
        });
    place.at("sym_int_values")
        .each_member([&](const std::string& name, const JsonPlace& item) {
          graph_.symbols.emplace(name, read_size(item));
        });
  }

  ExportedNode read_node(const JsonPlace& place) {
    ExportedNode node;
    node.target = read_target(place.at("target"));
    place.at("inputs").each([&](const JsonPlace& item) {
      node.inputs.push_back(read_input(item));
    });
    place.at("outputs").each([&](const JsonPlace& item) {
      node.outputs.push_back(read_output(item));
    });
    node.name = name_of(node, place.find("name"));
    read_metadata(node, place.at("metadata"));
    return node;
  }

  static std::string read_target(const JsonPlace& place) {
    size_t before = place.num_problems();
    std::string target = place.text();
    bool was_read = place.num_problems() == before;
    if (was_read && target.empty()) place.fail("an empty target");
    return target;
  }

  NamedArgument read_input(const JsonPlace& place) {
    JsonPlace value = place.at("arg"), kind = place.find("kind");
    NamedArgument input = {.name = place.at("name").text(),
                           .value = read_argument(value),
                           .by_keyword = kind && kind.integer() == kKeyword};
    use(input.value, value);
    return input;
  }

  Argument read_output(const JsonPlace& place) {
    Argument output = read_argument(place);
    if (!is_result(output)) place.fail("a constant as the result of a node");
    define(output, place);
    return output;
  }

  static bool is_result(const Argument& argument) {
    switch (argument.kind) {
      case Kind::kTensor:
      case Kind::kSymbol:
      case Kind::kMissing:
      case Kind::kOther: return true;
      case Kind::kList:
        for (const Argument& item : argument.list) {
          if (!is_result(item)) return false;
        }
        return true;
      default: return false;
    }
  }

  // Nodes of older files have no name.
  static std::string name_of(const ExportedNode& node, const JsonPlace& place) {
    if (place) return place.text();
    return node.outputs.empty() ? "" : node.outputs[0].text;
  }

  static void read_metadata(ExportedNode& node, const JsonPlace& place) {
    if (JsonPlace stack = place.find("nn_module_stack")) {
      node.layer = layer_of(stack.text());
    }
    if (JsonPlace trace = place.find("stack_trace")) {
      node.source = source_of(trace.text());
    }
  }

  static bool is_value(const Argument& argument) {
    return argument.kind == Kind::kTensor || argument.kind == Kind::kSymbol;
  }

  void define(const Argument& argument, const JsonPlace& place) {
    for (const Argument& item : argument.list) define(item, place);
    if (!is_value(argument) || !place) return;
    const std::string& name = argument.text;
    if (name.empty()) {
      place.fail("a value without a name");
    } else if (!values_.emplace(name, argument.kind).second) {
      place.fail(fmt::format("'{}' is defined twice", shown(name)));
    } else if (argument.kind == Kind::kTensor &&
               !graph_.tensors.contains(name)) {
      place.fail(fmt::format("'{}' has no tensor_values", shown(name)));
    }
  }

  void use(const Argument& argument, const JsonPlace& place) {
    for (const Argument& item : argument.list) use(item, place);
    if (!is_value(argument)) return;
    auto found = values_.find(argument.text);
    if (found == values_.end()) {
      place.fail(fmt::format("'{}' is used before it is defined",
                             shown(argument.text)));
    } else if (found->second != argument.kind) {
      bool as_tensor = argument.kind == Kind::kTensor;
      place.fail(fmt::format(
          "'{}' is used as a {}, but it is a {}", shown(argument.text),
          as_tensor ? "tensor" : "scalar", as_tensor ? "scalar" : "tensor"));
    }
  }

  ExportedGraph graph_;
  std::unordered_map<std::string, Kind> values_;
};

}  // namespace

ExportedGraph read_graph(const JsonPlace& place) {
  return GraphReader().read(place);
}

}  // namespace braid::io::pt2
