// Keeper: owns the bytes that a dataset reads, and can say whether they are
// still those of the file.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "braid/io/file/file.h"

namespace braid::data {

// Shares an owner. Owners with a check() are asked, as are files in a list;
// memory of our own needs none.
class Keeper {
 public:
  template <class Owner>
  Keeper(std::shared_ptr<Owner> owner)  // NOLINT: any owner will do
      : check_([owner = std::move(owner)] { check_owner(*owner); }) {}

  // Throws as io::MappedFile::check().
  void check() const { check_(); }

 private:
  template <class Owner>
  static void check_owner(const Owner& owner) {
    if constexpr (requires { owner.check(); }) owner.check();
  }
  static void check_owner(const std::vector<io::MappedFile>& files) {
    for (const io::MappedFile& file : files) file.check();
  }

  std::function<void()> check_;
};

}  // namespace braid::data
