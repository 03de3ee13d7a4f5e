// .npy files of NumPy, one per field; the first dimension counts samples.
#include <algorithm>
#include <optional>
#include <system_error>

#include "braid/data/file_cursor.h"
#include "braid/data/npy_header.h"
#include "braid/data/rows.h"
#include "braid/data/source_rows.h"

namespace braid::data {
namespace {

namespace fs = std::filesystem;
using Kind = Option::Kind;
using NamedFiles = std::vector<std::pair<std::string, fs::path>>;

// With the first index fastest a sample is scattered over the whole file.
void refuse_fortran_order(const NpyHeader& header, const FileCursor& cursor) {
  auto is_long = [](int64_t size) { return size > 1; };
  if (!header.fortran_order || std::ranges::count_if(header.shape, is_long) < 2)
    return;
  cursor.fail(0, "rows one after the other", "fortran_order: True",
              "save numpy.ascontiguousarray(array)");
}

Column read_column(const std::string& field, const fs::path& path,
                   io::Bytes bytes, const std::string& who) {
  FileCursor cursor(bytes, who, path.string());
  NpyHeader header = read_npy_header(cursor);
  refuse_fortran_order(header, cursor);
  std::optional<size_t> needed = tensor_bytes(header.element, header.shape);
  if (!needed || *needed != cursor.left()) {
    cursor.fail(cursor.offset(),
                fmt::format("{} {}", element_text(header.element),
                            shape_text(header.shape)),
                fmt::format("{} bytes", cursor.left()),
                "the file is cut short, or holds more than one array");
  }
  size_t offset = cursor.offset();
  return {field,         header.element, header.shape, cursor.take(*needed, ""),
          path.string(), offset};
}

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

NamedFiles files_of(const Options& options) {
  if (options.has("folder") == options.has("files")) {
    fail_usage("[{}] expected either 'folder' or 'files', got {}",
               options.who(), options.has("folder") ? "both" : "neither");
  }
  return options.has("files") ? options.files("files")
                              : files_in(options.path("folder"), options.who());
}

DatasetPtr open_npy(const Options& options) {
  auto files = std::make_shared<std::vector<io::MappedFile>>();
  std::vector<Column> columns;
  for (const auto& [field, path] : files_of(options)) {
    files->emplace_back(path);
    columns.push_back(
        read_column(field, path, files->back().bytes(), options.who()));
  }
  apply_pixels(options, columns);
  return rows_dataset(options.who(), std::move(columns),
                      options.whole("classes"), files);
}

}  // namespace

Source npy_source() {
  return {
      "npy",
      "arrays of NumPy; the first dimension counts samples",
      "one per file: floats as they are, whole numbers as i64",
      {{"files", Kind::kFiles, "", "by field: [x=images.npy, y=labels.npy]"},
       {"folder", Kind::kPath, "", "instead: every x.npy in it is the field x"},
       pixels_option(),
       classes_option()},
      open_npy};
}

}  // namespace braid::data
