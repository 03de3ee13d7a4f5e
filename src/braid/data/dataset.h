// Datasets: samples by number, each a few tensors of fixed shape.
//
// Everything in this folder gives or takes a Dataset: sources.h opens one by
// name, augment.h and cast.h wrap one, loader.h makes batches of one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "braid/base/dtype.h"
#include "braid/base/shape.h"

namespace braid::data {

struct TableFacts;

// One tensor of a sample. Images are `x`, f32 [C, H, W] from 0 to 1, with a
// label `y`, i64; language models read `tokens` and `targets`, i64 [T].
struct Field {
  std::string name;
  DType dtype = DType::kFloat32;
  Shape shape;  // of one sample
  // Labels and tokens lie in [0, classes); 0: unknown, or not a class.
  int64_t classes = 0;
  // All samples are known to hold what they should, finite numbers or such
  // classes: they are pixels or drawn, or were looked at when opened.
  bool is_checked = false;
  // What the source calls each class, where it gave the numbers itself.
  std::vector<std::string> class_names = {};
  // What a token of a text is: characters, bytes or words; empty: unknown.
  std::string unit = {};
  // How cells of a table were read; null: they are plain numbers. On the first
  // field of the table.
  std::shared_ptr<const TableFacts> table = {};
  // Probabilities of `classes`, f32 [classes], that labels i64 [] became.
  bool is_mixed = false;

  // Whether both are of one type; what is known of their values may differ.
  bool operator==(const Field& other) const {
    return name == other.name && dtype == other.dtype && shape == other.shape &&
           classes == other.classes;
  }
};

// Bytes of one sample.
size_t sample_bytes(const Field& field);

// "x f32 [1, 28, 28]"
std::string field_text(const Field& field);

// The same of all, with the classes of each if asked for; when there are many,
// the others are counted: "x f32 [4], y i64 below 10 and 3 more"
std::string fields_text(const std::vector<Field>& fields,
                        bool with_classes = false);

// What random transforms of a sample are drawn from, besides its number.
struct Draw {
  int64_t seed = 0;
  int64_t epoch = 0;
};

// Samples 0 to size() - 1. A dataset never changes, and all of it may be used
// by many threads at once; it is shared as shared_ptr<const Dataset>.
class Dataset {
 public:
  virtual ~Dataset() = default;
  Dataset(const Dataset&) = delete;
  Dataset& operator=(const Dataset&) = delete;

  // Writes the bytes of one sample, field f row-major to out[f], which has
  // room for sample_bytes(fields()[f]) and is aligned to the element. May
  // block on the disk.
  virtual void read(int64_t index, const Draw& draw,
                    std::span<std::byte* const> out) const = 0;

  // Hints that change no result: the samples of a batch, which are read next
  // with this draw, and a range that the batches to come are from. Sources that
  // gain from it fetch them, and may throw as read() does.
  virtual void prepare(std::span<const int64_t> /*indices*/,
                       const Draw& /*draw*/) const {}
  virtual void prepare_range(int64_t /*first*/, int64_t /*count*/) const {}

  // Where a field of a sample comes from, for errors: "row 7 of y.npy".
  virtual std::string place(size_t field, int64_t index) const;

  // How far apart two samples must be so as to share nothing: windows over one
  // row of tokens overlap those next to them. 0: each stands alone.
  virtual int64_t reach() const { return 0; }

  // Throws when what was read may not be what the files held: one became
  // shorter meanwhile. Loaders ask after every batch.
  virtual void check() const {}

  const std::vector<Field>& fields() const { return fields_; }
  int64_t size() const { return size_; }  // 1 or more
  const std::string& name() const { return name_; }

  // The number of the field of that name.
  std::optional<size_t> find_field(std::string_view field) const;

 protected:
  // `name` stands for the dataset in errors; zero samples are one.
  Dataset(std::string name, std::vector<Field> fields, int64_t size);

 private:
  std::string name_;
  std::vector<Field> fields_;
  int64_t size_;
};

using DatasetPtr = std::shared_ptr<const Dataset>;

// The first `limit` samples of `whole`, or all of it when it has no more.
DatasetPtr first_samples(DatasetPtr whole, int64_t limit);

// The same samples with their fields in the order of these names, which must
// be all of them.
DatasetPtr ordered_fields(DatasetPtr dataset,
                          const std::vector<std::string>& names);

}  // namespace braid::data
