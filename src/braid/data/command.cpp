// Samples that a program gives, as docs/streams.md has it in full:
//
//   frame    8 bytes: length, little-endian; then a safetensors file
//   first    a frame whose tensors have no rows, [0, ...]: fields and types;
//            its metadata say how many samples there are
//   request  numbers of 8 bytes, little-endian: how many samples, seed and
//            epoch of the draw, then the number of each sample
//   answer   a frame with the rows of these samples, in this order
#include <algorithm>
#include <cstring>
#include <limits>
#include <list>
#include <mutex>
#include <type_traits>
#include <unordered_map>
#include <utility>

#include "braid/base/error.h"
#include "braid/base/numbers.h"
#include "braid/base/printable.h"
#include "braid/config/report.h"
#include "braid/config/yaml_reader.h"
#include "braid/data/child_process.h"
#include "braid/data/rows.h"
#include "braid/data/source_rows.h"
#include "braid/data/stored_field.h"
#include "braid/io/format/safetensors.h"

namespace braid::data {
namespace {

using Kind = Option::Kind;

constexpr const char* kSamplesKey = "braid.samples";
constexpr const char* kClassesKey = "braid.classes.";  // and the field
constexpr const char* kErrorKey = "braid.error";
constexpr const char* kPrintHint =
    "standard output is for frames alone; what a program prints belongs on "
    "standard error";
constexpr size_t kMostHeader = 16 << 20;
// Batches that were asked for and not read yet: one per thread that reads, and
// a few more cost nothing.
constexpr size_t kMostBatches = 8;

struct Frame {
  std::vector<std::byte> bytes;
  io::SafetensorsContent content;  // borrows from them
};

// What the first frame says.
struct Promise {
  std::vector<StoredField> fields;
  std::vector<int64_t> classes;  // by field
  int64_t samples = 0;
};

// The talk with the program. For one thread at a time; after an error it is
// over, and every further call fails in the same way.
class Feed {
 public:
  explicit Feed(ChildProcess::Options options) : child_(std::move(options)) {}

  ChildProcess& child() { return child_; }

  Promise begin() {
    return guarded([&] {
      Frame frame = read_frame(kMostHeader, "a first frame with its fields");
      return read_promise(frame);
    });
  }

  // The rows of these samples, as tensors of the promise.
  Frame ask(std::span<const int64_t> indices, const Draw& draw,
            const Promise& promise) {
    return guarded([&] {
      std::vector<int64_t> request = {static_cast<int64_t>(indices.size()),
                                      draw.seed, draw.epoch};
      request.insert(request.end(), indices.begin(), indices.end());
      child_.write(std::as_bytes(std::span(request)));
      size_t most = kMostHeader;
      for (const StoredField& field : promise.fields) {
        most += field.bytes() * indices.size();
      }
      Frame frame = read_frame(
          most, fmt::format("a frame with {} samples", indices.size()));
      check_rows(frame, promise, static_cast<int64_t>(indices.size()));
      return frame;
    });
  }

 private:
  template <class Call>
  std::invoke_result_t<Call> guarded(Call call) {
    if (!failure_.empty()) fail_world("{}", failure_);
    try {
      return call();
    } catch (const std::exception& error) {
      failure_ = error.what();
      throw;
    }
  }

  Frame read_frame(size_t most, const std::string& what) {
    uint64_t length = 0;
    child_.read(std::as_writable_bytes(std::span(&length, 1)), what);
    if (length > most) {
      child_.fail(fmt::format("sent a frame of {} bytes, and {} has at most {}",
                              length, what, most),
                  kPrintHint);
    }
    Frame frame;
    frame.bytes.resize(length);
    child_.read(frame.bytes, "the rest of " + what);
    try {
      frame.content = io::parse_safetensors(frame.bytes, "its frame");
    } catch (const std::exception& error) {
      child_.fail(fmt::format("sent something else than {}: {}", what,
                              parts_of(error).text),
                  kPrintHint);
    }
    auto error = frame.content.metadata.find(kErrorKey);
    if (error != frame.content.metadata.end()) {
      child_.fail("says: " + printable_message(error->second));
    }
    return frame;
  }

  int64_t read_number(const io::Metadata& metadata, const std::string& key) {
    auto found = metadata.find(key);
    if (found == metadata.end()) return 0;
    std::optional<double> number = parse_number(found->second);
    bool is_whole =
        number && *number >= 0 && *number < 0x1.0p53 &&
        static_cast<double>(static_cast<int64_t>(*number)) == *number;
    if (is_whole) return static_cast<int64_t>(*number);
    child_.fail(fmt::format("gave '{}' for '{}', expected a whole number",
                            printable(found->second), printable(key)));
  }

  Promise read_promise(const Frame& frame) {
    Promise promise;
    const io::Metadata& metadata = frame.content.metadata;
    promise.samples = read_number(metadata, kSamplesKey);
    if (promise.samples < 1) {
      child_.fail(
          fmt::format("gave no number of samples: expected metadata "
                      "'{}' of the first frame",
                      kSamplesKey));
    }
    for (const io::TensorBytes& tensor : frame.content.tensors) {
      promise.fields.push_back(read_field(tensor));
      promise.classes.push_back(
          read_number(metadata, kClassesKey + tensor.name));
    }
    if (promise.fields.empty()) child_.fail("gave no field in its first frame");
    return promise;
  }

  StoredField read_field(const io::TensorBytes& tensor) {
    std::optional<Element> element = element_of(tensor.dtype);
    bool has_rows = !tensor.shape.empty() && tensor.shape[0] == 0;
    Shape sample;
    if (has_rows) sample.assign(tensor.shape.begin() + 1, tensor.shape.end());
    std::optional<size_t> bytes =
        element ? tensor_bytes(*element, sample) : std::nullopt;
    constexpr size_t kMost = std::numeric_limits<int32_t>::max();
    if (!has_rows || !bytes || *bytes == 0 || *bytes > kMost) {
      child_.fail(fmt::format(
          "gave the field '{}' as {} {}, expected real numbers of shape "
          "[0, ...], the first dimension counting samples",
          printable(tensor.name), dtype_name(tensor.dtype),
          shape_text(tensor.shape)));
    }
    return {tensor.name, *element, sample};
  }

  void check_rows(const Frame& frame, const Promise& promise, int64_t rows) {
    const auto& tensors = frame.content.tensors;
    for (const StoredField& field : promise.fields) {
      auto found =
          std::ranges::find(tensors, field.name, &io::TensorBytes::name);
      if (found == tensors.end()) {
        child_.fail(fmt::format("left out the field '{}'", field.name));
      }
      Shape expected = field.shape;
      expected.insert(expected.begin(), rows);
      if (found->shape == expected && element_of(found->dtype) == field.element)
        continue;
      child_.fail(
          fmt::format("sent {} {} {}, expected {} {}", printable(field.name),
                      dtype_name(found->dtype), shape_text(found->shape),
                      element_text(field.element), shape_text(expected)));
    }
  }

  ChildProcess child_;
  std::string failure_;
};

std::vector<Field> fields_of(const Promise& promise) {
  std::vector<Field> fields;
  for (size_t f = 0; f < promise.fields.size(); ++f) {
    fields.push_back(sample_field(promise.fields[f], promise.classes[f]));
  }
  return fields;
}

// Samples that came together.
class Answer {
 public:
  Answer(std::span<const int64_t> indices, const Draw& draw, Frame frame,
         const Promise& promise)
      : draw_(draw), frame_(std::move(frame)) {
    for (size_t row = 0; row < indices.size(); ++row) {
      rows_.emplace(indices[row], row);
    }
    for (const StoredField& field : promise.fields) {
      auto tensor = std::ranges::find(frame_.content.tensors, field.name,
                                      &io::TensorBytes::name);
      tensors_.push_back(tensor->bytes);
    }
  }
  Answer(const Answer&) = delete;
  Answer& operator=(const Answer&) = delete;

  bool has(int64_t index, const Draw& draw) const {
    return draw.seed == draw_.seed && draw.epoch == draw_.epoch &&
           rows_.contains(index);
  }
  const std::byte* at(int64_t index, size_t field, size_t bytes) const {
    return tensors_[field].data() + rows_.at(index) * bytes;
  }

 private:
  Draw draw_;
  Frame frame_;
  std::vector<io::Bytes> tensors_;  // by field
  std::unordered_map<int64_t, size_t> rows_;
};

class CommandSamples : public Dataset {
 public:
  CommandSamples(std::string who, std::unique_ptr<Feed> feed, Promise promise)
      : Dataset(feed->child().text(), fields_of(promise), promise.samples),
        who_(std::move(who)),
        promise_(std::move(promise)),
        feed_(std::move(feed)) {}

  void read(int64_t index, const Draw& draw,
            std::span<std::byte* const> out) const override {
    std::shared_ptr<const Answer> answer = find(index, draw);
    if (!answer) answer = ask(std::span(&index, 1), draw);
    for (size_t f = 0; f < out.size(); ++f) {
      const StoredField& field = promise_.fields[f];
      read_stored(field, answer->at(index, f, field.bytes()), out[f]);
      check_wholes(who_, field, promise_.classes[f], out[f],
                   [&] { return place(f, index); });
    }
  }

  // A batch is one question.
  void prepare(std::span<const int64_t> indices,
               const Draw& draw) const override {
    if (indices.empty()) return;
    std::shared_ptr<const Answer> answer = ask(indices, draw);
    std::lock_guard lock(mutex_);
    answers_.push_back(std::move(answer));
    if (answers_.size() > kMostBatches) answers_.pop_front();
  }

  std::string place(size_t, int64_t index) const override {
    return fmt::format("sample {} of '{}'", index, name());
  }

 private:
  std::shared_ptr<const Answer> find(int64_t index, const Draw& draw) const {
    std::lock_guard lock(mutex_);
    for (const auto& answer : answers_) {
      if (answer->has(index, draw)) return answer;
    }
    return nullptr;
  }

  std::shared_ptr<const Answer> ask(std::span<const int64_t> indices,
                                    const Draw& draw) const {
    std::lock_guard lock(feed_mutex_);
    return std::make_shared<const Answer>(
        indices, draw, feed_->ask(indices, draw, promise_), promise_);
  }

  std::string who_;
  Promise promise_;
  std::unique_ptr<Feed> feed_;
  mutable std::mutex feed_mutex_;  // held during a question
  mutable std::mutex mutex_;
  mutable std::list<std::shared_ptr<const Answer>> answers_;
};

// As job files have it: a list, whose words may be in quotes, or a program.
std::vector<std::string> words_of(const Options& options) {
  const std::string& text = options.text("command");
  if (!text.starts_with('[')) return {text};
  config::Report report(options.who(), "command");
  config::Node list = config::parse_yaml(text, report);
  report.throw_if_any();
  std::vector<std::string> words;
  for (const config::Node& item : list.items) words.push_back(item.text);
  return words;
}

void take_classes(const Options& options, Promise& promise) {
  if (!options.is_given("classes")) return;
  for (int64_t& classes : promise.classes) classes = options.whole("classes");
}

DatasetPtr open_command(const Options& options) {
  double timeout_s = options.number("timeout");
  if (timeout_s <= 0 || timeout_s > 1e6) {
    fail_usage("[{}] expected a timeout above 0 s and up to 1e6, got {}",
               options.who(), options.text("timeout"));
  }
  std::vector<std::string> words = words_of(options);
  if (words.empty() || words[0].empty()) {
    fail_usage("[{}] expected a program in 'command', got none", options.who());
  }
  auto feed = std::make_unique<Feed>(ChildProcess::Options{
      .who = options.who(),
      .command = std::move(words),
      .folder = options.has("folder") ? options.path("folder") : "",
      .timeout_s = timeout_s});
  Promise promise = feed->begin();
  for (StoredField& field : promise.fields) {
    field.is_image = options.flag("pixels") && looks_like_pixels(field);
  }
  take_classes(options, promise);
  return std::make_shared<CommandSamples>(options.who(), std::move(feed),
                                          std::move(promise));
}

}  // namespace

Source command_source() {
  return {"command",
          "a program that gives samples when it is asked for them, such as a "
          "Dataset of PyTorch: [streams.md](streams.md#a-program)",
          "as the program says: floats as they are, whole numbers as i64",
          {{"command",
            Kind::kText,
            "",
            "program and arguments: [python3, feed_dataset.py, mine.Train]",
            {},
            true},
           {"folder", Kind::kPath, "",
            "in which it runs; else that of the job file"},
           {"timeout", Kind::kNumber, "300",
            "seconds without a sign of it after which it is given up"},
           pixels_option(),
           {"classes", Kind::kCount, "0",
            "whole numbers must be below; else as the program says"}},
          open_command};
}

}  // namespace braid::data
