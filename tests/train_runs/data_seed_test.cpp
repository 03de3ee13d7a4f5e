// The order of the data has a seed of its own.
#include "small_job.h"

namespace braid::train {
namespace {

class DataSeed : public SmallJobs {
 protected:
  // Losses of a model that begins the same with every seed.
  std::vector<double> losses(const std::vector<std::string>& overrides) {
    Job job(machine(), config("model: mlp(hidden=4)\nsteps: 6\n"
                              "init: {'*.weight': constant(value=0.1), "
                              "'*.bias': constant(value=0.1)}\n",
                              overrides));
    ReportLog recorder;
    train::Run run(job, {.listener = &recorder});
    run.run();
    std::vector<double> losses;
    for (const StepReport& report : recorder.steps) {
      losses.push_back(report.networks[0].loss);
    }
    return losses;
  }
};

TEST_F(DataSeed, DecidesTheOrder) {
  EXPECT_EQ(losses({"seed=9", "data.order_seed=3"}), losses({"seed=3"}));
  EXPECT_NE(losses({"seed=9"}), losses({"seed=3"}));
  EXPECT_NE(losses({"data.order_seed=4"}), losses({"data.order_seed=3"}));
}

}  // namespace
}  // namespace braid::train
