// The layout of a .pt2 archive: one folder with the parts that torch.export
// writes. Other files that torch writes are named and refused here.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "braid/io/format/zip.h"
#include "braid/io/problems.h"

namespace braid::io::pt2 {

class Archive {
 public:
  // Throws when the file is no archive of torch.export.save; `name` stands
  // for the file in the error.
  Archive(Bytes file, std::string_view name);

  // A part by its path without the outermost folder: "models/model.json".
  const ZipEntry* find(std::string_view path) const;

  // The content of a text part. A missing one, or one whose checksum is wrong,
  // is a problem and gives nothing. The text is borrowed from the file.
  std::optional<std::string_view> text(std::string_view path,
                                       Problems& problems) const;

  // "model" when the program is models/model.json.
  const std::string& model() const { return model_; }

 private:
  void check_root(std::string_view name);
  void find_model(std::string_view name);

  ZipArchive zip_;
  std::string root_;  // "net/"
  std::string model_;
};

}  // namespace braid::io::pt2
