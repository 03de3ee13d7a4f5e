// Coefficients of updates: what an optimizer's rule makes of the numbers of
// each member. They are the same for all parameters, and powers take longer
// than the update of a small parameter, so calls that read the same numbers
// share them: the first call of a step makes them, the others find nothing
// changed.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "braid/runtime/kernels/update_inputs.h"

namespace braid::runtime {

// Where the numbers of B members lie, and what turns them into coefficients.
struct UpdateNumbers {
  UpdateCoefficients (*make)(const UpdateInputs& in) = nullptr;
  std::array<const double*, 8> values = {};  // [B] each; null after the last
  const double* extra = nullptr;             // [B] or null
  const int64_t* steps = nullptr;            // [B]
  bool nesterov = false, decoupled = false;
  int64_t members = 1;

  bool operator==(const UpdateNumbers&) const = default;
};

// Calls that share one run one after another: they read the same memory.
class SharedCoefficients {
 public:
  explicit SharedCoefficients(const UpdateNumbers& numbers);

  // [B] coefficients of the numbers as they are now. They stay until the next
  // call. Not thread-safe.
  const UpdateCoefficients* now();

 private:
  bool is_changed() const;
  void read();
  UpdateInputs inputs_of(int64_t member) const;

  UpdateNumbers numbers_;
  std::vector<const void*> sources_;  // all arrays of B numbers of 8 bytes
  std::vector<std::vector<unsigned char>> seen_;  // their content, last time
  std::vector<UpdateCoefficients> made_;
};

// Finds the coefficients that live calls share. Thread-safe.
class CoefficientTable {
 public:
  std::shared_ptr<SharedCoefficients> find(const UpdateNumbers& numbers);

 private:
  struct Entry {
    UpdateNumbers numbers;
    std::weak_ptr<SharedCoefficients> shared;
  };
  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace braid::runtime
