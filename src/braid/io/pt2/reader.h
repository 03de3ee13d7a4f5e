// Reads .pt2 archives written by torch.export.save. Files are not trusted and
// nothing is unpickled: every size, offset and name is checked here, so that
// what uses the result need not check again.
#pragma once

#include <string_view>

#include "braid/io/file/file.h"
#include "braid/io/pt2/exported.h"

namespace braid::io::pt2 {

constexpr int64_t kSchemaMajor = 8;

// `where` stands for the file in errors. Throws one std::runtime_error that
// lists what is wrong, each with its place in the archive. The bytes of the
// weights are not touched; the result says where they lie in `file`.
ExportedProgram read_exported(Bytes file, std::string_view where);

}  // namespace braid::io::pt2
