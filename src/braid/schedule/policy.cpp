#include "braid/schedule/policy.h"

#include <functional>

#include "braid/base/error.h"
#include "braid/base/printable.h"
#include "braid/base/rng.h"
#include "braid/base/text.h"

namespace braid::schedule {
namespace {

double number(int64_t ns) { return static_cast<double>(ns); }

using KeyOf = double (*)(const JobView&);

class KeyPolicy : public Policy {
 public:
  explicit KeyPolicy(KeyOf key_of) : key_of_(key_of) {}
  double key(const JobView& view) const override { return key_of_(view); }

 private:
  KeyOf key_of_;
};

template <KeyOf key_of>
std::unique_ptr<Policy> make(uint64_t) {
  return std::make_unique<KeyPolicy>(key_of);
}

double longest(const JobView& view) { return -number(view.left_ns); }
double shortest(const JobView& view) { return number(view.left_ns); }
double first(const JobView& view) { return number(view.job->arrival_ns); }
double priority(const JobView& view) { return -view.job->priority; }
double least_served(const JobView& view) { return number(view.done_ns); }

// What Hydra published: time of a minibatch times those that are left, where
// the first epoch counts twice before it has begun, the time of a minibatch is
// that of all epochs over the number of the present one, and what was done of
// a minibatch does not count.
double hydra(const JobView& view) {
  const Job& job = *view.job;
  int64_t of_epoch =
      job.steps_per_epoch > 0 ? job.steps_per_epoch : job.num_steps;
  int64_t epoch = view.steps_done / of_epoch;
  int64_t in_epoch = view.steps_done % of_epoch;
  int64_t epochs = (job.num_steps + of_epoch - 1) / of_epoch;
  double step = number(job.step_ns());
  if (view.steps_done > 0) {
    auto whole_steps = number(view.steps_done) * step;
    step = whole_steps / number(in_epoch > 0 ? in_epoch : of_epoch);
  }
  int64_t epochs_after = epochs - epoch - (view.units_begun > 0 ? 1 : 0);
  return -step * number(of_epoch - in_epoch + of_epoch * epochs_after);
}

class RandomPolicy : public Policy {
 public:
  explicit RandomPolicy(uint64_t seed) : seed_(seed) {}
  double key(const JobView& view) const override {
    uint64_t drawn =
        mix_bits(mix_bits(seed_, static_cast<uint64_t>(view.number)),
                 static_cast<uint64_t>(view.units_begun));
    return unit_interval(static_cast<uint32_t>(drawn >> 32));
  }

 private:
  uint64_t seed_;
};

class DeadlinePolicy : public Policy {
 public:
  double key(const JobView& view) const override {
    return number(view.job->deadline_ns);
  }
  void check(const std::vector<Job>& jobs) const override {
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (jobs[i].deadline_ns != kNever) continue;
      fail_usage(
          "[schedule] the policy 'deadline' goes by deadlines, and job {}{} "
          "has none",
          i + 1,
          jobs[i].name.empty()
              ? ""
              : fmt::format(" ('{}')", printable(jobs[i].name, 60)));
    }
  }
};

}  // namespace

const std::vector<PolicyKind>& policies() {
  static const std::vector<PolicyKind> kinds = {
      {"lrtf", "most work left first: all end as soon as can be",
       make<longest>},
      {"srtf", "least work left first: first results soon", make<shortest>},
      {"fifo", "in the order of arrival", make<first>},
      {"priority", "the highest priority first", make<priority>},
      {"deadline", "the earliest deadline first",
       [](uint64_t) -> std::unique_ptr<Policy> {
         return std::make_unique<DeadlinePolicy>();
       }},
      {"fair", "who had least so far goes first", make<least_served>},
      {"random", "drawn anew for every unit",
       [](uint64_t seed) -> std::unique_ptr<Policy> {
         return std::make_unique<RandomPolicy>(seed);
       }},
      {"hydra", "lrtf as Hydra published it, with its mistakes", make<hydra>},
  };
  return kinds;
}

std::unique_ptr<Policy> make_policy(std::string_view name, uint64_t seed) {
  std::vector<std::string> names;
  for (const PolicyKind& kind : policies()) {
    if (kind.name == name) return kind.make(seed);
    names.emplace_back(kind.name);
  }
  fail_usage("[schedule] there is no policy '{}'\nHINT: {}",
             printable(name, 60), name_hint(name, names));
}

}  // namespace braid::schedule
