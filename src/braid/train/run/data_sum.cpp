#include "braid/train/run/data_sum.h"

#include <sys/stat.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "braid/base/error.h"
#include "braid/base/rng.h"
#include "braid/config/value_types.h"
#include "braid/data/sources.h"
#include "braid/train/job/job_hooks.h"

namespace braid::train {
namespace {

using Json = nlohmann::json;

constexpr int64_t kMostSamples = 1024, kLeastSamples = 16;
constexpr int64_t kMostBytes = 16 << 20;

// Samples that are large are few.
int64_t num_looked_at(const data::Dataset& dataset) {
  int64_t bytes = 1;
  for (const data::Field& field : dataset.fields()) {
    bytes += static_cast<int64_t>(data::sample_bytes(field));
  }
  int64_t most = std::clamp(kMostBytes / bytes, kLeastSamples, kMostSamples);
  return std::min(most, dataset.size());
}

// Room for one sample.
class Sample {
 public:
  explicit Sample(const data::Dataset& dataset) : dataset_(dataset) {
    for (const data::Field& field : dataset.fields()) {
      fields_.emplace_back(data::sample_bytes(field));
      places_.push_back(fields_.back().data());
    }
  }

  void prepare(const std::vector<int64_t>& indices) {
    try {
      dataset_.prepare(indices, {});
    } catch (const std::exception&) {  // as below
    }
  }

  // One that cannot be read is for those to report who need it.
  uint64_t sum(int64_t index) {
    try {
      dataset_.read(index, {}, places_);
    } catch (const std::exception&) {
      return 1;
    }
    uint64_t sum = 0;
    for (const std::vector<std::byte>& field : fields_) {
      std::string_view text(reinterpret_cast<const char*>(field.data()),
                            field.size());
      sum = mix_bits(sum, stable_hash(text));
    }
    return sum;
  }

 private:
  const data::Dataset& dataset_;
  std::vector<std::vector<std::byte>> fields_;
  std::vector<std::byte*> places_;
};

void add_file(std::vector<DataSum::File>& files, const std::string& path) {
  struct stat status = {};
  if (::stat(path.c_str(), &status) != 0 || !S_ISREG(status.st_mode)) return;
  files.push_back({path, status.st_size,
                   status.st_mtim.tv_sec * int64_t{1'000'000'000} +
                       status.st_mtim.tv_nsec});
}

// "x=/data/images.npy" -> "/data/images.npy"
std::string path_of(const std::string& text) {
  return text.substr(text.find('=') + 1);
}

void add_files(std::vector<DataSum::File>& files, const std::string& text) {
  config::Node node = config::option_node(text);
  if (!node.is_list()) return add_file(files, path_of(text));
  for (const config::Node& item : node.items) {
    add_file(files, path_of(item.text));
  }
}

}  // namespace

DataSum sum_data(const data::Dataset& dataset) {
  DataSum result{.samples = dataset.size(),
                 .looked_at = num_looked_at(dataset)};
  for (const data::Field& field : dataset.fields()) {
    result.sum = mix_bits(result.sum, stable_hash(data::field_text(field)));
  }
  Sample sample(dataset);
  // Spread evenly, with the first and the last among them.
  int64_t steps = std::max<int64_t>(result.looked_at - 1, 1);
  std::vector<int64_t> indices;
  for (int64_t i = 0; i < result.looked_at; ++i) {
    auto share = static_cast<double>(i) / static_cast<double>(steps);
    indices.push_back(static_cast<int64_t>(
        share * static_cast<double>(dataset.size() - 1) + 0.5));
  }
  sample.prepare(indices);
  for (int64_t index : indices) {
    result.sum = mix_bits(result.sum, sample.sum(index));
  }
  return result;
}

std::vector<DataSum::File> files_of(const DataConfig& config) {
  std::vector<DataSum::File> files;
  if (config.source == kCustom) return files;
  for (const data::Option& known : data::find_source(config.source).options) {
    const config::Option* given =
        config::find_option(config.options, known.name);
    if (!given) continue;
    if (known.kind == data::Option::Kind::kPath) add_file(files, given->text);
    if (known.kind == data::Option::Kind::kFiles) add_files(files, given->text);
  }
  return files;
}

std::string content_change(const DataSum& before, const DataSum& now) {
  if (before.samples != now.samples) {
    return fmt::format("there are {} samples, there were {}", now.samples,
                       before.samples);
  }
  // Another version may look at others.
  if (before.looked_at != now.looked_at || before.sum == now.sum) return "";
  return fmt::format("not all samples are the same ({} of {} were compared)",
                     now.looked_at, now.samples);
}

std::string file_change(const DataSum& before, const DataSum& now) {
  if (now.looked_at == now.samples) return "";
  std::string changed;
  for (const DataSum::File& file : now.files) {
    auto old = std::ranges::find(before.files, file.path, &DataSum::File::path);
    if (old == before.files.end() || *old == file) continue;
    changed +=
        fmt::format("{}'{}' has another {}", changed.empty() ? "" : ", ",
                    file.path, old->bytes == file.bytes ? "time" : "size");
  }
  return changed;
}

Json sum_json(const DataSum& sum) {
  Json files = Json::array();
  for (const DataSum::File& file : sum.files) {
    files.push_back({file.path, file.bytes, file.time_ns});
  }
  return {{"samples", sum.samples},
          {"looked_at", sum.looked_at},
          {"sum", sum.sum},
          {"files", files}};
}

DataSum read_sum(const Json& json) {
  DataSum sum{.samples = json.at("samples"),
              .looked_at = json.at("looked_at"),
              .sum = json.at("sum")};
  for (const Json& file : json.at("files")) {
    sum.files.push_back({file.at(0), file.at(1), file.at(2)});
  }
  return sum;
}

}  // namespace braid::train
