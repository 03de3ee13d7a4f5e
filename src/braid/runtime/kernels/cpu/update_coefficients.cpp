#include "braid/runtime/kernels/cpu/update_coefficients.h"

#include <cstring>

namespace braid::runtime {

SharedCoefficients::SharedCoefficients(const UpdateNumbers& numbers)
    : numbers_(numbers) {
  for (const double* value : numbers.values) {
    if (value) sources_.push_back(value);
  }
  sources_.push_back(numbers.steps);
  if (numbers.extra) sources_.push_back(numbers.extra);
}

const UpdateCoefficients* SharedCoefficients::now() {
  if (made_.empty() || is_changed()) read();
  return made_.data();
}

bool SharedCoefficients::is_changed() const {
  for (size_t i = 0; i < sources_.size(); ++i) {
    if (std::memcmp(sources_[i], seen_[i].data(), seen_[i].size()) != 0) {
      return true;
    }
  }
  return false;
}

void SharedCoefficients::read() {
  auto count = static_cast<size_t>(numbers_.members);
  seen_.resize(sources_.size());
  for (size_t i = 0; i < sources_.size(); ++i) {
    seen_[i].resize(count * sizeof(double));
    std::memcpy(seen_[i].data(), sources_[i], seen_[i].size());
  }
  made_.resize(count);
  for (size_t b = 0; b < count; ++b) {
    made_[b] = numbers_.make(inputs_of(static_cast<int64_t>(b)));
  }
}

UpdateInputs SharedCoefficients::inputs_of(int64_t member) const {
  UpdateInputs in;
  for (size_t i = 0; i < numbers_.values.size() && numbers_.values[i]; ++i) {
    in.value[i] = numbers_.values[i][member];
  }
  in.step = static_cast<double>(numbers_.steps[member] + 1);
  if (numbers_.extra) in.extra = numbers_.extra[member];
  in.nesterov = numbers_.nesterov;
  in.decoupled = numbers_.decoupled;
  return in;
}

std::shared_ptr<SharedCoefficients> CoefficientTable::find(
    const UpdateNumbers& numbers) {
  std::lock_guard lock(mutex_);
  std::erase_if(entries_, [](const Entry& e) { return e.shared.expired(); });
  for (const Entry& entry : entries_) {
    auto shared = entry.shared.lock();
    if (shared && entry.numbers == numbers) return shared;
  }
  auto shared = std::make_shared<SharedCoefficients>(numbers);
  entries_.push_back({numbers, shared});
  return shared;
}

}  // namespace braid::runtime
