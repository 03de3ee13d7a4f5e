// A text file for language models, by bytes or by characters. The last part
// of the file is for validation, as people split tiny shakespeare.
#include <span>

#include "braid/base/error.h"
#include "braid/data/source_rows.h"
#include "braid/data/vocabulary.h"
#include "braid/data/windows.h"

namespace braid::data {
namespace {

using Kind = Option::Kind;

// The part of the row that the options ask for.
TokenRow part_of(const Options& options, TokenRow row) {
  double fraction = options.number("val_fraction");
  if (fraction < 0 || fraction >= 1) {
    fail_usage("[{}] expected a val_fraction from 0 to below 1, got {}",
               options.who(), fraction);
  }
  auto tokens = static_cast<double>(row.size());
  size_t train = static_cast<size_t>(tokens * (1 - fraction)) *
                 static_cast<size_t>(row.element.bytes);
  bool is_train = options.text("part") == "train";
  row.bytes = is_train ? row.bytes.first(train) : row.bytes.subspan(train);
  row.offset += is_train ? 0 : train;
  return row;
}

DatasetPtr open_bytes(const Options& options) {
  auto file = std::make_shared<const io::MappedFile>(options.path("file"));
  TokenRow row{kByte, file->bytes(), options.path("file").string()};
  return windows_dataset(options, part_of(options, std::move(row)), 256, file);
}

DatasetPtr open_characters(const Options& options) {
  std::string path = options.path("file").string();
  io::MappedFile file(options.path("file"));
  std::u32string text = decode_utf8(file.bytes(), options.who(), path);
  file.check();
  Vocabulary vocabulary(text);
  auto numbers =
      std::make_shared<const std::vector<uint32_t>>(vocabulary.encode(text));
  TokenRow row{
      {Element::Kind::kUnsigned, 4}, std::as_bytes(std::span(*numbers)), path};
  for (char32_t character : vocabulary.characters()) {
    row.token_names.push_back(fmt::format("U+{:04X}", uint32_t{character}));
  }
  return windows_dataset(options, part_of(options, std::move(row)),
                         vocabulary.size(), numbers);
}

DatasetPtr open_text(const Options& options) {
  return options.text("unit") == "bytes" ? open_bytes(options)
                                         : open_characters(options);
}

}  // namespace

Source text_source() {
  return {"text",
          "a text file for language models",
          "tokens i64 [length], targets i64 [length]",
          {{"file", Kind::kPath, "", "to read", {}, true},
           choice_option("unit", {"characters", "bytes"},
                         "a token is a character of UTF-8, numbered by code "
                         "point among those of the file, or a byte (256)"),
           length_option(),
           stride_option(),
           choice_option("part", {"train", "val"},
                         "all but the end of the file, or its end"),
           {"val_fraction", Kind::kNumber, "0.1", "share of the end"}},
          open_text};
}

}  // namespace braid::data
