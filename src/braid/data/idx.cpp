// IDX, the format of MNIST, Fashion-MNIST, KMNIST and EMNIST:
//
//   2 bytes  zero
//   1 byte   type of the numbers
//   1 byte   how many dimensions, D
//   4 * D    their sizes, big-endian
//   data     big-endian, row-major
#include <optional>
#include <system_error>

#include "braid/data/file_cursor.h"
#include "braid/data/rows.h"
#include "braid/data/source_rows.h"

namespace braid::data {
namespace {

namespace fs = std::filesystem;
using Kind = Option::Kind;
using Files = std::vector<io::MappedFile>;

std::optional<Element> element_of_code(uint8_t code) {
  switch (code) {
    case 0x08: return kByte;
    case 0x09: return Element{Element::Kind::kSigned, 1, true};
    case 0x0B: return Element{Element::Kind::kSigned, 2, true};
    case 0x0C: return Element{Element::Kind::kSigned, 4, true};
    case 0x0D: return Element{Element::Kind::kFloat, 4, true};
    case 0x0E: return Element{Element::Kind::kFloat, 8, true};
    default: return std::nullopt;
  }
}

Element read_type(FileCursor& cursor) {
  if (cursor.big_endian(2, "header") != 0) {
    cursor.fail(0, "an IDX file, which begins with two zero bytes",
                "something else");
  }
  uint8_t code = cursor.byte("header");
  std::optional<Element> element = element_of_code(code);
  if (!element) {
    cursor.fail(2, "a type of number (0x08, 0x09, 0x0B to 0x0E)",
                fmt::format("0x{:02X}", code));
  }
  return *element;
}

Shape read_sizes(FileCursor& cursor) {
  Shape shape(cursor.byte("header"));
  for (int64_t& size : shape) {
    size = static_cast<int64_t>(cursor.big_endian(4, "header"));
  }
  return shape;
}

Column read_column(const std::string& field, const fs::path& path,
                   io::Bytes bytes, const std::string& who) {
  FileCursor cursor(bytes, who, path.string());
  cursor.refuse_gzip();
  Column column{.field = field, .file = path.string()};
  column.element = read_type(cursor);
  column.shape = read_sizes(cursor);
  column.offset = cursor.offset();
  std::optional<size_t> needed = tensor_bytes(column.element, column.shape);
  if (!needed || *needed != cursor.left()) {
    cursor.fail(
        cursor.offset(),
        fmt::format("{} bytes of {} {}",
                    needed ? fmt::to_string(*needed) : "fewer",
                    element_text(column.element), shape_text(column.shape)),
        fmt::format("{}", cursor.left()));
  }
  column.bytes = cursor.take(*needed, "data");
  return column;
}

// [N, H, W] -> [N, 1, H, W]
void make_image(Column& column, const std::string& who) {
  if (column.shape.size() == 3)
    column.shape.insert(column.shape.begin() + 1, 1);
  if (column.shape.size() != 4 || column.element != kByte) {
    fail_world("[{}] expected images of bytes, got {} {} ({})", who,
               element_text(column.element), shape_text(column.shape),
               column.file);
  }
  column.is_image = true;
}

void check_labels(const Column& column, const std::string& who) {
  if (column.shape.size() == 1 && dtype_of(column.element) == DType::kInt64) {
    return;
  }
  fail_world("[{}] expected one whole number per label, got {} {} ({})", who,
             element_text(column.element), shape_text(column.shape),
             column.file);
}

// Mirrors write a '-' or a '.' before "idx".
fs::path find_member(const fs::path& folder, const std::string& stem,
                     const std::string& ending, const std::string& who) {
  std::error_code ignored;
  for (const char* mark : {"-", "."}) {
    fs::path path = folder / (stem + mark + ending);
    if (fs::exists(path, ignored)) return path;
  }
  fs::path packed = folder / (stem + "-" + ending + ".gz");
  bool is_packed = fs::exists(packed, ignored);
  fail_world("[{}] expected the file '{}-{}', got none ({})\nHINT: {}", who,
             stem, ending, folder.string(),
             is_packed ? fmt::format("gunzip {}", packed.string())
                       : "docs/data.md says which files go where");
}

using NamedFiles = std::vector<std::pair<std::string, fs::path>>;

NamedFiles files_of_folder(const Options& options) {
  fs::path folder = options.path("folder");
  std::string stem = options.text("part") == "train" ? "train" : "t10k";
  return {
      {"x", find_member(folder, stem + "-images", "idx3-ubyte", options.who())},
      {"y",
       find_member(folder, stem + "-labels", "idx1-ubyte", options.who())}};
}

NamedFiles files_of_pair(const Options& options) {
  NamedFiles files = {{"x", options.path("images")}};
  if (options.has("labels")) files.emplace_back("y", options.path("labels"));
  return files;
}

NamedFiles files_of(const Options& options) {
  int ways =
      options.has("folder") + options.has("images") + options.has("files");
  if (ways != 1 || (options.has("labels") && !options.has("images"))) {
    fail_usage(
        "[{}] expected one of 'folder', 'images' (with 'labels') and 'files', "
        "got {}",
        options.who(), ways == 1 ? "'labels' alone" : fmt::to_string(ways));
  }
  if (options.has("folder")) return files_of_folder(options);
  return options.has("files") ? options.files("files") : files_of_pair(options);
}

DatasetPtr open_idx(const Options& options) {
  auto files = std::make_shared<Files>();
  std::vector<Column> columns;
  for (const auto& [field, path] : files_of(options)) {
    files->emplace_back(path);
    columns.push_back(
        read_column(field, path, files->back().bytes(), options.who()));
  }
  if (options.has("files")) {
    apply_pixels(options, columns);
  } else {
    make_image(columns[0], options.who());
    if (columns.size() > 1) check_labels(columns[1], options.who());
  }
  return rows_dataset(options.who(), std::move(columns),
                      options.whole("classes"), files);
}

}  // namespace

Source idx_source() {
  return {"idx",
          "IDX files, as MNIST and its kin have them",
          "x f32 [C, H, W], y i64; with `files` any tensors",
          {{"folder", Kind::kPath, "",
            "that holds train-images-idx3-ubyte and the three others"},
           choice_option("part", {"train", "test"}, "which files of `folder`"),
           {"images", Kind::kPath, "", "instead of a folder: [N, H, W] bytes"},
           {"labels", Kind::kPath, "", "of `images`: [N]"},
           {"files", Kind::kFiles, "", "instead: tensors [N, ...] by field"},
           pixels_option(),
           classes_option()},
          open_idx};
}

}  // namespace braid::data
