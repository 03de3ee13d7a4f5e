// Samples that are rows of tensors in files: the first dimension counts them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "braid/data/dataset.h"
#include "braid/data/elements.h"
#include "braid/data/keeper.h"
#include "braid/data/options.h"
#include "braid/io/file/file.h"

namespace braid::data {

// A tensor [N, ...] somewhere in memory, row-major: a field of N samples.
struct Column {
  std::string field;
  Element element = {};
  Shape shape = {};  // [N, ...]
  io::Bytes bytes = {};
  std::string file = {};   // for errors
  size_t offset = 0;       // of `bytes` in the file
  bool is_image = false;   // bytes that become f32 from 0 to 1
  bool is_finite = false;  // floats that were looked at already
  std::vector<std::string> class_names = {};
  int64_t classes = 0;  // of whole numbers; 0: as all columns have
  std::shared_ptr<const TableFacts> table = {};  // see Field
  std::span<const int64_t> lines = {};           // of a text: where rows begin
};

// Bytes with two or more dimensions per sample are taken for pixels.
bool looks_like_image(const Column& column);

// The dataset of columns of equal length. Whole numbers are read once, to
// know their classes: one more than the largest; with `classes` given, a number
// outside is an error. `keeper` owns the bytes.
DatasetPtr rows_dataset(const std::string& who, std::vector<Column> columns,
                        int64_t classes, Keeper keeper);

// Options of sources that give whole tensors, and what they do to columns.
Option classes_option();
Option pixels_option();
void apply_pixels(const Options& options, std::vector<Column>& columns);

}  // namespace braid::data
