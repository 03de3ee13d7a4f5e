// Event files: the scalars of a run for TensorBoard, which reads all files
// DIR/events.out.tfevents.* in the order of their names.
//
// Every start of a run writes a file of its own: a TensorBoard that is looking
// on follows from file to file, but not when one gets shorter and grows again.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include "braid/io/file/append_file.h"
#include "braid/io/run/hparams.h"
#include "braid/io/run/scalars.h"

namespace braid::io {

// Thread-safe.
class EventFile {
 public:
  // Creates events.out.tfevents.<seconds>.<host>, after all others there.
  // `first_step` is the first that this start of the run may add.
  EventFile(const std::filesystem::path& directory, int64_t first_step);

  // The values of a step, with the time of now. They are there in full or not
  // at all. Throws when the disk is full.
  void add(int64_t step, const Scalars& values);

  // A text in Markdown, in the same way.
  void add_text(int64_t step, std::string_view tag, std::string_view markdown);

  // For comparisons of runs: what this one begins with, and how it ended.
  void add_hparams(int64_t step, const Hparams& values);
  void add_end(int64_t step, bool succeeded);

  // Blocks until everything is on the disk.
  void sync() { file_.sync(); }

  const std::filesystem::path& path() const { return file_.path(); }

  // In all event files of the directory: keeps what is whole and of steps up
  // to this one, for a run that goes on from there; -1 keeps none. A file
  // without scalars is deleted. No object may have one of the files open.
  static void cut_back(const std::filesystem::path& directory, int64_t step);

 private:
  AppendFile file_;
};

}  // namespace braid::io
