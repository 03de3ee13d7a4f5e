#include "braid/train/batch_feed.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "braid/base/rng.h"
#include "braid/passes/names.h"

namespace braid::train {
namespace {

template <class T>
void fill(std::vector<std::byte>& bytes, int64_t count,
          const std::function<double(uint64_t)>& value) {
  bytes.resize(static_cast<size_t>(count) * sizeof(T));
  for (int64_t i = 0; i < count; ++i) {
    T element = static_cast<T>(value(static_cast<uint64_t>(i)));
    std::memcpy(bytes.data() + static_cast<size_t>(i) * sizeof(T), &element,
                sizeof element);
  }
}

}  // namespace

double noise_value(int64_t seed, const std::string& name, int64_t step,
                   uint64_t element, bool is_normal) {
  uint64_t key =
      mix_bits(static_cast<uint64_t>(seed), stable_hash("noise/" + name));
  RandomBlock block = philox(key, element, static_cast<uint64_t>(step));
  double first = unit_interval(block.word[0]);
  if (!is_normal) return first;
  double radius = std::sqrt(-2 * std::log(1 - first));
  return radius * std::cos(6.283185307179586 * unit_interval(block.word[1]));
}

BatchFeed::BatchFeed(const JobData& data, const JobConfig& config,
                     const Graph& graph)
    : seed_(config.seed), sources_(graph.values().size()) {
  for (ValueId id : graph.inputs()) {
    const Value& value = graph.value(id);
    if (value.name == passes::kMicroInput) continue;
    Source& source = sources_[static_cast<size_t>(id)];
    source.field = data.field_of(value.name);
    int64_t elements = num_elements(value.type.shape);
    source.micro_bytes =
        static_cast<size_t>(elements * item_bytes(value.type.dtype));
    if (source.field) continue;
    source.noise = noise_.size();
    noise_.push_back({.name = value.name,
                      .is_normal = config.noise.at(value.name).kind == "normal",
                      .dtype = value.type.dtype,
                      .row_elements = elements / value.type.shape.at(0),
                      .bytes = {}});
  }
}

void BatchFeed::draw(Noise& noise, int64_t rows, int64_t step) const {
  auto value = [&](uint64_t element) {
    return noise_value(seed_, noise.name, step, element, noise.is_normal);
  };
  int64_t count = rows * noise.row_elements;
  noise.dtype == DType::kFloat64 ? fill<double>(noise.bytes, count, value)
                                 : fill<float>(noise.bytes, count, value);
}

void BatchFeed::set(const data::Batch& batch, int64_t step) {
  batch_ = &batch;
  for (Noise& noise : noise_) draw(noise, batch.rows, step);
}

const std::byte* BatchFeed::at(int64_t micro, ValueId input) const {
  const Source& source = sources_[static_cast<size_t>(input)];
  const std::byte* bytes = source.field ? batch_->field(*source.field)
                                        : noise_[source.noise].bytes.data();
  return bytes + static_cast<size_t>(micro) * source.micro_bytes;
}

}  // namespace braid::train
