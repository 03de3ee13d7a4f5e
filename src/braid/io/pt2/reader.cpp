#include "braid/io/pt2/reader.h"

#include <fmt/format.h>

#include <limits>

#include "braid/graph/init.h"
#include "braid/io/pt2/archive.h"
#include "braid/io/pt2/json_graph.h"
#include "braid/io/pt2/json_tree.h"
#include "braid/io/pt2/payloads.h"
#include "braid/io/pt2/signature.h"

namespace braid::io::pt2 {
namespace {

using Limits = std::numeric_limits<int64_t>;

constexpr std::string_view kWeights = "data/weights/";
constexpr std::string_view kConstants = "data/constants/";

void check_word(const Archive& archive, std::string_view path,
                std::string_view wanted, Problems& problems) {
  auto text = archive.text(path, problems);
  if (!text || *text == wanted) return;
  problems.add(path, fmt::format("'{}' is not supported, only '{}' is",
                                 shown(*text), wanted));
}

void check_words(const Archive& archive, Problems& problems) {
  check_word(archive, "archive_format", "pt2", problems);
  check_word(archive, "archive_version", "0", problems);
  // Writers without this part were always little-endian.
  if (archive.find("byteorder")) {
    check_word(archive, "byteorder", "little", problems);
  }
}

// False when the rest of the program cannot be understood.
bool read_version(const JsonPlace& place, ExportedProgram& program) {
  if (JsonPlace version = place.find("torch_version")) {
    program.torch_version = version.text();
  }
  JsonPlace version = place.at("schema_version");
  program.schema_major = version.at("major").integer();
  program.schema_minor = version.at("minor").integer();
  if (!version) return false;
  if (program.schema_major == kSchemaMajor) return true;
  version.fail(fmt::format(
      "schema {}.{} (written by torch {}) is not supported, only {}.x is",
      program.schema_major, program.schema_minor, shown(program.torch_version),
      kSchemaMajor));
  place.add_hint("export the model again with torch 2.11 or newer");
  return false;
}

void read_ranges(const JsonPlace& place, ExportedProgram& program) {
  place.each_member([&](const std::string& symbol, const JsonPlace& range) {
    JsonPlace least = range.find("min_val"), most = range.find("max_val");
    auto [min, max] = std::pair(least ? least.integer() : Limits::min(),
                                most ? most.integer() : Limits::max());
    if (min > max)
      range.fail(fmt::format("the empty range {} to {}", min, max));
    program.ranges.emplace(symbol, std::pair(min, max));
  });
}

void read_program(const JsonPlace& place, ExportedProgram& program) {
  if (!read_version(place, program)) return;
  read_ranges(place.at("range_constraints"), program);
  JsonPlace module = place.at("graph_module");
  program.graph = read_graph(module.at("graph"));
  read_signature(module, program);
}

// Calls read(place) with the root of a JSON part, unless it cannot be parsed.
template <class Read>
void with_document(const Archive& archive, const std::string& path,
                   Problems& problems, Read read) {
  JsonDocument document(path, problems);
  auto text = archive.text(path, problems);
  if (text && document.parse(*text)) read(JsonPlace(document));
}

std::vector<StoredTensor> read_list(const Archive& archive,
                                    std::string_view folder,
                                    std::string_view kind, Problems& problems) {
  std::vector<StoredTensor> tensors;
  std::string path = fmt::format("{}{}_{}.json", folder, archive.model(), kind);
  with_document(archive, path, problems, [&](const JsonPlace& place) {
    tensors = read_payloads(place, archive, folder);
  });
  return tensors;
}

constexpr std::string_view kInitialisers = "extra/braid_init.json";

void read_initialiser(const std::string& name, const JsonPlace& place,
                      const JsonPlace& zero_rows, ExportedProgram& program) {
  Initialiser made{.parameter = name, .init = {}};
  size_t before = place.num_problems();
  std::string text = place.text();
  if (place.num_problems() != before) return;
  try {
    made.init = parse_init(text);
  } catch (const std::invalid_argument& error) {
    return place.fail(shown(error.what()));
  }
  if (JsonPlace row = zero_rows.find(name)) made.zero_row = row.integer();
  program.initialisers.push_back(std::move(made));
}

// How parameters are drawn; only files of the export script have this part.
void read_initialisers(const Archive& archive, Problems& problems,
                       ExportedProgram& program) {
  if (!archive.find(kInitialisers)) return;
  with_document(archive, std::string(kInitialisers), problems,
                [&](const JsonPlace& place) {
                  JsonPlace zero_rows = place.at("zero_rows");
                  place.at("drawn").each_member(
                      [&](const std::string& name, const JsonPlace& text) {
                        read_initialiser(name, text, zero_rows, program);
                      });
                  place.at("constant").each([&](const JsonPlace& name) {
                    program.seedless.push_back(name.text());
                  });
                });
}

}  // namespace

ExportedProgram read_exported(Bytes file, std::string_view where) {
  Archive archive(file, where);
  Problems problems;
  check_words(archive, problems);
  ExportedProgram program;
  with_document(archive, "models/" + archive.model() + ".json", problems,
                [&](const JsonPlace& place) { read_program(place, program); });
  program.weights = read_list(archive, kWeights, "weights_config", problems);
  program.constants =
      read_list(archive, kConstants, "constants_config", problems);
  read_initialisers(archive, problems, program);
  if (problems.empty()) check_stored(program, problems);
  problems.throw_if_any("pt2", where);
  return program;
}

}  // namespace braid::io::pt2
