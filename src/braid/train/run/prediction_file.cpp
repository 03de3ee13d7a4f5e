#include "braid/train/run/prediction_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "braid/base/csv_cell.h"
#include "braid/base/error.h"
#include "braid/base/narrow_float.h"
#include "braid/base/printable.h"
#include "braid/io/file/new_file.h"
#include "braid/io/format/npy.h"
#include "braid/io/format/safetensors.h"
#include "fmt/ranges.h"

namespace braid::train {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kMostColumns = 16384;  // of a table

std::string row_text(const data::Dataset& data, int64_t sample) {
  return fmt::format("{},{}", sample, csv_cell(data.place(0, sample)));
}

constexpr const char* kRowTitles = "sample,place";

// What the numbers of the samples are called beside these outputs.
const char* number_name(const std::vector<PredictedOutput>& outputs) {
  bool is_taken = std::ranges::any_of(
      outputs, [](const PredictedOutput& o) { return o.name == "sample"; });
  return is_taken ? "sample_number" : "sample";
}

// Which sample each row is.
class RowsTable {
 public:
  explicit RowsTable(const fs::path& path) : file_(path) {
    file_.append(fmt::format("{}\n", kRowTitles));
  }
  void add(const data::Dataset& data, const data::Batch& batch) {
    std::string lines;
    for (int64_t i = 0; i < batch.rows; ++i) {
      lines += row_text(data, batch.first.sample + i) + "\n";
    }
    file_.append(lines);
  }
  void finish() { file_.finish(); }

 private:
  io::NewFile file_;
};

// NumPy has no bf16.
std::vector<std::byte> widened(const std::vector<std::byte>& bytes) {
  std::vector<std::byte> wide(bytes.size() * 2);
  for (size_t at = 0; at < bytes.size(); at += sizeof(uint16_t)) {
    uint16_t bits = 0;
    std::memcpy(&bits, bytes.data() + at, sizeof(bits));
    float value = bf16_value(bits);
    std::memcpy(wide.data() + 2 * at, &value, sizeof(value));
  }
  return wide;
}

Shape with_samples(const PredictedOutput& output, int64_t samples) {
  Shape shape = output.shape;
  shape.insert(shape.begin(), samples);
  return shape;
}

class NpyPredictions : public PredictionFile {
 public:
  NpyPredictions(const fs::path& path, const PredictedOutput& output,
                 int64_t samples)
      : is_bf16_(output.dtype == DType::kBFloat16),
        file_(path),
        table_(rows_path(path)) {
    file_.append(io::npy_head(is_bf16_ ? DType::kFloat32 : output.dtype,
                              with_samples(output, samples)));
  }

  void add(const data::Dataset& data, const data::Batch& batch,
           const Prediction::Rows& rows) override {
    file_.append(is_bf16_ ? widened(rows[0]) : rows[0]);
    table_.add(data, batch);
  }
  void finish() override {
    table_.finish();
    file_.finish();
  }

 private:
  bool is_bf16_;
  io::NewFile file_;
  RowsTable table_;
};

// Tensors lie one after the other, so each grows at its own place.
class TensorPredictions : public PredictionFile {
 public:
  TensorPredictions(const fs::path& path,
                    const std::vector<PredictedOutput>& outputs,
                    int64_t samples)
      : file_(path), table_(rows_path(path)) {
    if (!file_.takes_any_order()) {
      fail_usage(
          "[predict] '{}' takes bytes only in order\n"
          "HINT: write a .safetensors file, or .npy or .csv there",
          path.string());
    }
    std::vector<io::TensorBytes> tensors{
        {number_name(outputs), DType::kInt64, {samples}, {}}};
    for (const PredictedOutput& output : outputs) {
      tensors.push_back(
          {output.name, output.dtype, with_samples(output, samples), {}});
    }
    std::string head = io::safetensors_head(tensors);
    file_.append(head);
    uint64_t at = head.size();
    for (const io::TensorBytes& tensor : tensors) {
      places_.push_back(at);
      at += static_cast<uint64_t>(num_elements(tensor.shape) *
                                  item_bytes(tensor.dtype));
    }
  }

  void add(const data::Dataset& data, const data::Batch& batch,
           const Prediction::Rows& rows) override {
    std::vector<int64_t> samples;
    for (int64_t i = 0; i < batch.rows; ++i) {
      samples.push_back(batch.first.sample + i);
    }
    write(0, std::as_bytes(std::span(samples)));
    for (size_t i = 0; i < rows.size(); ++i) write(i + 1, rows[i]);
    table_.add(data, batch);
  }
  void finish() override {
    table_.finish();
    file_.finish();
  }

 private:
  void write(size_t tensor, io::Bytes bytes) {
    file_.write_at(places_[tensor], bytes);
    places_[tensor] += bytes.size();
  }

  io::NewFile file_;
  RowsTable table_;
  std::vector<uint64_t> places_;  // where each tensor goes on
};

// The shortest text that reads back to the same number.
std::string number_text(const std::byte* data, DType dtype) {
  if (dtype == DType::kFloat32) {
    float value = 0;
    std::memcpy(&value, data, sizeof(value));
    return fmt::format("{}", std::isnan(value) ? NAN : value);
  }
  if (dtype == DType::kInt64) {
    int64_t value = 0;
    std::memcpy(&value, data, sizeof(value));
    return std::to_string(value);
  }
  double value = number_at(data, dtype);
  return fmt::format("{}", std::isnan(value) ? NAN : value);
}

// "logits.3", "boxes.0.2"; of one number the name alone.
std::vector<std::string> titles_of(const PredictedOutput& output) {
  std::vector<std::string> titles{csv_cell(printable(output.name))};
  for (int64_t size : output.shape) {
    std::vector<std::string> longer;
    for (const std::string& title : titles) {
      for (int64_t i = 0; i < size; ++i) {
        longer.push_back(fmt::format("{}.{}", title, i));
      }
    }
    titles = std::move(longer);
  }
  return titles;
}

class CsvPredictions : public PredictionFile {
 public:
  CsvPredictions(const fs::path& path,
                 const std::vector<PredictedOutput>& outputs)
      : outputs_(outputs), file_(path) {
    std::string line = fmt::format("{},place", number_name(outputs));
    for (const PredictedOutput& output : outputs) {
      line += fmt::format(",{}", fmt::join(titles_of(output), ","));
    }
    file_.append(line + "\n");
  }

  void add(const data::Dataset& data, const data::Batch& batch,
           const Prediction::Rows& rows) override {
    std::string lines;
    for (int64_t i = 0; i < batch.rows; ++i) {
      lines += row_text(data, batch.first.sample + i);
      for (size_t k = 0; k < outputs_.size(); ++k) {
        add_cells(lines, outputs_[k], rows[k], i);
      }
      lines += '\n';
    }
    file_.append(lines);
  }
  void finish() override { file_.finish(); }

 private:
  static const std::string& name_of(const PredictedOutput& output,
                                    const std::byte* at) {
    int64_t number = 0;
    std::memcpy(&number, at, sizeof(number));
    return output.names.at(static_cast<size_t>(number));
  }

  static void add_cells(std::string& line, const PredictedOutput& output,
                        const std::vector<std::byte>& bytes, int64_t row) {
    int64_t count = num_elements(output.shape), item = item_bytes(output.dtype);
    const std::byte* at = bytes.data() + row * count * item;
    for (int64_t i = 0; i < count; ++i, at += item) {
      line += ',';
      line += output.names.empty() ? number_text(at, output.dtype)
                                   : csv_cell(name_of(output, at));
    }
  }

  std::vector<PredictedOutput> outputs_;
  io::NewFile file_;
};

void check_columns(const std::vector<PredictedOutput>& outputs) {
  int64_t columns = 0;
  for (const PredictedOutput& output : outputs) {
    if (is_complex(output.dtype)) {
      fail_usage("[predict] '{}' is complex: write .npy or .safetensors",
                 output.name);
    }
    columns += num_elements(output.shape);
  }
  if (columns <= kMostColumns) return;
  fail_usage(
      "[predict] a table would have {} columns, at most {} are written\n"
      "HINT: write .npy or .safetensors",
      columns, kMostColumns);
}

void check_single(const std::vector<PredictedOutput>& outputs) {
  if (outputs.size() == 1) return;
  std::vector<std::string> names;
  for (const PredictedOutput& output : outputs) names.push_back(output.name);
  fail_usage(
      "[predict] a .npy file holds one output, and there are {}\n"
      "HINT: choose one, as --output {}, or write .safetensors",
      fmt::join(names, ", "), names[0]);
}

}  // namespace

fs::path rows_path(const fs::path& path) {
  return fs::path(path).replace_extension(".rows.csv");
}

void check_prediction_name(const fs::path& path) {
  std::string ending = path.extension().string();
  bool is_known =
      ending == ".npy" || ending == ".safetensors" || ending == ".csv";
  if (is_known) return;
  fail_usage(
      "[predict] '{}' has no ending that tells its format\n"
      "HINT: predictions are written as .npy, .safetensors or .csv",
      path.string());
}

std::unique_ptr<PredictionFile> create_prediction_file(
    const fs::path& path, const std::vector<PredictedOutput>& outputs,
    int64_t samples) {
  check_prediction_name(path);
  if (path.extension() == ".npy") {
    check_single(outputs);
    return std::make_unique<NpyPredictions>(path, outputs[0], samples);
  }
  if (path.extension() == ".safetensors") {
    return std::make_unique<TensorPredictions>(path, outputs, samples);
  }
  check_columns(outputs);
  return std::make_unique<CsvPredictions>(path, outputs);
}

}  // namespace braid::train
