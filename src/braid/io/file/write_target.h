// WriteTarget: what lies behind a path that is to be written.
#pragma once

#include <filesystem>

namespace braid::io {

struct WriteTarget {
  std::filesystem::path path;  // without links at its end
  // A regular file, or nothing yet: it may be replaced as a whole. Otherwise
  // a device, pipe or socket, which takes bytes and must stay what it is.
  bool is_replaceable = true;
};

// Follows symbolic links, also one to a file that is not there yet. Throws
// std::runtime_error for directories, links in a circle, and files that are
// marked as read-only, which the rights of root do not make writable.
WriteTarget find_write_target(const std::filesystem::path& path);

}  // namespace braid::io
