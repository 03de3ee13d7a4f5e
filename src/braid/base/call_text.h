// Text that names a thing and its values: "cosine(steps=90,warmup=10)",
// "multi_step(milestones=[30,80])".
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace braid {

// A number, or a list of them.
struct CallValue {
  std::string name;
  std::vector<double> numbers;
  bool is_list = false;

  bool operator==(const CallValue&) const = default;
};

struct CallText {
  std::string name;
  std::vector<CallValue> values = {};

  bool operator==(const CallText&) const = default;
};

// Errors begin with `part`: "[schedule]".
CallText parse_call(std::string_view text, std::string_view part);

// The shortest text that reads back to the same.
std::string call_text(const CallText& call);

}  // namespace braid
