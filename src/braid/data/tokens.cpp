// Token files for language models: numbers of 2 or 4 bytes, little-endian, as
// nanoGPT writes them, or llm.c behind a header.
#include <algorithm>

#include "braid/base/error.h"
#include "braid/data/source_rows.h"
#include "braid/data/windows.h"

namespace braid::data {
namespace {

using Kind = Option::Kind;

// One more than the largest token. Reads the whole file.
int64_t vocab_of(const TokenRow& row) {
  constexpr size_t kAtOnce = 4096;
  std::vector<int64_t> values(kAtOnce);
  int64_t most = 0;
  for (size_t at = 0; at < row.size(); at += kAtOnce) {
    size_t count = std::min(kAtOnce, row.size() - at);
    read_elements(
        row.element,
        row.bytes.data() + at * static_cast<size_t>(row.element.bytes), count,
        reinterpret_cast<std::byte*>(values.data()));
    for (size_t i = 0; i < count; ++i) most = std::max(most, values[i]);
  }
  return most + 1;
}

DatasetPtr open_tokens(const Options& options) {
  auto file = std::make_shared<const io::MappedFile>(options.path("file"));
  int bytes = options.text("type") == "u16" ? 2 : 4;
  size_t skip = std::min(static_cast<size_t>(options.whole("skip")),
                         file->bytes().size());
  TokenRow row{{Element::Kind::kUnsigned, bytes},
               file->bytes().subspan(skip),
               options.path("file").string(),
               skip};
  size_t rest = row.bytes.size() % static_cast<size_t>(bytes);
  if (rest != 0) {
    fail_world(
        "[{}] expected tokens of {} bytes, got {} ({}, offset {})\n"
        "HINT: the file is cut short, or 'type' is wrong",
        options.who(), bytes, rest, row.file, file->bytes().size() - rest);
  }
  int64_t vocab = options.whole("vocab");
  row.is_checked = vocab == 0;
  return windows_dataset(options, row, vocab > 0 ? vocab : vocab_of(row), file);
}

}  // namespace

Source tokens_source() {
  return {"tokens",
          "a file of token numbers (.bin) for language models",
          "tokens i64 [length], targets i64 [length]",
          {{"file", Kind::kPath, "", "to read", {}, true},
           choice_option("type", {"u16", "u32"}, "of a number in the file"),
           {"skip", Kind::kCount, "0", "bytes of a header before the tokens"},
           length_option(),
           stride_option(),
           {"vocab", Kind::kCount, "0",
            "tokens must be below; 0: one more than the largest, which "
            "reads the whole file"}},
          open_tokens};
}

}  // namespace braid::data
