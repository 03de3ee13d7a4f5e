// Rows of many files, read when they are needed: a dataset larger than memory.
#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

#include "braid/base/error.h"
#include "braid/data/rows.h"
#include "braid/data/shard_list.h"
#include "braid/data/source_rows.h"

namespace braid::data {
namespace {

using Kind = Option::Kind;

std::vector<Field> fields_of(const ShardList& list, int64_t classes) {
  std::vector<Field> fields;
  for (const StoredField& field : list.fields) {
    fields.push_back(sample_field(field, classes));
  }
  return fields;
}

// Where each shard begins, and the number of all rows.
std::vector<int64_t> starts_of(const std::string& who, const ShardList& list) {
  std::vector<int64_t> starts = {0};
  for (const Shard& shard : list.shards) {
    int64_t end = 0;
    if (__builtin_add_overflow(starts.back(), shard.rows, &end)) {
      fail_world("[{}] the shards have too many rows to count", who);
    }
    starts.push_back(end);
  }
  return starts;
}

class Shards : public Dataset {
 public:
  Shards(const std::string& who, ShardList list, int64_t classes)
      : Shards(who, starts_of(who, list), std::move(list), classes) {}

  void read(int64_t index, const Draw&,
            std::span<std::byte* const> out) const override {
    auto [shard, row] = find(index);
    for (size_t f = 0; f < list_.fields.size(); ++f) {
      read_field(shard, row, f, out[f]);
      check_wholes(who_, list_.fields[f], classes_, out[f],
                   [&] { return place(f, index); });
    }
  }

  void prepare(std::span<const int64_t> indices, const Draw&) const override {
    // Those of ranges were asked for, and asking costs as much as reading
    // what is there already.
    if (has_ranges_ || are_ready(indices)) return;
    for (int64_t index : indices) ask_for(index, 1);
  }

  void prepare_range(int64_t first, int64_t count) const override {
    has_ranges_ = true;
    ask_for(first, count);
  }

  std::string place(size_t field, int64_t index) const override {
    auto [shard, row] = find(index);
    size_t file = list_.shards[shard].places[field].file;
    return fmt::format("row {} of {}", row, list_.files->path(file).string());
  }

 private:
  // A reference, for `starts` are counted before it is moved from.
  Shards(const std::string& who, std::vector<int64_t> starts, ShardList&& list,
         int64_t classes)
      : Dataset(list.files->path(0).parent_path().string(),
                fields_of(list, classes), starts.back()),
        who_(who),
        starts_(std::move(starts)),
        list_(std::move(list)),
        classes_(classes) {}

  void ask_for(int64_t first, int64_t count) const {
    while (count > 0) {
      auto [shard, row] = find(first);
      int64_t here = std::min(count, list_.shards[shard].rows - row);
      for (size_t f = 0; f < list_.fields.size(); ++f) {
        auto [file, offset] = place_in(shard, row, f);
        list_.files->prepare(
            file, offset, static_cast<size_t>(here) * list_.fields[f].bytes());
      }
      first += here;
      count -= here;
    }
  }

  // As the first few are; in a new order these may be any.
  bool are_ready(std::span<const int64_t> indices) const {
    constexpr size_t kProbes = 4;
    for (int64_t index : indices.first(std::min(indices.size(), kProbes))) {
      auto [shard, row] = find(index);
      for (size_t f = 0; f < list_.fields.size(); ++f) {
        auto [file, offset] = place_in(shard, row, f);
        if (!list_.files->is_ready(file, offset)) return false;
      }
    }
    return true;
  }

  // The shard of a sample, and its row there.
  std::pair<size_t, int64_t> find(int64_t index) const {
    auto next = std::ranges::upper_bound(starts_, index);
    auto shard = static_cast<size_t>(next - starts_.begin()) - 1;
    return {shard, index - starts_[shard]};
  }

  ShardPlace place_in(size_t shard, int64_t row, size_t field) const {
    ShardPlace place = list_.shards[shard].places[field];
    place.offset += static_cast<size_t>(row) * list_.fields[field].bytes();
    return place;
  }

  void read_field(size_t shard, int64_t row, size_t field,
                  std::byte* out) const {
    const StoredField& stored = list_.fields[field];
    auto [file, offset] = place_in(shard, row, field);
    if (stored.is_plain()) {
      list_.files->read(file, offset, {out, stored.bytes()});
      return;
    }
    auto bytes = std::make_unique_for_overwrite<std::byte[]>(stored.bytes());
    list_.files->read(file, offset, {bytes.get(), stored.bytes()});
    read_stored(stored, bytes.get(), out);
  }

  std::string who_;
  std::vector<int64_t> starts_;  // of the shards, and the end
  ShardList list_;
  int64_t classes_;
  mutable std::atomic<bool> has_ranges_ = false;
};

DatasetPtr open_shards(const Options& options) {
  ShardList list = list_shards(options);
  for (StoredField& field : list.fields) {
    field.is_image = options.flag("pixels") && looks_like_pixels(field);
  }
  return std::make_shared<Shards>(options.who(), std::move(list),
                                  options.whole("classes"));
}

}  // namespace

Source shards_source() {
  return {
      "shards",
      "many safetensors or .npy files as one, read as they are needed: larger "
      "than memory",
      "one per tensor: floats as they are, whole numbers as i64",
      {{"folder", Kind::kPath, "",
        "that holds the shards, taken in the order of their names: "
        "safetensors files of equal fields, or x-0000.npy, y-0000.npy, ... of "
        "fields x and y"},
       {"pattern", Kind::kText, "",
        "which files of `folder`, as in a shell; else *.safetensors, or *.npy "
        "when there is none"},
       {"files", Kind::kFiles, "",
        "instead: .npy files by field, [x=images/*.npy, y=labels/*.npy]"},
       {"tensors", Kind::kNames, "", "which, by name; else all"},
       pixels_option(),
       {"classes", Kind::kCount, "0",
        "whole numbers must be below, which is checked as they are read; 0: "
        "not known"}},
      open_shards};
}

}  // namespace braid::data
