#include "braid/cli/profile_file.h"

#include "braid/io/file/file.h"

namespace braid::cli {

plan::Profile read_profile(const std::string& path) {
  if (path.empty()) return {};
  auto file = io::MappedFile::open_if_exists(path);
  if (!file) return {};
  const auto* begin = reinterpret_cast<const char*>(file->bytes().data());
  return plan::Profile::parse(std::string(begin, file->bytes().size()));
}

void write_profile(const std::string& path, const plan::Profile& profile) {
  io::write_file_atomically(path, profile.text());
}

}  // namespace braid::cli
