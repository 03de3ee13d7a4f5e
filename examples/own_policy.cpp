// A policy of one's own on a cluster that exists on paper: the job goes first
// that can wait the least, its deadline less the work that is left. Of 600 jobs
// with deadlines 38 end late, 60 with the earliest deadline first and 222 in
// the order of arrival.
//   own_policy [JOBS]
#include <fmt/format.h>

#include <cstdlib>

#include "braid/braid.h"

using namespace braid;

class LeastSlack : public schedule::Policy {
 public:
  double key(const schedule::JobView& view) const override {
    return static_cast<double>(view.job->deadline_ns - view.left_ns);
  }
};

int main(int argc, char** argv) {
  schedule::Cluster cluster;
  cluster.devices = {{.name = "big", .count = 16},
                     {.name = "small", .count = 24, .speed = 0.5}};
  schedule::LoadConfig load{
      .jobs = argc > 1 ? std::atoll(argv[1]) : 600, .seed = 2, .hours = 8};
  std::vector<schedule::Job> jobs = schedule::draw_jobs(load, 8);
  auto tell = [&](const char* name, const schedule::Policy& policy) {
    schedule::Outcome outcome =
        schedule::simulate_cluster(jobs, cluster, policy);
    fmt::print("{} {}\n", name, schedule::num_late(jobs, outcome));
  };
  tell("least_slack", LeastSlack());
  for (const char* name : {"deadline", "fifo"}) {
    tell(name, *schedule::make_policy(name));
  }
}
