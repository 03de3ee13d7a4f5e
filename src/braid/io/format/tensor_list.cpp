#include "braid/io/format/tensor_list.h"

#include <utility>

namespace braid::io {

void TensorList::add(const std::string& name, DType dtype, Shape shape,
                     std::vector<std::byte> bytes) {
  storage_.push_back(std::move(bytes));
  tensors_.push_back({name, dtype, std::move(shape), storage_.back()});
}

void TensorList::add_slot(const Slot& slot, Shape shape,
                          std::vector<std::byte> bytes) {
  add(slot.name, slot.dtype, std::move(shape), std::move(bytes));
  for (const std::string& alias : slot.aliases) {
    TensorBytes tensor = tensors_.back();
    tensor.name = alias;
    tensors_.push_back(std::move(tensor));
  }
}

}  // namespace braid::io
