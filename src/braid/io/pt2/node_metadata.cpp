#include "braid/io/pt2/node_metadata.h"

#include <algorithm>
#include <array>

#include "braid/io/problems.h"

namespace braid::io::pt2 {
namespace {

// What stands in the place of a stack for nodes that the exporter made.
constexpr std::string_view kNoStack = "_empty_nn_module_stack";
constexpr std::string_view kFrame = "File \"";

// Cuts the text before the separator off `rest`.
std::string_view take_until(std::string_view& rest, char separator) {
  size_t end = std::min(rest.find(separator), rest.size());
  std::string_view head = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return head;
}

std::string_view trim(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  size_t begin = std::min(text.find_first_not_of(kSpace), text.size());
  text.remove_prefix(begin);
  return text.substr(0, text.find_last_not_of(kSpace) + 1);
}

bool is_torch_frame(std::string_view frame) {
  constexpr std::array<std::string_view, 4> kFolders = {
      "-packages/torch/", "/torch/nn/modules/", "/torch/nn/functional.py",
      "/torch/_"};
  size_t begin = kFrame.size();
  std::string_view path = frame.substr(begin, frame.find('"', begin) - begin);
  return std::ranges::any_of(kFolders, [&](std::string_view folder) {
    return path.find(folder) != path.npos;
  });
}

}  // namespace

std::string layer_of(std::string_view module_stack) {
  std::string_view entry =
      module_stack.substr(module_stack.find_last_of(';') + 1);
  if (entry.starts_with(kNoStack)) return "";
  take_until(entry, ',');
  std::string_view path = take_until(entry, ',');
  for (std::string_view self : {"L['self']", "L__self__"}) {
    if (path.starts_with(self)) path.remove_prefix(self.size());
  }
  while (path.starts_with('.')) path.remove_prefix(1);
  // A second call of the same module: "fc@1".
  return std::string(path.substr(0, path.find('@')));
}

std::string source_of(std::string_view stack_trace) {
  std::string_view frame, best, code;
  bool best_is_torch = true;
  while (!stack_trace.empty()) {
    std::string_view line = trim(take_until(stack_trace, '\n'));
    if (!line.starts_with(kFrame)) {
      bool is_of_best = !best.empty() && best.data() == frame.data();
      if (is_of_best && code.empty()) code = line;
      continue;
    }
    frame = line;
    bool is_torch = is_torch_frame(frame);
    if (is_torch && !best_is_torch) continue;
    best = frame, code = {}, best_is_torch = is_torch;
  }
  // Two parts, so that a long line of code does not hide its place.
  return code.empty() ? shown(best) : shown(best) + ": " + shown(code);
}

}  // namespace braid::io::pt2
