// Text that names a thing and its values: "cosine(steps=90,warmup=10)",
// "multi_step(milestones=[30,80])".
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace braid {

// A number, or a list of them.
struct CallValue {
  std::string name;
  std::vector<double> numbers;
  bool is_list = false;
  bool is_percent = false;  // "5%": the number is 5

  bool operator==(const CallValue&) const = default;
};

struct CallText {
  std::string name;
  std::vector<CallValue> values = {};

  bool operator==(const CallText&) const = default;
};

enum class Percents { kRefused, kTaken };

// Errors begin with `part`: "[schedule]".
CallText parse_call(std::string_view text, std::string_view part,
                    Percents percents = Percents::kRefused);

// "5%" -> 5; nothing for another text.
std::optional<double> parse_percent(std::string_view text);

// The shortest text that reads back to the same.
std::string call_text(const CallText& call);

}  // namespace braid
