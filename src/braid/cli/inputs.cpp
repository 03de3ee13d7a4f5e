#include "braid/cli/inputs.h"

#include <algorithm>
#include <cstring>

#include "braid/base/error.h"
#include "braid/base/printable.h"
#include "braid/base/rng.h"
#include "braid/passes/names.h"
#include "braid/train/array/index_ranges.h"

namespace braid::cli {
namespace {

using train::IndexRange;

std::string type_text(DType dtype, const Shape& shape) {
  return fmt::format("{}{}", dtype_name(dtype), shape_text(shape));
}

Shape whole_shape(const ValueType& type, int64_t micro_batches) {
  Shape shape = type.shape;
  if (!shape.empty()) shape[0] *= micro_batches;
  return shape;
}

std::string index_problem(const io::TensorBytes& tensor, IndexRange range) {
  for (size_t at = 0; at + 8 <= tensor.bytes.size(); at += 8) {
    int64_t index = 0;
    std::memcpy(&index, tensor.bytes.data() + at, sizeof index);
    bool fine = (index >= 0 && index < range.size) || index == range.ignored;
    if (!fine) {
      return fmt::format("holds {}, expected 0 to {}", index, range.size - 1);
    }
  }
  return {};
}

// What is wrong with one input of one file; empty when nothing is.
std::string problem_of(const Value& value, const io::TensorBytes* tensor,
                       int64_t micro_batches,
                       const std::map<std::string, IndexRange>& ranges) {
  Shape shape = whole_shape(value.type, micro_batches);
  std::string expected = type_text(value.type.dtype, shape);
  if (!tensor) return fmt::format("missing, expected {}", expected);
  if (tensor->dtype != value.type.dtype || tensor->shape != shape) {
    return fmt::format("expected {}, got {}", expected,
                       type_text(tensor->dtype, tensor->shape));
  }
  auto range = ranges.find(value.name);
  return range == ranges.end() ? "" : index_problem(*tensor, range->second);
}

void add_problems(const Graph& forward, const InputFile& file,
                  int64_t micro_batches, Listing& problems) {
  auto add = [&](const std::string& name, const std::string& problem) {
    if (problem.empty()) return;
    problems.add(problems.has_room() ? fmt::format("{}: {}: {}", file.name,
                                                   printable(name), problem)
                                     : "");
  };
  auto ranges = train::index_ranges(forward);
  std::vector<std::string> names = input_names(forward);
  for (const std::string& name : names) {
    const Value& value = forward.value(forward.find_input(name));
    add(name, problem_of(value, file.file->find(name), micro_batches, ranges));
  }
  for (const std::string& name : file.file->names()) {
    if (std::ranges::find(names, name) == names.end()) {
      add(name, "not an input of the model");
    }
  }
}

// Bytes of one micro-batch; a scalar serves all of them.
io::Bytes cut(const io::TensorBytes& tensor, int64_t micro,
              int64_t micro_batches) {
  if (tensor.shape.empty()) return tensor.bytes;
  auto size = tensor.bytes.size() / static_cast<size_t>(micro_batches);
  return tensor.bytes.subspan(size * static_cast<size_t>(micro), size);
}

std::vector<data::Field> fields_of(const Graph& forward) {
  std::vector<data::Field> fields;
  for (const std::string& name : input_names(forward)) {
    const ValueType& type = forward.value(forward.find_input(name)).type;
    fields.push_back({name, type.dtype, type.shape});
  }
  return fields;
}

class GivenBatch : public data::Dataset {
 public:
  GivenBatch(const Graph& forward, const InputFile& file, int64_t micro_batches)
      : Dataset(file.name, fields_of(forward), micro_batches),
        parts_(static_cast<size_t>(micro_batches)) {
    for (int64_t micro = 0; micro < micro_batches; ++micro) {
      for (const data::Field& field : fields()) {
        io::Bytes part =
            cut(*file.file->find(field.name), micro, micro_batches);
        parts_[static_cast<size_t>(micro)].emplace_back(part.begin(),
                                                        part.end());
      }
    }
    file.file->check();
  }

  void read(int64_t index, const data::Draw&,
            std::span<std::byte* const> out) const override {
    const auto& part = parts_[static_cast<size_t>(index)];
    for (size_t f = 0; f < out.size(); ++f) {
      std::ranges::copy(part[f], out[f]);
    }
  }

 private:
  std::vector<std::vector<std::vector<std::byte>>> parts_;  // sample, field
};

int64_t micro_batch(int64_t batch, int64_t micro_batches) {
  if (batch % micro_batches != 0) {
    fail_usage("[inputs] a batch of {} cannot be cut into {} micro-batches",
               batch, micro_batches);
  }
  return batch / micro_batches;
}

}  // namespace

std::map<std::string, ValueType> input_types(const io::SafetensorsFile& file,
                                             int64_t micro_batches) {
  std::map<std::string, ValueType> types;
  for (const io::TensorBytes& tensor : file.tensors()) {
    ValueType type{tensor.dtype, tensor.shape};
    if (!type.shape.empty()) {
      type.shape[0] = micro_batch(type.shape[0], micro_batches);
    }
    types[tensor.name] = type;
  }
  return types;
}

std::vector<std::string> input_names(const Graph& forward) {
  std::vector<std::string> names;
  for (ValueId id : forward.inputs()) {
    const std::string& name = forward.value(id).name;
    if (name != passes::kMicroInput) names.push_back(name);
  }
  return names;
}

void check_inputs(const Graph& forward, const std::vector<InputFile>& files,
                  int64_t micro_batches, const std::string& hint) {
  Listing problems;
  for (const InputFile& file : files) {
    add_problems(forward, file, micro_batches, problems);
  }
  if (problems.empty()) return;
  fail_usage("[inputs] the tensors do not fit the model:{}\nHINT: {}",
             problems.text(), hint);
}

data::DatasetPtr given_batch(const Graph& forward, const InputFile& file,
                             int64_t micro_batches) {
  return std::make_shared<GivenBatch>(forward, file, micro_batches);
}

uint64_t fingerprint(const Graph& forward, const std::vector<InputFile>& files,
                     int64_t micro_batches) {
  std::vector<std::string> names = input_names(forward);
  std::ranges::sort(names);
  uint64_t sum = 0;
  for (int64_t micro = 0; micro < micro_batches; ++micro) {
    for (const std::string& name : names) {
      std::string text;
      for (const InputFile& file : files) {
        io::Bytes part = cut(*file.file->find(name), micro, micro_batches);
        text.append(reinterpret_cast<const char*>(part.data()), part.size());
      }
      sum = mix_bits(mix_bits(sum, stable_hash(name)), stable_hash(text));
    }
  }
  return sum;
}

}  // namespace braid::cli
