// Rows of the tensors of a safetensors file.
#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/data/rows.h"
#include "braid/data/source_rows.h"
#include "braid/io/format/safetensors.h"

namespace braid::data {
namespace {

using Kind = Option::Kind;

std::vector<std::string> wanted_names(const Options& options,
                                      const io::SafetensorsFile& file) {
  if (options.has("tensors")) return options.names("tensors");
  if (file.names().empty()) {
    fail_world("[{}] expected tensors, got none ({})", options.who(),
               options.path("file").string());
  }
  return file.names();
}

// Where a tensor lies in the file: its data end with the last tensor.
size_t offset_of(const io::TensorBytes& tensor, const io::SafetensorsFile& file,
                 size_t file_bytes) {
  io::Bytes last = file.tensors().back().bytes;
  return file_bytes -
         static_cast<size_t>(last.data() + last.size() - tensor.bytes.data());
}

const io::TensorBytes& find_tensor(const Options& options,
                                   const io::SafetensorsFile& file,
                                   const std::string& name) {
  const io::TensorBytes* tensor = file.find(name);
  if (tensor) return *tensor;
  fail_world("[{}] expected a tensor '{}', got none ({})\nHINT: {}",
             options.who(), name, options.path("file").string(),
             name_hint(name, file.names()));
}

Column column_of(const Options& options, const io::TensorBytes& tensor,
                 size_t offset) {
  std::optional<Element> element = element_of(tensor.dtype);
  std::string path = options.path("file").string();
  if (!element) {
    fail_world("[{}] expected real numbers, got {} ({} of {})", options.who(),
               dtype_name(tensor.dtype), tensor.name, path);
  }
  return {tensor.name, *element, tensor.shape, tensor.bytes, path, offset};
}

DatasetPtr open_tensors(const Options& options) {
  auto file = std::make_shared<const io::SafetensorsFile>(
      io::SafetensorsFile::open(options.path("file")));
  size_t bytes = std::filesystem::file_size(options.path("file"));
  std::vector<Column> columns;
  for (const std::string& name : wanted_names(options, *file)) {
    const io::TensorBytes& tensor = find_tensor(options, *file, name);
    columns.push_back(
        column_of(options, tensor, offset_of(tensor, *file, bytes)));
  }
  apply_pixels(options, columns);
  return rows_dataset(options.who(), std::move(columns),
                      options.whole("classes"), file);
}

}  // namespace

Source safetensors_source() {
  return {"safetensors",
          "tensors of a safetensors file; the first dimension counts samples",
          "one per tensor: floats as they are, whole numbers as i64",
          {{"file", Kind::kPath, "", "to read", {}, true},
           {"tensors", Kind::kNames, "", "which, by name; else all"},
           pixels_option(),
           classes_option()},
          open_tensors};
}

}  // namespace braid::data
