#include "braid/io/pt2/json_arguments.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>

#include "braid/io/pt2/json_graph.h"
#include "braid/io/pt2/symbol_text.h"

namespace braid::io::pt2 {
namespace {

using Kind = Argument::Kind;

constexpr int64_t kStrided = 7;       // the exporter's number of that layout
constexpr int64_t kLargestItem = 16;  // bytes of a complex128

Argument read_missing(const JsonPlace&) { return {}; }

Argument read_integer(const JsonPlace& place) {
  return {.kind = Kind::kInteger, .integer = place.integer()};
}

Argument read_number(const JsonPlace& place) {
  return {.kind = Kind::kNumber, .number = place.number()};
}

Argument read_bool(const JsonPlace& place) {
  return {.kind = Kind::kBool, .integer = place.boolean()};
}

Argument read_text(const JsonPlace& place) {
  return {.kind = Kind::kText, .text = place.text()};
}

Argument read_type(const JsonPlace& place) {
  return {.kind = Kind::kType, .integer = place.integer()};
}

Argument read_layout(const JsonPlace& place) {
  return {.kind = Kind::kLayout, .integer = place.integer()};
}

Argument read_memory_format(const JsonPlace& place) {
  return {.kind = Kind::kMemoryFormat, .integer = place.integer()};
}

Argument read_device(const JsonPlace& place) {
  std::string text = place.at("type").text();
  if (JsonPlace index = place.find("index")) {
    text += fmt::format(":{}", index.integer());
  }
  return {.kind = Kind::kDevice, .text = std::move(text)};
}

Argument read_complex(const JsonPlace& place) {
  return {.kind = Kind::kComplex,
          .number = place.at("real").number(),
          .imaginary = place.at("imag").number()};
}

Argument read_subgraph(const JsonPlace& place) {
  return {
      .kind = Kind::kGraph,
      .text = place.at("name").text(),
      .graph = std::make_shared<ExportedGraph>(read_graph(place.at("graph")))};
}

Argument other(std::string_view member) {
  return {.kind = Kind::kOther, .text = std::string(member)};
}

// A scalar value by name, or a plain one among such values.
Argument read_symbol(const JsonPlace& place) {
  auto [member, value] = place.only_member();
  if (member == "as_name") {
    return {.kind = Kind::kSymbol, .text = value.text()};
  }
  if (member == "as_int") return read_integer(value);
  if (member == "as_float") return read_number(value);
  if (member == "as_bool") return read_bool(value);
  return other(member);
}

Argument read_optional_tensor(const JsonPlace& place) {
  auto [member, value] = place.only_member();
  if (member == "as_none") return {};
  if (member == "as_tensor") return read_tensor_name(value);
  return other(member);
}

struct Row {
  std::string_view member;
  Argument (*read)(const JsonPlace&);
  int list_depth = 0;  // lists of, lists of lists of
};

constexpr std::array<Row, 28> kRows = {{
    {"as_none", read_missing},
    {"as_tensor", read_tensor_name},
    {"as_tensors", read_tensor_name, 1},
    {"as_nested_tensors", read_tensor_name, 2},
    {"as_optional_tensor", read_optional_tensor},
    {"as_optional_tensors", read_optional_tensor, 1},
    {"as_int", read_integer},
    {"as_ints", read_integer, 1},
    {"as_int_lists", read_integer, 2},
    {"as_float", read_number},
    {"as_floats", read_number, 1},
    {"as_float_lists", read_number, 2},
    {"as_bool", read_bool},
    {"as_bools", read_bool, 1},
    {"as_string", read_text},
    {"as_strings", read_text, 1},
    {"as_sym_int", read_symbol},
    {"as_sym_ints", read_symbol, 1},
    {"as_sym_float", read_symbol},
    {"as_sym_floats", read_symbol, 1},
    {"as_sym_bool", read_symbol},
    {"as_sym_bools", read_symbol, 1},
    {"as_scalar_type", read_type},
    {"as_layout", read_layout},
    {"as_memory_format", read_memory_format},
    {"as_device", read_device},
    {"as_complex", read_complex},
    {"as_graph", read_subgraph},
}};

Argument read_row(const Row& row, const JsonPlace& place, int list_depth) {
  if (list_depth == 0) return row.read(place);
  Argument list = {.kind = Kind::kList};
  place.each([&](const JsonPlace& item) {
    list.list.push_back(read_row(row, item, list_depth - 1));
  });
  return list;
}

// Sizes or strides: at least 0 where they are known.
std::vector<Size> read_sizes(const JsonPlace& place) {
  std::vector<Size> sizes;
  place.each([&](const JsonPlace& item) {
    Size size = read_size(item);
    bool is_unknown = !size.symbol.empty() && size.value == -1;
    if (size.value < 0 && !is_unknown) {
      item.fail(fmt::format("the negative size or stride {}", size.value));
      size.value = 0;
    }
    sizes.push_back(std::move(size));
  });
  if (sizes.size() > kMaxRank) {
    place.fail(
        fmt::format("{} dimensions, the limit is {}", sizes.size(), kMaxRank));
  }
  return sizes;
}

void check_bytes(const TensorMeta& meta, const JsonPlace& place) {
  int64_t bytes = kLargestItem;
  for (const Size& size : meta.sizes) {
    int64_t factor = std::max<int64_t>(size.value, 1);
    if (!__builtin_mul_overflow(bytes, factor, &bytes)) continue;
    place.fail("the product of the sizes is too large");
    return;
  }
}

}  // namespace

Argument read_tensor_name(const JsonPlace& place) {
  return {.kind = Kind::kTensor, .text = place.at("name").text()};
}

Argument read_argument(const JsonPlace& place) {
  auto [member, value] = place.only_member();
  auto row = std::ranges::find(kRows, member, &Row::member);
  if (row == kRows.end()) return other(member);
  return read_row(*row, value, row->list_depth);
}

Size read_size(const JsonPlace& place) {
  auto [member, value] = place.only_member();
  if (member == "as_int") return {.value = value.integer()};
  if (member != "as_expr") {
    place.fail("expected 'as_int' or 'as_expr'");
    return {};
  }
  Size size = {.value = -1, .symbol = symbol_text(value.at("expr_str").text())};
  if (size.symbol.empty()) value.fail("an empty expression");
  JsonPlace hint = value.find("hint");
  if (hint) size.value = hint.at("as_int").integer();
  return size;
}

TensorMeta read_tensor_meta(const JsonPlace& place) {
  TensorMeta meta;
  meta.type = place.at("dtype").integer();
  meta.sizes = read_sizes(place.at("sizes"));
  meta.strides = read_sizes(place.at("strides"));
  JsonPlace offset = place.at("storage_offset");
  meta.offset = read_size(offset);
  if (meta.offset.value < 0 && meta.offset.symbol.empty()) {
    offset.fail(fmt::format("the negative offset {}", meta.offset.value));
  }
  meta.requires_grad = place.at("requires_grad").boolean();
  meta.is_strided = place.at("layout").integer() == kStrided;
  if (meta.is_strided && meta.sizes.size() != meta.strides.size()) {
    place.fail(fmt::format("{} sizes and {} strides", meta.sizes.size(),
                           meta.strides.size()));
  }
  check_bytes(meta, place);
  return meta;
}

}  // namespace braid::io::pt2
