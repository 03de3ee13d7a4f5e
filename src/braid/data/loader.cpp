#include "braid/data/loader.h"

#include <utility>

#include "braid/base/error.h"
#include "braid/data/batch_plan.h"
#include "braid/data/joint_loader.h"

namespace braid::data {
namespace {

void check_least(std::string_view name, int64_t value, int64_t least) {
  if (value >= least) return;
  fail_usage("[loader] expected {} of {} or more, got {}", name, least, value);
}

}  // namespace

void LoaderOptions::validate() const {
  check_least("a batch_size", batch_size, 1);
  check_least("a shuffle_block", shuffle_block, 0);
  check_least("a shuffle_window", shuffle_window, 1);
  check_least("prefetch", prefetch, 1);
  check_least("threads", threads, 1);
}

Loader::Loader(DatasetPtr dataset, LoaderOptions options)
    : dataset_(std::move(dataset)), options_(options) {
  options_.validate();
  if (options_.drop_last && options_.batch_size > dataset_->size()) {
    fail_usage(
        "[loader] expected a batch_size of at most {}, got {} ({})\n"
        "HINT: with drop_last a batch larger than the data leaves nothing; "
        "take a smaller one or drop_last: false",
        dataset_->size(), options_.batch_size, dataset_->name());
  }
}

Loader::~Loader() = default;
Loader::Loader(Loader&&) noexcept = default;
Loader& Loader::operator=(Loader&&) noexcept = default;

void Loader::seek(Position position) {
  if (position.epoch < 0 || position.sample < 0 ||
      position.sample > dataset_->size()) {
    fail_usage(
        "[loader.seek] expected a sample from 0 to {}, got {} of epoch {} ({})",
        dataset_->size(), position.sample, position.epoch, dataset_->name());
  }
  run_.reset();
  start_ = position;
}

const Batch* Loader::next() {
  if (!run_) {
    std::vector<LoaderPart> parts{{dataset_, options_, start_}};
    run_ = std::make_unique<JointLoader>(std::move(parts));
  }
  const std::vector<Batch>* batches = run_->next();
  return batches ? batches->data() : nullptr;
}

int64_t Loader::batches_per_epoch() const {
  return num_batches(dataset_->size(), options_);
}

int64_t Loader::rows_of_last() const {
  int64_t rest = dataset_->size() % options_.batch_size;
  return rest == 0 || options_.drop_last ? options_.batch_size : rest;
}

}  // namespace braid::data
