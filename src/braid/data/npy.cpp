// Arrays of NumPy; the first dimension counts samples: .npy files, one per
// field, or an .npz file, which is a zip archive of such.
#include <algorithm>
#include <system_error>

#include "braid/base/error.h"
#include "braid/data/npy_array.h"
#include "braid/data/npz.h"
#include "braid/data/source_rows.h"

namespace braid::data {
namespace {

namespace fs = std::filesystem;
using Kind = Option::Kind;
using NamedFiles = std::vector<std::pair<std::string, fs::path>>;

NamedFiles files_in(const fs::path& folder, const std::string& who) {
  std::error_code error;
  NamedFiles files;
  for (fs::directory_iterator at(folder, error), end; !error && at != end;
       at.increment(error)) {
    const fs::path& path = at->path();
    if (path.extension() == ".npy") files.emplace_back(path.stem(), path);
  }
  if (error) io::fail_file(who, "cannot list", folder, error.value());
  std::ranges::sort(files);
  if (files.empty()) {
    fail_world("[{}] expected files *.npy, got none ({})", who,
               folder.string());
  }
  return files;
}

// Which of the three ways to name arrays is taken.
std::string way_of(const Options& options) {
  std::string way;
  for (const char* name : {"files", "folder", "file"}) {
    if (!options.has(name)) continue;
    if (!way.empty()) {
      fail_usage("[{}] expected one of 'files', 'folder' and 'file', got two",
                 options.who());
    }
    way = name;
  }
  if (way.empty()) {
    fail_usage("[{}] expected one of 'files', 'folder' and 'file', got none",
               options.who());
  }
  if (way != "file" && options.has("arrays")) {
    fail_usage("[{}] 'arrays' are those of an .npz 'file'", options.who());
  }
  return way;
}

Column read_file(const Options& options, const std::string& field,
                 const fs::path& path, NpyMemory& memory) {
  memory.files.emplace_back(path);
  io::Bytes bytes = memory.files.back().bytes();
  if (looks_like_npz(bytes)) {
    return read_npz_alone(options.who(), field, path.string(), bytes, memory);
  }
  return read_npy_array(options.who(), field, path.string(), bytes, memory);
}

std::vector<Column> read_columns(const Options& options, NpyMemory& memory) {
  std::string way = way_of(options);
  if (way == "file") {
    memory.files.emplace_back(options.path("file"));
    std::vector<std::string> wanted;
    if (options.has("arrays")) wanted = options.names("arrays");
    return read_npz(options.who(), wanted, options.path("file").string(),
                    memory.files.back().bytes(), memory);
  }
  std::vector<Column> columns;
  for (const auto& [field, path] :
       way == "files" ? options.files("files")
                      : files_in(options.path("folder"), options.who())) {
    columns.push_back(read_file(options, field, path, memory));
  }
  return columns;
}

DatasetPtr open_npy(const Options& options) {
  auto memory = std::make_shared<NpyMemory>();
  std::vector<Column> columns = read_columns(options, *memory);
  apply_pixels(options, columns);
  return rows_dataset(options.who(), std::move(columns),
                      options.whole("classes"), memory);
}

}  // namespace

Source npy_source() {
  return {
      "npy",
      "arrays of NumPy, .npy and .npz; the first dimension counts samples",
      "one per array: floats as they are, whole numbers as i64",
      {{"files", Kind::kFiles, "", "by field: [x=images.npy, y=labels.npy]"},
       {"folder", Kind::kPath, "", "instead: every x.npy in it is the field x"},
       {"file", Kind::kPath, "",
        "instead: an .npz file, whose every array is a field of its name"},
       {"arrays", Kind::kNames, "",
        "of the .npz file, as [x=x_train, y=y_train] or by name; else all"},
       pixels_option(),
       classes_option()},
      open_npy};
}

}  // namespace braid::data
