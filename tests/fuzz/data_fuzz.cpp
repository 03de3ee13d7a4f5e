// libFuzzer target: any bytes, given to any source as its file, either are
// data, all of whose samples can be read, or are refused with one of our two
// error types. The first byte chooses the source.
#include <stdlib.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <vector>

#include "braid/data/sources.h"

namespace {

namespace fs = std::filesystem;
using braid::data::Dataset;

struct Target {
  const char* source;
  const char* file;
  braid::data::Texts texts;
};

const std::vector<Target>& targets() {
  static const std::vector<Target> all = {
      {"idx", "f", {{"files", "x=f"}}},
      {"idx", "f", {{"images", "f"}}},
      {"npy", "f", {{"files", "x=f"}}},
      {"safetensors", "f", {{"file", "f"}}},
      {"csv", "f", {{"file", "f"}}},
      {"csv", "f", {{"file", "f"}, {"label", ""}, {"separator", "tab"}}},
      {"text", "f", {{"file", "f"}, {"length", "2"}, {"val_fraction", "0"}}},
      {"tokens", "f", {{"file", "f"}, {"length", "2"}, {"vocab", "9"}}},
      {"cifar100", "train.bin", {{"folder", "."}}},
      {"images", "a/f.png", {{"folder", "."}, {"side", "3"}}},
      {"npy", "f", {{"file", "f"}}},
      {"csv",
       "f",
       {{"file", "f"},
        {"missing", "median"},
        {"standardise", "true"},
        {"categories", "codes"},
        {"unknown", "own"}}},
      {"text", "f", {{"file", "f"}, {"length", "2"}, {"unit", "words"}}},
      {"clouds", "a/f.pts", {{"folder", "."}, {"points", "4"}}},
  };
  return all;
}

// In main memory where there is such a place; left to the system.
const fs::path& scratch() {
  static const fs::path path = [] {
    fs::path parent = fs::is_directory("/dev/shm") ? "/dev/shm" : "/tmp";
    std::string pattern = (parent / "braid-fuzz-XXXXXX").string();
    if (!::mkdtemp(pattern.data())) std::abort();
    fs::create_directory(fs::path(pattern) / "a");
    return fs::path(pattern);
  }();
  return path;
}

void read_samples(const Dataset& dataset) {
  std::vector<std::vector<std::byte>> fields;
  std::vector<std::byte*> out;
  for (const auto& field : dataset.fields()) {
    fields.emplace_back(braid::data::sample_bytes(field));
  }
  for (auto& field : fields) out.push_back(field.data());
  for (int64_t i = 0; i < std::min<int64_t>(dataset.size(), 100); ++i) {
    dataset.read(i, {}, out);
    dataset.read(dataset.size() - 1 - i, {}, out);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  const Target& target = targets()[data[0] % targets().size()];
  std::ofstream(scratch() / target.file, std::ios::binary)
      .write(reinterpret_cast<const char*>(data) + 1,
             static_cast<std::streamsize>(size - 1));
  try {
    read_samples(
        *braid::data::open_source(target.source, target.texts, scratch()));
  } catch (const std::runtime_error&) {
  } catch (const std::invalid_argument&) {
  }
  return 0;
}
