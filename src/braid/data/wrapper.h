// Wrapper: a dataset made of another, sample by sample.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "braid/data/dataset.h"

namespace braid::data {

// Sample i is made of sample i of the inner dataset; what is not about its
// values goes there.
class Wrapper : public Dataset {
 public:
  std::string place(size_t field, int64_t index) const override {
    return inner_->place(field, index);
  }
  void prepare(std::span<const int64_t> indices,
               const Draw& draw) const override {
    inner_->prepare(indices, draw);
  }
  void prepare_range(int64_t first, int64_t count) const override {
    inner_->prepare_range(first, count);
  }
  int64_t reach() const override { return inner_->reach(); }
  void check() const override { inner_->check(); }

 protected:
  Wrapper(DatasetPtr inner, std::vector<Field> fields, int64_t size)
      : Dataset(inner->name(), std::move(fields), size),
        inner_(std::move(inner)) {}

  const Dataset& inner() const { return *inner_; }

 private:
  DatasetPtr inner_;
};

}  // namespace braid::data
