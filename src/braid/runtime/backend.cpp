#include "braid/runtime/backend.h"

#include <utility>

namespace braid::runtime {

Memory::Memory(Backend& backend, Where where, int64_t bytes,
               const std::string& what)
    : backend_(&backend), where_(where), bytes_(bytes) {
  account().charge(bytes, what);
  try {
    data_ = where == Where::kDevice ? backend.allocate(bytes)
                                    : backend.allocate_host(bytes);
  } catch (...) {
    account().release(bytes);
    throw;
  }
}

Memory::~Memory() {
  if (!backend_) return;
  if (where_ == Where::kDevice) {
    backend_->release(data_);
  } else {
    backend_->release_host(data_);
  }
  account().release(bytes_);
}

Memory& Memory::operator=(Memory&& other) noexcept {
  std::swap(backend_, other.backend_);
  std::swap(where_, other.where_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

Account& Memory::account() const {
  return where_ == Where::kDevice ? backend_->account()
                                  : backend_->host_account();
}

}  // namespace braid::runtime
