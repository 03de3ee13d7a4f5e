#include "braid/data/windows.h"

#include <utility>

#include "braid/base/error.h"

namespace braid::data {
namespace {

struct Cut {
  int64_t length;
  int64_t stride;
};

Cut cut_of(const Options& options) {
  int64_t length = options.whole("length"), stride = options.whole("stride");
  return {length, stride == 0 ? length : stride};
}

// The last target of a window may be the first token of another.
int64_t reach_of(Cut cut) { return (cut.length - 1) / cut.stride + 1; }

// Windows that have a target for their last token.
int64_t num_windows(const std::string& who, const TokenRow& row, Cut cut) {
  auto tokens = static_cast<int64_t>(row.size());
  if (tokens <= cut.length) {
    fail_world(
        "[{}] expected more than {} tokens for a window and its targets, got "
        "{} ({})\nHINT: take a smaller 'length' or a longer file",
        who, cut.length, tokens, row.file);
  }
  return (tokens - cut.length - 1) / cut.stride + 1;
}

std::vector<Field> fields_of(const TokenRow& row, Cut cut, int64_t vocab) {
  std::vector<Field> fields = token_fields(cut.length, vocab);
  for (Field& field : fields) {
    field.is_checked = row.is_checked;
    field.class_names = row.token_names;
    field.unit = row.unit;
  }
  return fields;
}

class Windows : public Dataset {
 public:
  Windows(const std::string& who, TokenRow row, Cut cut, int64_t vocab,
          Keeper keeper)
      : Dataset(row.file, fields_of(row, cut, vocab),
                num_windows(who, row, cut)),
        who_(who),
        row_(std::move(row)),
        cut_(cut),
        vocab_(vocab),
        keeper_(std::move(keeper)) {}

  void read(int64_t index, const Draw&,
            std::span<std::byte* const> out) const override {
    auto first = static_cast<size_t>(index * cut_.stride);
    auto* tokens = reinterpret_cast<int64_t*>(out[0]);
    auto* targets = reinterpret_cast<int64_t*>(out[1]);
    read_elements(row_.element, at(first), length(), out[0]);
    read_elements(row_.element, at(first + 1), length(), out[1]);
    check_token(tokens[0], first);
    for (size_t i = 0; i < length(); ++i) {
      check_token(targets[i], first + 1 + i);
    }
  }

  int64_t reach() const override { return reach_of(cut_); }
  void check() const override { keeper_.check(); }

 private:
  size_t length() const { return static_cast<size_t>(cut_.length); }
  size_t bytes_before(size_t token) const {
    return token * static_cast<size_t>(row_.element.bytes);
  }
  const std::byte* at(size_t token) const {
    return row_.bytes.data() + bytes_before(token);
  }

  void check_token(int64_t value, size_t token) const {
    if (value >= 0 && value < vocab_) return;
    fail_world("[{}] expected a token below {}, got {} ({}, offset {})", who_,
               vocab_, value, row_.file, row_.offset + bytes_before(token));
  }

  std::string who_;
  TokenRow row_;
  Cut cut_;
  int64_t vocab_;
  Keeper keeper_;
};

}  // namespace

Option length_option() {
  return {"length", Option::Kind::kWhole, "64", "tokens of a sample"};
}

Option stride_option() {
  return {"stride", Option::Kind::kCount, "0",
          "tokens between the starts of samples; 0: `length`"};
}

std::vector<Field> token_fields(int64_t length, int64_t vocab) {
  return {{"tokens", DType::kInt64, {length}, vocab, true},
          {"targets", DType::kInt64, {length}, vocab, true}};
}

DatasetPtr windows_dataset(const Options& options, const TokenRow& row,
                           int64_t vocab, Keeper keeper) {
  return std::make_shared<Windows>(options.who(), row, cut_of(options), vocab,
                                   std::move(keeper));
}

size_t training_tokens(const Options& options, const Opening& opening,
                       const TokenRow& row) {
  Cut cut = cut_of(options);
  int64_t windows = num_windows(options.who(), row, cut);
  int64_t taken = training_part(opening, options, windows, reach_of(cut)).count;
  if (taken == windows) return row.size();
  return static_cast<size_t>((taken - 1) * cut.stride + cut.length + 1);
}

}  // namespace braid::data
