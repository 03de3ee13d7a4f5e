#include "braid/train/array/batch_feed.h"

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
                     const Graph& graph, int64_t members, bool shares_data,
                     std::optional<size_t> num_inputs)
    : seed_(config.seed), sources_(graph.values().size()) {
  std::span<const ValueId> inputs = graph.inputs();
  for (ValueId id : inputs.first(num_inputs.value_or(inputs.size()))) {
    const Value& value = graph.value(id);
    if (value.name == passes::kMicroInput) continue;
    Source& source = sources_[static_cast<size_t>(id)];
    source.field = data.field_of(value.name);
    const Shape& shape = value.type.shape;
    source.is_shared = members == 0 || (source.field && shares_data);
    int64_t sets = source.is_shared ? 1 : members;
    int64_t elements = num_elements(shape) / sets;
    source.micro_bytes =
        static_cast<size_t>(elements * item_bytes(value.type.dtype));
    if (source.field) continue;
    int64_t rows = shape.at(source.is_shared ? 0 : 1);
    source.noise = noise_.size();
    noise_.push_back({.name = value.name,
                      .is_normal = config.noise.at(value.name).kind == "normal",
                      .dtype = value.type.dtype,
                      .row_elements = elements / rows,
                      .bytes = {}});
  }
}

void BatchFeed::draw(Noise& noise, size_t member, int64_t rows) const {
  const MemberInputs& in = members_[member];
  auto value = [&](uint64_t element) {
    return noise_value(in.seed, noise.name, in.step, element, noise.is_normal);
  };
  int64_t count = rows * noise.row_elements;
  std::vector<std::byte>& bytes = noise.bytes[member];
  noise.dtype == DType::kFloat64 ? fill<double>(bytes, count, value)
                                 : fill<float>(bytes, count, value);
}

void BatchFeed::set(std::span<const MemberInputs> members) {
  members_.assign(members.begin(), members.end());
  for (Noise& noise : noise_) {
    noise.bytes.resize(members.size());
    for (size_t k = 0; k < members.size(); ++k) {
      bool draws = members[k].steps && members[k].batch;
      if (draws) draw(noise, k, members[k].batch->rows);
    }
  }
}

void BatchFeed::set(const data::Batch& batch, int64_t step) {
  MemberInputs only{.batch = &batch, .seed = seed_, .step = step};
  set(std::span(&only, 1));
}

// All rows of a member; null when there are none.
const std::byte* BatchFeed::part(const Source& source, size_t member) const {
  const MemberInputs& in = members_[member];
  if (!source.field) return noise_[source.noise].bytes[member].data();
  return in.batch ? in.batch->field(*source.field) : nullptr;
}

// Whether what the members get lies one after the other already.
bool BatchFeed::lies_joined(const Source& source) const {
  if (!source.field) return false;
  const std::byte* first = part(source, 0);
  if (!first) return false;
  for (size_t k = 1; k < members_.size(); ++k) {
    if (part(source, k) != first + k * source.micro_bytes) return false;
  }
  return true;
}

const std::byte* BatchFeed::at(int64_t micro, ValueId input) {
  Source& source = sources_[static_cast<size_t>(input)];
  size_t begin = static_cast<size_t>(micro) * source.micro_bytes;
  if (source.is_shared) {
    auto has_batch = [](const MemberInputs& in) {
      return in.batch && in.steps;
    };
    auto member = std::ranges::find_if(members_, has_batch) - members_.begin();
    return part(source, static_cast<size_t>(member)) + begin;
  }
  if (lies_joined(source)) return part(source, 0) + begin;
  source.joined.resize(source.micro_bytes * members_.size());
  for (size_t k = 0; k < members_.size(); ++k) {
    const std::byte* from = part(source, k);
    if (!members_[k].steps || !from) continue;
    std::memcpy(source.joined.data() + k * source.micro_bytes, from + begin,
                source.micro_bytes);
  }
  return source.joined.data();
}

}  // namespace braid::train
