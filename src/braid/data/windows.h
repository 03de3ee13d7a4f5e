// Language models: a long row of tokens, cut into windows.
#pragma once

#include <string>

#include "braid/data/dataset.h"
#include "braid/data/elements.h"
#include "braid/data/keeper.h"
#include "braid/data/opening.h"
#include "braid/data/options.h"
#include "braid/io/file/file.h"

namespace braid::data {

struct TokenRow {
  Element element;
  io::Bytes bytes;
  std::string file;        // for errors
  size_t offset = 0;       // of `bytes` in the file
  bool is_checked = true;  // all tokens are known to be below the vocabulary
  std::vector<std::string> token_names = {};  // where the source numbers them
  std::string unit = {};                      // of a text, see Field

  size_t size() const {
    return bytes.size() / static_cast<size_t>(element.bytes);
  }
};

// Options of sources that give windows.
Option length_option();
Option stride_option();

// Sample i holds the tokens from i * stride on, as many as `length` says, and
// the targets, which are the tokens one further. A token outside of [0, vocab)
// is an error when it is read. `keeper` owns the bytes.
DatasetPtr windows_dataset(const Options& options, const TokenRow& row,
                           int64_t vocab, Keeper keeper);

// How many tokens of the row the training windows see, by `limit` and the
// split of the opening. Throws as windows_dataset() when there is no window.
size_t training_tokens(const Options& options, const Opening& opening,
                       const TokenRow& row);

// The fields of a language model whose tokens are all below the vocabulary.
std::vector<Field> token_fields(int64_t length, int64_t vocab);

}  // namespace braid::data
