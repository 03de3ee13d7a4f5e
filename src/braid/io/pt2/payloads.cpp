#include "braid/io/pt2/payloads.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <map>
#include <optional>
#include <utility>

#include "braid/io/pt2/json_arguments.h"

namespace braid::io::pt2 {
namespace {

constexpr std::string_view kPickleHint =
    "Braid never unpickles: tensor subclasses and custom objects have to be "
    "replaced by plain tensors before torch.export.save";

// Of all the types that torch can write, also those that Braid lacks.
std::optional<int64_t> exported_item_bytes(int64_t type) {
  if (std::optional<DType> dtype = exported_dtype(type)) {
    return item_bytes(*dtype);
  }
  switch (type) {
    case 9:             // complex32
    case 34: return 4;  // uint32
    case 28: return 2;  // uint16
    case 29:
    case 30:
    case 31:
    case 32:
    case 33: return 1;  // float8
    case 35: return 8;  // uint64
    default: return std::nullopt;
  }
}

// Bytes from the begin of the storage to the end of the last element; nothing
// when they do not fit into 64 bits.
std::optional<int64_t> span_bytes(const TensorMeta& meta, int64_t item) {
  int64_t last = meta.offset.value;
  for (size_t i = 0; i < meta.sizes.size(); ++i) {
    int64_t size = meta.sizes[i].value, step = 0;
    if (size == 0) return 0;
    if (__builtin_mul_overflow(size - 1, meta.strides[i].value, &step) ||
        __builtin_add_overflow(last, step, &last)) {
      return std::nullopt;
    }
  }
  int64_t bytes = 0;
  if (__builtin_add_overflow(last, 1, &last) ||
      __builtin_mul_overflow(last, item, &bytes)) {
    return std::nullopt;
  }
  return bytes;
}

bool is_symbolic(const TensorMeta& meta) {
  bool found = !meta.offset.symbol.empty();
  for (const Size& size : meta.sizes) found |= !size.symbol.empty();
  for (const Size& stride : meta.strides) found |= !stride.symbol.empty();
  return found;
}

class PayloadReader {
 public:
  PayloadReader(const Archive& archive, std::string_view folder)
      : archive_(archive), folder_(folder) {}

  void read(const std::string& name, const JsonPlace& place) {
    StoredTensor tensor = {.name = name, .path = {}, .meta = {}};
    JsonPlace path = place.at("path_name");
    tensor.path = std::string(folder_) + path.text();
    tensor.is_parameter = place.at("is_param").boolean();
    if (place.at("use_pickle").boolean()) {
      place.fail("weights are pickled");
      place.add_hint(kPickleHint);
      return;
    }
    JsonPlace meta = place.at("tensor_meta");
    size_t before = place.num_problems();
    tensor.meta = read_tensor_meta(meta);
    if (!path || place.num_problems() != before) return;
    const ZipEntry* entry = archive_.find(tensor.path);
    if (!entry) {
      path.fail(fmt::format("there is no file '{}'", shown(tensor.path)));
      return;
    }
    tensor.begin = entry->begin;
    tensor.bytes = entry->bytes;
    tensor.checksum = entry->checksum;
    check(tensor, meta);
    tensors.push_back(std::move(tensor));
  }

  std::vector<StoredTensor> tensors;

 private:
  void check(const StoredTensor& tensor, const JsonPlace& place) {
    std::optional<int64_t> item = exported_item_bytes(tensor.meta.type);
    if (!item) {
      place.fail(fmt::format("unknown dtype number {}", tensor.meta.type));
    } else if (!tensor.meta.is_strided) {
      place.fail("a sparse tensor; only strided ones are supported");
    } else if (is_symbolic(tensor.meta)) {
      place.fail("a stored tensor with symbolic sizes");
    } else {
      check_span(tensor, *item, place);
    }
    auto [first, is_new] = types_.emplace(tensor.path, tensor.meta.type);
    if (!is_new && first->second != tensor.meta.type) {
      place.fail(
          fmt::format("'{}' is shared by tensors of dtype numbers {} "
                      "and {}",
                      shown(tensor.path), first->second, tensor.meta.type));
    }
  }

  static void check_span(const StoredTensor& tensor, int64_t item,
                         const JsonPlace& place) {
    std::optional<int64_t> bytes = span_bytes(tensor.meta, item);
    if (!bytes) {
      place.fail("the storage span is too large");
    } else if (std::cmp_greater(*bytes, tensor.bytes)) {
      place.fail(fmt::format("needs {} bytes, '{}' has {}", *bytes,
                             shown(tensor.path), tensor.bytes));
    }
  }

  const Archive& archive_;
  std::string_view folder_;
  std::map<std::string, int64_t> types_;  // by path
};

using Index = std::map<std::string_view, const StoredTensor*>;

std::vector<int64_t> values_of(const std::vector<Size>& sizes) {
  std::vector<int64_t> values;
  for (const Size& size : sizes) values.push_back(size.value);
  return values;
}

std::string type_text(const TensorMeta& meta) {
  std::optional<DType> dtype = exported_dtype(meta.type);
  std::string name = dtype ? std::string(dtype_name(*dtype))
                           : fmt::format("type {}", meta.type);
  return fmt::format("{}[{}]", name, fmt::join(values_of(meta.sizes), ", "));
}

Index index_of(const std::vector<StoredTensor>& tensors) {
  Index index;
  for (const StoredTensor& tensor : tensors) index[tensor.name] = &tensor;
  return index;
}

void check_spec(const InputSpec& spec, const ExportedGraph& graph,
                const Index& stored, std::string_view list,
                Problems& problems) {
  std::string place = fmt::format("input '{}'", shown(spec.name));
  auto found = stored.find(spec.name);
  if (found == stored.end()) {
    problems.add(place, fmt::format("not in {}", list));
    return;
  }
  auto meta = graph.tensors.find(spec.argument.text);
  if (meta == graph.tensors.end()) return;
  std::string wanted = type_text(meta->second);
  std::string given = type_text(found->second->meta);
  if (wanted == given) return;
  problems.add(place,
               fmt::format("{} in the graph, {} in {}", wanted, given, list));
}

}  // namespace

std::vector<StoredTensor> read_payloads(const JsonPlace& config,
                                        const Archive& archive,
                                        std::string_view folder) {
  PayloadReader reader(archive, folder);
  config.at("config").each_member(
      [&](const std::string& name, const JsonPlace& place) {
        reader.read(name, place);
      });
  return std::move(reader.tensors);
}

void check_stored(const ExportedProgram& program, Problems& problems) {
  using enum InputSpec::Kind;
  Index weights = index_of(program.weights);
  Index constants = index_of(program.constants);
  for (const InputSpec& spec : program.inputs) {
    if (spec.kind == kUser || spec.kind == kOther) continue;
    bool is_weight =
        spec.kind == kParameter || (spec.kind == kBuffer && spec.is_persistent);
    check_spec(spec, program.graph, is_weight ? weights : constants,
               is_weight ? "data/weights" : "data/constants", problems);
  }
}

}  // namespace braid::io::pt2
