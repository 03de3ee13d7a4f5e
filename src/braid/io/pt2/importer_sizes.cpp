// Whether sizes that are given fit those that the file leaves open.
#include <algorithm>
#include <limits>

#include "braid/io/pt2/importer.h"
#include "braid/io/pt2/symbol_value.h"

namespace braid::io::pt2 {
namespace {

// A dimension of an input that the file leaves open, and the size it gets.
struct OpenSize {
  std::string input;
  size_t dim;
  std::string symbol;  // or an expression of symbols
  int64_t size;
};

std::vector<OpenSize> open_sizes(const ExportedProgram& program,
                                 const ImportOptions& options) {
  std::vector<OpenSize> open;
  for (const InputSpec& spec : program.inputs) {
    auto given = options.inputs.find(spec.argument.text);
    bool is_given = spec.kind == InputSpec::Kind::kUser &&
                    spec.argument.kind == Argument::Kind::kTensor &&
                    given != options.inputs.end();
    if (!is_given) continue;
    const TensorMeta& meta = program.graph.tensors.at(given->first);
    const Shape& shape = given->second.shape;
    for (size_t d = 0; d < std::min(shape.size(), meta.sizes.size()); ++d) {
      const std::string& symbol = meta.sizes[d].symbol;
      if (!symbol.empty()) open.push_back({given->first, d, symbol, shape[d]});
    }
  }
  return open;
}

bool is_symbol(const std::string& text) {
  return symbol_value(text, {}) != symbol_value(text, {{text, 0}});
}

std::string range_text(const std::pair<int64_t, int64_t>& range) {
  bool is_open = range.second == std::numeric_limits<int64_t>::max();
  return is_open ? fmt::format("{} or more", range.first)
                 : fmt::format("{} to {}", range.first, range.second);
}

}  // namespace

bool Importer::check_sizes() {
  size_t before = problems_->count();
  std::map<std::string, int64_t> symbols;
  std::vector<OpenSize> open = open_sizes(program_, options_);
  for (const auto& [input, dim, symbol, size] : open) {
    if (is_symbol(symbol)) symbols.emplace(symbol, size);
    auto range = program_.ranges.find(symbol);
    bool fits =
        range == program_.ranges.end() ||
        std::clamp(size, range->second.first, range->second.second) == size;
    if (fits) continue;
    problems_->add(
        "", fmt::format("input '{}': dimension {} is {}, the model was "
                        "exported for {}\nHINT: export with a wider range of "
                        "this dimension",
                        input, dim, size, range_text(range->second)));
  }
  for (const auto& [input, dim, symbol, size] : open) {
    std::optional<int64_t> value = symbol_value(symbol, symbols);
    if (!value || *value == size) continue;
    problems_->add("",
                   fmt::format("input '{}': dimension {} is {}, from the other "
                               "inputs follows {} ({})",
                               input, dim, size, *value, symbol));
  }
  return problems_->count() == before;
}

}  // namespace braid::io::pt2
