#include "braid/data/sources.h"

#include <algorithm>

#include "braid/base/error.h"
#include "braid/base/text.h"
#include "braid/data/source_rows.h"

namespace braid::data {
namespace {

// Every source can be cut to its first samples.
Source with_limit(Source source) {
  source.options.push_back(limit_option());
  return source;
}

}  // namespace

const std::vector<Source>& all_sources() {
  static const std::vector<Source> sources = [] {
    std::vector<Source> all;
    for (auto row :
         {idx_source, cifar10_source, cifar100_source, npy_source,
          safetensors_source, shards_source, csv_source, images_source,
          clouds_source, text_source, tokens_source, glyphs_source,
          solids_source, arithmetic_source, library_source, command_source})
      all.push_back(with_limit(row()));
    return all;
  }();
  return sources;
}

const Source& find_source(std::string_view name) {
  auto found = std::ranges::find(all_sources(), name, &Source::name);
  if (found != all_sources().end()) return *found;
  std::vector<std::string> known;
  for (const Source& source : all_sources()) known.push_back(source.name);
  fail_usage("[data] unknown source '{}'\nHINT: {}", name,
             name_hint(name, known));
}

DatasetPtr open_source(std::string_view name, const Texts& texts,
                       const std::filesystem::path& base,
                       const Opening& opening) {
  const Source& source = find_source(name);
  Options options("data." + source.name, source.options, texts, base);
  DatasetPtr dataset = source.open_with ? source.open_with(options, opening)
                                        : source.open(options);
  dataset->check();  // opening may have read all of it
  int64_t limit = options.whole("limit");
  return limit > 0 ? first_samples(std::move(dataset), limit) : dataset;
}

}  // namespace braid::data
