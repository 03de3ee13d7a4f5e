// libFuzzer target: any bytes either are a .pt2 archive, all of whose tensors
// lie in the file and all of whose names are defined, or are refused with
// std::runtime_error. What is such an archive is imported, too: that gives a
// graph or a list of problems.
//
// Random bytes rarely pass the zip directory and its checksums. So most
// mutations take the archive apart, change one part as text or as a JSON tree
// and put it together again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "../io/zip_builder.h"
#include "braid/io/pt2/importer.h"
#include "braid/io/pt2/json_tree.h"
#include "braid/io/pt2/reader.h"

extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace {

using namespace braid::io;
using namespace braid::io::pt2;
using Random = std::minstd_rand;

size_t below(Random& random, size_t limit) {
  return limit == 0 ? 0 : random() % limit;
}

// The program's promises; an item of a type that Braid lacks counts one byte.
size_t last_byte(const StoredTensor& tensor) {
  auto dtype = exported_dtype(tensor.meta.type);
  int64_t item = dtype ? braid::item_bytes(*dtype) : 1;
  int64_t last = tensor.meta.offset.value;
  for (size_t i = 0; i < tensor.meta.sizes.size(); ++i) {
    if (tensor.meta.sizes[i].value == 0) return 0;
    last += (tensor.meta.sizes[i].value - 1) * tensor.meta.strides[i].value;
  }
  return static_cast<size_t>((last + 1) * item);
}

void check_stored(const std::vector<StoredTensor>& list, size_t file_bytes) {
  for (const StoredTensor& tensor : list) {
    if (tensor.begin > file_bytes) std::abort();
    if (tensor.bytes > file_bytes - tensor.begin) std::abort();
    if (last_byte(tensor) > tensor.bytes) std::abort();
  }
}

void check_graph(const ExportedGraph& graph);

void check_argument(const Argument& argument, const ExportedGraph& graph) {
  for (const Argument& item : argument.list) check_argument(item, graph);
  bool is_tensor = argument.kind == Argument::Kind::kTensor;
  if (is_tensor && !graph.tensors.contains(argument.text)) std::abort();
  if (argument.kind == Argument::Kind::kGraph) check_graph(*argument.graph);
}

void check_graph(const ExportedGraph& graph) {
  for (const Argument& value : graph.inputs) check_argument(value, graph);
  for (const ExportedNode& node : graph.nodes) {
    if (node.target.empty()) std::abort();
    for (const auto& input : node.inputs) check_argument(input.value, graph);
    for (const Argument& value : node.outputs) check_argument(value, graph);
  }
  for (const Argument& value : graph.outputs) check_argument(value, graph);
}

// No libtorch here: operators without a rule are problems.
class NoForeignOps : public braid::ForeignOps {
 public:
  std::vector<braid::ValueType> infer(
      const std::string&, const std::vector<braid::ForeignArg>&,
      const std::vector<braid::ValueType>&) const override {
    throw std::invalid_argument("no libtorch");
  }
};

void check_import(const ExportedProgram& program) {
  static const braid::OpTable ops = braid::standard_ops();
  for (Form form : {Form::kTrain, Form::kEval}) {
    ImportOptions options{.form = form};
    Problems problems;
    NoForeignOps foreign;
    Importer importer(ops, program, foreign, options);
    importer.run(problems);
    if (problems.empty()) importer.take_graph();
  }
}

// All values of a tree, to choose one of them.
void collect(Json& tree, std::vector<Json*>& values) {
  values.push_back(&tree);
  if (!tree.is_structured()) return;
  for (Json& item : tree) collect(item, values);
}

Json odd_value(Random& random) {
  static const std::vector<Json> kOdd = {
      nullptr, true,      0,         1,          -1,    7,
      256,     INT64_MAX, INT64_MIN, ~0ull,      1e300, "",
      "x",     "../../x", "NaN",     "Infinity", {},    Json::object()};
  return kOdd[below(random, kOdd.size())];
}

// Removes, repeats or replaces one value.
void change_value(Json& tree, Random& random) {
  std::vector<Json*> values;
  collect(tree, values);
  Json& value = *values[below(random, values.size())];
  Json other = *values[below(random, values.size())];
  switch (below(random, 5)) {
    case 0: value = std::move(other); return;
    case 1:
      if (value.is_array() && !value.empty()) {
        value.erase(below(random, value.size()));
      } else if (value.is_object() && !value.empty()) {
        value.erase(std::next(value.begin(), static_cast<std::ptrdiff_t>(
                                                 below(random, value.size())))
                        .key());
      }
      return;
    case 2:
      if (value.is_array()) value.push_back(std::move(other));
      return;
    default: value = odd_value(random);
  }
}

bool mutate_json(std::string& text, Random& random) {
  Problems problems;
  JsonDocument document("part", problems);
  if (!document.parse(text)) return false;
  size_t count = 1 + below(random, 3);
  for (size_t i = 0; i < count; ++i) change_value(document.root, random);
  text = document.root.dump();
  return true;
}

void mutate_text(std::string& text, size_t room) {
  size_t size = text.size();
  text.resize(size + room);
  auto* data = reinterpret_cast<uint8_t*>(text.data());
  text.resize(LLVMFuzzerMutate(data, size, text.size()));
}

void mutate_frame(ZipPart& part, EndFlaws& end, Random& random) {
  uint64_t odd[] = {0, 1, 40, 0xffffffff, ~uint64_t{0}, random()};
  uint64_t number = odd[below(random, std::size(odd))];
  switch (below(random, 8)) {
    case 0: part.bytes = number; return;
    case 1: part.header = number; return;
    case 2: part.is_wide = true, part.bytes = number; return;
    case 3: part.is_wide = true, part.header = number; return;
    case 4: part.has_sizes_after = true; return;
    case 5: end.directory = number; return;
    case 6: end.entries = number; return;
    default: part.name = "a/../" + part.name;
  }
}

bool is_text(const ZipPart& part) {
  return part.name.ends_with(".json") || part.content.size() < 8;
}

std::string mutate_archive(std::vector<ZipPart> parts, size_t room,
                           Random& random) {
  EndFlaws end = {.is_wide = random() % 2 == 0};
  std::vector<ZipPart*> texts;
  for (ZipPart& part : parts) {
    if (is_text(part)) texts.push_back(&part);
  }
  bool is_any = texts.empty() || random() % 8 == 0;
  ZipPart& part = is_any ? parts[below(random, parts.size())]
                         : *texts[below(random, texts.size())];
  switch (below(random, 8)) {
    case 0: mutate_text(part.content, room); break;
    case 1: mutate_frame(part, end, random); break;
    case 2: part.content.resize(below(random, part.content.size() + 1)); break;
    default:
      if (!mutate_json(part.content, random)) mutate_text(part.content, room);
  }
  return build_zip(parts, end);
}

}  // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,
                                          size_t max_size, unsigned int seed) {
  Random random(seed);
  if (random() % 8 != 0) {
    try {
      std::vector<ZipPart> parts =
          take_apart(std::as_bytes(std::span(data, size)));
      if (!parts.empty()) {
        size_t room = max_size > size ? (max_size - size) / 2 : 0;
        std::string file = mutate_archive(std::move(parts), room, random);
        if (file.size() <= max_size) {
          std::memcpy(data, file.data(), file.size());
          return file.size();
        }
      }
    } catch (const std::runtime_error&) {
    }
  }
  return LLVMFuzzerMutate(data, size, max_size);
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  ExportedProgram program;
  try {
    program = read_exported(std::as_bytes(std::span(data, size)), "input");
  } catch (const std::runtime_error&) {
    return 0;
  }
  check_stored(program.weights, size);
  check_stored(program.constants, size);
  check_graph(program.graph);
  if (program.inputs.size() != program.graph.inputs.size()) std::abort();
  check_import(program);
  return 0;
}
