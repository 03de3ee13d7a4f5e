// Several sequences of batches, made together ahead by background threads:
// what the members of an array train on. Each sequence is what a Loader of its
// own would give.
#pragma once

#include <memory>
#include <vector>

#include "braid/data/loader.h"

namespace braid::data {

// One of the sequences.
struct LoaderPart {
  DatasetPtr dataset = nullptr;  // null: no batches, only room for them
  LoaderOptions options = {};    // `prefetch` and `threads` of the first count
  Position start = {};
};

// For one thread at a time. Samples of all parts have the same fields. In
// memory, a field of one part follows that of the part before it, with room
// for the largest batch.
class JointLoader {
 public:
  // Loading begins at once. Throws when no part has data or samples differ.
  explicit JointLoader(std::vector<LoaderPart> parts);
  ~JointLoader();  // waits for samples that are being read
  JointLoader(JointLoader&&) noexcept;
  JointLoader& operator=(JointLoader&&) noexcept;

  // The next batch of every part, valid until the next call; parts without
  // data have no rows. Null when a part that does not repeat has ended. Blocks
  // until they are there. An error of a dataset is thrown at the batches it
  // belongs to, and again by every later call.
  const std::vector<Batch>* next();

 private:
  class Ring;

  std::unique_ptr<Ring> ring_;
};

}  // namespace braid::data
