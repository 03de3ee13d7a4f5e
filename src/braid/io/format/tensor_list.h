// TensorList: tensors together with their bytes, ready to be written.
#pragma once

#include <deque>
#include <string>
#include <vector>

#include "braid/graph/graph.h"
#include "braid/io/format/safetensors.h"

namespace braid::io {

// Moves but does not copy: the tensors borrow from the storage beside them.
class TensorList {
 public:
  TensorList() = default;
  TensorList(TensorList&&) = default;
  TensorList& operator=(TensorList&&) = default;

  void add(const std::string& name, DType dtype, Shape shape,
           std::vector<std::byte> bytes);
  // The same bytes under all names of a slot.
  void add_slot(const Slot& slot, Shape shape, std::vector<std::byte> bytes);

  // Owned by this object.
  const std::vector<TensorBytes>& tensors() const { return tensors_; }

 private:
  std::deque<std::vector<std::byte>> storage_;
  std::vector<TensorBytes> tensors_;
};

}  // namespace braid::io
