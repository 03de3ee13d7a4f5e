// Members of arrays beside the same jobs trained alone, for tests.
#pragma once

#include <cmath>
#include <cstring>

#include "braid/data/loader.h"
#include "braid/train/array/array.h"
#include "small_job.h"

namespace braid::train {

inline std::unique_ptr<runtime::Backend> open_cpu() {
  return machine().open({}, {});
}

// A job with the batches that it trains on.
struct Trainee {
  explicit Trainee(const Job& of)
      : job(&of), loader(of.data().train, of.loader_options()) {}

  // Goes on from a number of steps.
  void seek(int64_t steps) {
    loader.seek({});
    for (step = 0; step < steps; ++step) batch = loader.next();
  }

  const Job* job;
  data::Loader loader;
  const data::Batch* batch = nullptr;
  int64_t step = 0;
};

// The content of a job alone after so many steps.
inline MemberContent train_alone(const Job& job, int64_t steps) {
  auto backend = open_cpu();
  Array alone({&job}, *backend, {});
  MemberId member = alone.add(job);
  data::Loader loader(job.data().train, job.loader_options());
  for (int64_t step = 0; step < steps; ++step) {
    Array::Turn turn{member, step};
    alone.step(0, std::span(&turn, 1), {*loader.next()});
  }
  return alone.content(member);
}

// The largest difference of any slot, relative to the largest number of that
// slot. Slots that only one of them has are those of schedules.
inline double difference(const MemberContent& a, const MemberContent& b) {
  double most = 0;
  for (const auto& [name, bytes] : a) {
    auto other = b.find(name);
    if (other == b.end()) {
      if (!name.starts_with("schedule/")) return INFINITY;
      continue;
    }
    if (bytes == other->second) continue;
    if (bytes.size() != other->second.size()) return INFINITY;
    std::vector<double> x(bytes.size() / sizeof(double)), y(x.size());
    std::memcpy(x.data(), bytes.data(), bytes.size());
    std::memcpy(y.data(), other->second.data(), bytes.size());
    double scale = 1e-9, gap = 0;
    for (size_t i = 0; i < x.size(); ++i) {
      scale = std::max(scale, std::abs(y[i]));
      gap = std::max(
          gap, std::isnan(x[i] - y[i]) ? INFINITY : std::abs(x[i] - y[i]));
    }
    most = std::max(most, gap / scale);
  }
  return most;
}

// An array, and what each of its members trains on.
class LiveMembers {
 public:
  LiveMembers(std::vector<const Job*> kinds, int64_t capacity,
              compile::PlanRequest plan = {})
      : backend_(open_cpu()),
        array_(
            std::make_unique<Array>(std::move(kinds), *backend_,
                                    ArrayOptions{.form = {.capacity = capacity},
                                                 .plan = std::move(plan)})) {}

  MemberId add(const Job& job) { return join(array_->add(job), job, 0); }
  MemberId add(const Job& job, const MemberContent& content, int64_t steps) {
    return join(array_->add(job, content), job, steps);
  }
  // With initial content, to be filled from a checkpoint of so many steps.
  MemberId add(const Job& job, int64_t lane, int64_t steps) {
    return join(array_->add(job, lane), job, steps);
  }
  MemberId replace(MemberId old, const Job& job) {
    MemberId member = array_->replace(old, job);
    trainees_.erase(old);
    return join(member, job, 0);
  }
  void drop(MemberId member) {
    array_->drop(member);
    trainees_.erase(member);
  }

  // One step of every member.
  void step() {
    std::vector<data::Batch> batches(static_cast<size_t>(array_->num_lanes()));
    std::map<int64_t, std::vector<Array::Turn>> turns;  // by rows
    for (auto& [member, trainee] : trainees_) {
      const data::Batch* batch = trainee->loader.next();
      batches[static_cast<size_t>(array_->lane(member))] = *batch;
      turns[batch->rows].push_back({member, trainee->step++});
    }
    for (data::Batch& batch : batches) {
      if (batch.fields.empty()) batch = *any_batch();
    }
    for (const auto& [rows, of_rows] : turns) array_->step(0, of_rows, batches);
  }

  int64_t steps(MemberId member) const { return trainees_.at(member)->step; }
  const Job& job(MemberId member) const { return *trainees_.at(member)->job; }
  Array& array() { return *array_; }

 private:
  MemberId join(MemberId member, const Job& job, int64_t steps) {
    auto trainee = std::make_unique<Trainee>(job);
    trainee->seek(steps);
    trainees_[member] = std::move(trainee);
    return member;
  }

  // For lanes without a member, whose numbers do not count.
  const data::Batch* any_batch() {
    if (!idle_)
      idle_ = std::make_unique<Trainee>(*trainees_.begin()->second->job);
    if (!idle_->batch) idle_->batch = idle_->loader.next();
    return idle_->batch;
  }

  std::unique_ptr<runtime::Backend> backend_;
  std::unique_ptr<Array> array_;
  std::map<MemberId, std::unique_ptr<Trainee>> trainees_;
  std::unique_ptr<Trainee> idle_;
};

}  // namespace braid::train
