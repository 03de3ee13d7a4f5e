// A model in training that is driven over standard input, so that a script can
// time it between other engines. A line "N" runs N training steps and answers
// with the seconds they took; "peak" answers with predicted and charged bytes;
// "profile" answers with the seconds of each op in a step, "calls" with those
// of its 20 longest calls, both ended by a line "end"; "programs" with the
// number of calls in a step.
#pragma once

#include <chrono>
#include <cstring>
#include <functional>
#include <iostream>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "braid/train/trainer.h"

namespace braid::bench {

// By value of the graph; empty where it is no input.
using Inputs = std::vector<std::vector<std::byte>>;

struct Server {
  train::Trainer& trainer;
  runtime::Backend& backend;
  runtime::Executor::Feed feed;
};

// Whole numbers of an input are below this.
inline int64_t whole_limit(const std::string& name, int64_t classes) {
  return name == "token_types" || name == "mask" ? 2 : classes;
}

template <class T, class Draw>
std::vector<std::byte> drawn(size_t count, const Draw& draw) {
  std::vector<std::byte> bytes(count * sizeof(T));
  for (size_t i = 0; i < count; ++i) {
    auto value = static_cast<T>(draw());
    std::memcpy(&bytes[i * sizeof value], &value, sizeof value);
  }
  return bytes;
}

// Inputs that any of the built-in models accepts: classes and tokens below
// `classes`, labels between 0 and 1, floats of variance one.
inline Inputs make_inputs(const Graph& graph, int64_t classes) {
  Inputs inputs(graph.values().size());
  std::mt19937 random(1);
  for (ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    auto count = static_cast<size_t>(num_elements(value.type.shape));
    auto& bytes = inputs[static_cast<size_t>(id)];
    if (value.type.dtype == DType::kInt64) {
      auto limit = static_cast<uint32_t>(whole_limit(value.name, classes));
      bytes = drawn<int64_t>(count, [&] { return random() % limit; });
    } else {
      bool is_label = value.name == "y";
      bytes = drawn<float>(count, [&] {
        double share = static_cast<double>(random()) / 4294967296.0;
        return is_label ? share : (share - 0.5) * 3.46;
      });
    }
  }
  return inputs;
}

// Seconds until all of the steps are done.
inline double run_steps(const Server& server, int64_t count) {
  auto start = std::chrono::steady_clock::now();
  for (int64_t i = 0; i < count; ++i) server.trainer.step(server.feed);
  server.backend.synchronize();
  std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  return took.count();
}

using Names = std::function<std::string(const Graph& graph, const Node& node)>;

inline std::string op_of(const Graph&, const Node& node) {
  return node.op->name;
}

inline std::string call_of(const Graph& graph, const Node& node) {
  std::string text = node.op->name + " " + node.path;
  for (ValueId id : node.inputs) {
    if (id != kNone) text += " " + shape_text(graph.value(id).type.shape);
  }
  return text;
}

// Seconds of one step, summed by name, the largest first, then a line "end".
inline void print_profile(const Server& server, const Names& name_of,
                          size_t most) {
  constexpr int64_t kSteps = 10;
  train::Trainer& trainer = server.trainer;
  std::vector<double> seconds;
  trainer.executor().time_calls(&seconds);
  run_steps(server, kSteps);
  trainer.executor().time_calls(nullptr);
  const Graph& graph = trainer.program().graph;
  std::map<std::string, double> by_name;
  for (size_t i = 0; i < seconds.size(); ++i) {
    const Node& node = graph.node(trainer.program().calls[i].node);
    by_name[name_of(graph, node)] += seconds[i] / kSteps;
  }
  std::multimap<double, std::string> sorted;
  for (const auto& [name, s] : by_name) sorted.emplace(-s, name);
  for (const auto& [s, name] : sorted) {
    if (most-- == 0) break;
    std::cout << -s << " " << name << "\n";
  }
  std::cout << "end" << std::endl;
}

inline void answer(const Server& server, const std::string& line) {
  if (line == "peak") {
    std::cout << server.trainer.program().peak_bytes() << " "
              << server.backend.account().peak_bytes() << std::endl;
  } else if (line == "profile") {
    print_profile(server, op_of, 1000);
  } else if (line == "calls") {
    print_profile(server, call_of, 20);
  } else if (line == "programs") {
    std::cout << server.trainer.program().calls.size() << std::endl;
  } else {
    std::cout << run_steps(server, std::stoll(line)) << std::endl;
  }
}

}  // namespace braid::bench
