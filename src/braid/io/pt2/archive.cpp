#include "braid/io/pt2/archive.h"

#include <fmt/ranges.h>

#include <vector>

#include "braid/base/error.h"
#include "braid/io/pt2/json_tree.h"

namespace braid::io::pt2 {
namespace {

constexpr std::string_view kFormatPath = "archive_format";
constexpr std::string_view kOldProgram = "serialized_exported_program.json";
constexpr std::string_view kExportHint =
    "export the model again and write it with torch.export.save of torch 2.11 "
    "or newer";

std::string_view as_text(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

// What the program in an older file says about its writer.
std::string writer_of(const ZipArchive& zip, const ZipEntry* program,
                      std::string_view fallback) {
  Problems ignored;
  JsonDocument document("program", ignored);
  if (program && document.parse(as_text(zip.content(*program)))) {
    JsonPlace version = JsonPlace(document).find("torch_version");
    if (version) return "torch " + shown(version.text());
  }
  return std::string(fallback);
}

[[noreturn]] void fail_layout(std::string_view file, std::string_view what) {
  fail_world("[pt2] {}: {}\nHINT: {}", file, what, kExportHint);
}

// A zip file without the mark of a .pt2 archive: says what it is instead.
[[noreturn]] void fail_without_format(const ZipArchive& zip,
                                      std::string_view file) {
  bool is_script = false, is_pickle = false;
  for (const ZipEntry& entry : zip.entries()) {
    std::string_view path = entry.name;
    if (path.ends_with(kOldProgram)) {
      fail_layout(file,
                  fmt::format("written by {} in an old layout ({}, "
                              "weights are pickled)",
                              writer_of(zip, &entry, "torch 2.7 or older"),
                              kOldProgram));
    }
    is_script |= path.ends_with("/constants.pkl");
    is_pickle |= path.ends_with("/data.pkl");
  }
  if (is_script) fail_layout(file, "written by torch.jit.save");
  if (is_pickle) fail_layout(file, "written by torch.save");
  fail_layout(file, fmt::format("no '{}' among its {} entries; not a .pt2 "
                                "archive",
                                kFormatPath, zip.entries().size()));
}

}  // namespace

Archive::Archive(Bytes file, std::string_view name) : zip_(file, name) {
  for (const ZipEntry& entry : zip_.entries()) {
    size_t slash = entry.name.find('/');
    if (slash != entry.name.npos &&
        entry.name.substr(slash + 1) == kFormatPath) {
      root_ = entry.name.substr(0, slash + 1);
      break;
    }
  }
  if (root_.empty()) fail_without_format(zip_, name);
  check_root(name);
  find_model(name);
}

const ZipEntry* Archive::find(std::string_view path) const {
  return zip_.find(root_ + std::string(path));
}

std::optional<std::string_view> Archive::text(std::string_view path,
                                              Problems& problems) const {
  const ZipEntry* entry = find(path);
  if (!entry) {
    problems.add(path, "this part is missing");
    return std::nullopt;
  }
  if (!zip_.has_right_checksum(*entry)) {
    problems.add(path, "the checksum is wrong: the part is damaged");
    return std::nullopt;
  }
  return as_text(zip_.content(*entry));
}

void Archive::check_root(std::string_view name) {
  Problems problems;
  for (const ZipEntry& entry : zip_.entries()) {
    if (entry.name.starts_with(root_)) continue;
    problems.add("", fmt::format("entry '{}' lies outside the folder '{}'",
                                 shown(entry.name), shown(root_)));
  }
  problems.throw_if_any("pt2", name);
}

void Archive::find_model(std::string_view name) {
  std::string folder = root_ + "models/";
  constexpr std::string_view kSuffix = ".json";
  std::vector<std::string> models;
  for (const ZipEntry& entry : zip_.entries()) {
    std::string_view path = entry.name;
    if (!path.starts_with(folder) || !path.ends_with(kSuffix)) continue;
    path.remove_prefix(folder.size());
    path.remove_suffix(kSuffix.size());
    models.emplace_back(path);
  }
  if (models.size() > 1) {
    fail_world(
        "[pt2] {}: {} programs ({})\nHINT: save each with torch.export.save "
        "in a file of its own",
        name, models.size(), shown(fmt::format("{}", fmt::join(models, ", "))));
  }
  if (models.empty()) {
    fail_layout(name,
                "no program (models/model.json); archives of compiled "
                "models cannot be trained");
  }
  model_ = models[0];
  if (find("data/weights/" + model_ + "_weights_config.json")) return;
  bool is_old = find("data/weights/" + model_ + ".pt") ||
                find("data/weights/" + model_ + "_model_param_config.json");
  if (!is_old) return;
  const ZipEntry* program = find("models/" + model_ + ".json");
  fail_layout(name, fmt::format("written by {} in an old layout (weights are "
                                "pickled)",
                                writer_of(zip_, program, "torch before 2.11")));
}

}  // namespace braid::io::pt2
