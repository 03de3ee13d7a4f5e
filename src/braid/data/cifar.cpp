// The binary files of CIFAR-10 and CIFAR-100: records of one label (for 100:
// a coarse and a fine one) and 3 * 32 * 32 bytes of red, green and blue.
#include <array>
#include <system_error>

#include "braid/data/elements.h"
#include "braid/data/file_cursor.h"
#include "braid/data/source_rows.h"

namespace braid::data {
namespace {

namespace fs = std::filesystem;
using Kind = Option::Kind;

constexpr size_t kPixels = 3UL * 32 * 32;

struct Format {
  size_t labels;  // bytes before the pixels
  size_t label;   // which of them is y
  int64_t classes;

  size_t record() const { return labels + kPixels; }
};

struct Records {
  io::MappedFile file;
  std::string path;
};

void check_records(const Records& records, const Format& format,
                   const std::string& who) {
  io::Bytes bytes = records.file.bytes();
  FileCursor cursor(bytes, who, records.path);
  cursor.refuse_gzip();
  size_t rest = bytes.size() % format.record();
  if (rest != 0) {
    cursor.fail(bytes.size() - rest,
                fmt::format("a record of {} bytes", format.record()),
                fmt::format("{}", rest),
                "the file is cut short or of another data set");
  }
  for (size_t at = format.label; at < bytes.size(); at += format.record()) {
    auto label = std::to_integer<int64_t>(bytes[at]);
    if (label < format.classes) continue;
    cursor.fail(at, fmt::format("a label below {}", format.classes),
                fmt::format("{}", label));
  }
}

int64_t count_records(const std::vector<Records>& files, const Format& format) {
  size_t count = 0;
  for (const Records& records : files) {
    count += records.file.bytes().size() / format.record();
  }
  return static_cast<int64_t>(count);
}

class Cifar : public Dataset {
 public:
  Cifar(std::vector<Records> files, Format format)
      : Dataset(files[0].path,
                {{"x", DType::kFloat32, {3, 32, 32}, 0, true},
                 {"y", DType::kInt64, {}, format.classes, true}},
                count_records(files, format)),
        files_(std::move(files)),
        format_(format) {}

  void read(int64_t index, const Draw&,
            std::span<std::byte* const> out) const override {
    const std::byte* record = find(static_cast<size_t>(index));
    read_pixels(record + format_.labels, kPixels, out[0]);
    read_elements(kByte, record + format_.label, 1, out[1]);
  }

  void check() const override {
    for (const Records& records : files_) records.file.check();
  }

 private:
  const std::byte* find(size_t index) const {
    size_t file = 0;
    while (index >= records_in(file)) index -= records_in(file++);
    return files_[file].file.bytes().data() + index * format_.record();
  }
  size_t records_in(size_t file) const {
    return files_[file].file.bytes().size() / format_.record();
  }

  std::vector<Records> files_;
  Format format_;
};

// The folder itself, or the one that unpacking made in it.
fs::path find_folder(const Options& options, const char* unpacked) {
  fs::path folder = options.path("folder");
  std::error_code ignored;
  return fs::is_directory(folder / unpacked, ignored) ? folder / unpacked
                                                      : folder;
}

DatasetPtr open_files(const Options& options, const fs::path& folder,
                      const std::vector<std::string>& names,
                      const Format& format) {
  std::vector<Records> files;
  for (const std::string& name : names) {
    fs::path path = folder / name;
    files.push_back({io::MappedFile(path), path.string()});
    check_records(files.back(), format, options.who());
  }
  return std::make_shared<Cifar>(std::move(files), format);
}

bool is_train(const Options& options) {
  return options.text("part") == "train";
}

DatasetPtr open_cifar10(const Options& options) {
  std::vector<std::string> names = {"test_batch.bin"};
  if (is_train(options)) {
    names = {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
             "data_batch_4.bin", "data_batch_5.bin"};
  }
  return open_files(options, find_folder(options, "cifar-10-batches-bin"),
                    names, {.labels = 1, .label = 0, .classes = 10});
}

DatasetPtr open_cifar100(const Options& options) {
  bool fine = options.text("labels") == "fine";
  Format format{.labels = 2,
                .label = fine ? size_t{1} : size_t{0},
                .classes = fine ? 100 : 20};
  return open_files(options, find_folder(options, "cifar-100-binary"),
                    {is_train(options) ? "train.bin" : "test.bin"}, format);
}

Option folder_option(std::string meaning) {
  return {"folder", Kind::kPath, "", std::move(meaning), {}, true};
}

constexpr const char* kFields = "x f32 [3, 32, 32], y i64";

}  // namespace

Source cifar10_source() {
  return {"cifar10",
          "CIFAR-10, binary version",
          kFields,
          {folder_option("that holds data_batch_1.bin, ..., test_batch.bin"),
           choice_option("part", {"train", "test"}, "which files")},
          open_cifar10};
}

Source cifar100_source() {
  return {"cifar100",
          "CIFAR-100, binary version",
          kFields,
          {folder_option("that holds train.bin and test.bin"),
           choice_option("part", {"train", "test"}, "which file"),
           choice_option("labels", {"fine", "coarse"}, "100 or 20 classes")},
          open_cifar100};
}

}  // namespace braid::data
