// A text file for language models, by bytes, characters or words. The last part
// of the file is for validation, as people split tiny shakespeare.
#include <span>

#include "braid/base/error.h"
#include "braid/data/source_rows.h"
#include "braid/data/vocabulary.h"
#include "braid/data/windows.h"
#include "braid/data/words.h"

namespace braid::data {
namespace {

using Kind = Option::Kind;

enum class TextPart { kTrain, kVal };

TextPart wanted_part(const Options& options) {
  return options.text("part") == "train" ? TextPart::kTrain : TextPart::kVal;
}

TokenRow cut_part(const Options& options, TokenRow row, TextPart part) {
  double fraction = options.number("val_fraction");
  if (fraction < 0 || fraction >= 1) {
    fail_usage("[{}] expected a val_fraction from 0 to below 1, got {}",
               options.who(), fraction);
  }
  auto tokens = static_cast<double>(row.size());
  size_t train = static_cast<size_t>(tokens * (1 - fraction)) *
                 static_cast<size_t>(row.element.bytes);
  bool is_train = part == TextPart::kTrain;
  row.bytes = is_train ? row.bytes.first(train) : row.bytes.subspan(train);
  row.offset += is_train ? 0 : train;
  return row;
}

TokenRow row_of(const std::vector<uint32_t>& numbers, const std::string& file,
                const std::string& unit) {
  TokenRow row{
      {Element::Kind::kUnsigned, 4}, std::as_bytes(std::span(numbers)), file};
  row.unit = unit;
  return row;
}

// What the training data call their tokens; null: these are they.
const std::vector<std::string>* known_names(const Opening& opening) {
  const Field* known = opening.find("tokens");
  bool has_names = known && !known->class_names.empty();
  return has_names ? &known->class_names : nullptr;
}

DatasetPtr open_bytes(const Options& options) {
  auto file = std::make_shared<const io::MappedFile>(options.path("file"));
  TokenRow row{kByte, file->bytes(), options.path("file").string()};
  row.unit = "bytes";
  row = cut_part(options, std::move(row), wanted_part(options));
  return windows_dataset(options, row, 256, file);
}

DatasetPtr open_characters(const Options& options, const Opening& opening) {
  std::string path = options.path("file").string();
  io::MappedFile file(options.path("file"));
  std::u32string text = decode_utf8(file.bytes(), options.who(), path);
  file.check();
  const auto* known = known_names(opening);
  Vocabulary vocabulary =
      known ? Vocabulary(*known, options.who()) : Vocabulary(text);
  auto numbers = std::make_shared<const std::vector<uint32_t>>(
      vocabulary.encode(text, options.who(), path));
  TokenRow row = row_of(*numbers, path, "characters");
  row.token_names = vocabulary.names();
  row = cut_part(options, std::move(row), wanted_part(options));
  return windows_dataset(options, row, vocabulary.size(), numbers);
}

// The words of the training data alone are known, whichever part is opened.
WordVocabulary vocabulary_of(const Options& options, const Opening& opening,
                             const WordText& text, const TokenRow& row) {
  if (const auto* known = known_names(opening)) return WordVocabulary(*known);
  TokenRow train = cut_part(options, row, TextPart::kTrain);
  bool is_train = wanted_part(options) == TextPart::kTrain;
  size_t count =
      is_train ? training_tokens(options, opening, train) : train.size();
  return {text, count, options.whole("vocab")};
}

DatasetPtr open_words(const Options& options, const Opening& opening) {
  std::string path = options.path("file").string();
  io::MappedFile file(options.path("file"));
  check_utf8(file.bytes(), options.who(), path);
  WordText text = read_words(file.bytes(), options.who(), path);
  WordVocabulary vocabulary =
      vocabulary_of(options, opening, text, row_of(text.row, path, "words"));
  auto numbers =
      std::make_shared<const std::vector<uint32_t>>(vocabulary.encode(text));
  file.check();
  TokenRow row = row_of(*numbers, path, "words");
  row.token_names = vocabulary.names();
  row = cut_part(options, std::move(row), wanted_part(options));
  return windows_dataset(options, row, vocabulary.size(), numbers);
}

// That of the training data where they are of a text.
std::string unit_of(const Options& options, const Opening& opening) {
  const Field* known = opening.find("tokens");
  const std::string& unit = options.text("unit");
  if (!known || known->unit.empty() || known->unit == unit) return unit;
  if (!options.is_given("unit")) return known->unit;
  fail_usage(
      "[{}] 'unit' is '{}' here, and '{}' for the training data, by which "
      "evaluation data are read\nHINT: leave it out of eval.data",
      options.who(), unit, known->unit);
}

void check_vocab(const Options& options, const std::string& unit) {
  if (!options.is_given("vocab")) return;
  if (unit != "words") {
    fail_usage("[{}] 'vocab' is for unit: words, the unit is {}", options.who(),
               unit);
  }
  int64_t vocab = options.whole("vocab");
  if (vocab == 0 || vocab > 2) return;
  fail_usage(
      "[{}] expected a vocab from 3 on, as <unk> and <eos> are two, got {}",
      options.who(), vocab);
}

DatasetPtr open_text(const Options& options, const Opening& opening) {
  std::string unit = unit_of(options, opening);
  check_vocab(options, unit);
  if (unit == "bytes") return open_bytes(options);
  return unit == "words" ? open_words(options, opening)
                         : open_characters(options, opening);
}

}  // namespace

Source text_source() {
  return {
      .name = "text",
      .summary = "a text file for language models",
      .fields = "tokens i64 [length], targets i64 [length]",
      .options =
          {{"file", Kind::kPath, "", "to read", {}, true},
           choice_option(
               "unit", {"characters", "bytes", "words"},
               "a token is a character of UTF-8, numbered by code point among "
               "those of the file, a byte (256), or a word between spaces, "
               "with `<eos>` at the end of every line"),
           {"vocab", Kind::kCount, "0",
            "of words: the most frequent of the training data, so many with "
            "`<unk>` (0), which stands for all others, and `<eos>` (1); 0: "
            "every one"},
           length_option(),
           stride_option(),
           choice_option("part", {"train", "val"},
                         "all but the end of the file, or its end"),
           {"val_fraction", Kind::kNumber, "0.1", "share of the end"}},
      .open_with = open_text};
}

}  // namespace braid::data
