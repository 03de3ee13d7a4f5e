// Jobs over tensors and a graph that are given: what `braid step` trains.
#include "braid/graph/text.h"
#include "small_job.h"
#include "train/small_data.h"

namespace braid::train {
namespace {

// Of one row, which is a micro-batch.
constexpr const char* kGraph = R"(braid-graph 1
slot "w" f32[2] parameter constant(0.5)
input %0 "x" f32[2]
%1: f32[2] = read "w"
%2: f32[2] = mul(%0, %1)
%3: f32[2] = mul(%2, %2)
%4: f32[] = sum(%3) {dims=[0], keep_dims=false}
output "loss" %4
)";

class GivenJobs : public testing::Test {
 protected:
  // On the rows {0, 0.5} and {1, 1.5}.
  std::unique_ptr<Job> job(double lr) const {
    JobConfig config{.data = {.shuffle = false, .order_seed = 0},
                     .steps = 3,
                     .batch_size = 2,
                     .accumulate = 2,
                     .threads = 1,
                     .log_every = 1,
                     .on_nan = "keep"};
    return std::make_unique<Job>(
        machine(), config,
        JobHooks{.train = data_,
                 .given = {{.forward = graph_,
                            .optimizer = passes::make_optimizer("sgd"),
                            .values = {{"lr", lr}}}}});
  }

  std::vector<float> weights(train::Run& run, int64_t member) const {
    const runtime::State& state = run.programs().state();
    std::vector<std::byte> bytes = state.read_member(state.find("w"), member);
    std::vector<float> numbers(2);
    std::memcpy(numbers.data(), bytes.data(), bytes.size());
    return numbers;
  }

  data::DatasetPtr data_ = std::make_shared<CountingData>(2);
  std::shared_ptr<const Graph> graph_ =
      std::make_shared<const Graph>(parse_graph(kGraph, machine().ops()));
};

TEST_F(GivenJobs, LearnFromTheMeanOfTheirRowsWithTheirOwnValues) {
  auto only = job(0.1);
  ReportLog seen;
  train::Run run(*only, {.listener = &seen, .lag = 0});
  EXPECT_EQ(run.run(), Ending::kDone);
  ASSERT_EQ(seen.steps.size(), 3);
  // By hand: gradients {0.5, 1.25} take the weights to {0.45, 0.375}.
  EXPECT_FLOAT_EQ(seen.steps[0].networks[0].loss, 0.4375);
  EXPECT_FLOAT_EQ(seen.steps[1].networks[0].loss, 0.27703125);
}

TEST_F(GivenJobs, TogetherAreAsIfAloneThoughALossIsNotFinite) {
  std::vector<std::unique_ptr<Job>> jobs;
  std::vector<RunMember> members;
  for (double lr : {0.1, 1e30, 0.2}) {
    jobs.push_back(job(lr));
    members.push_back({.name = "", .job = jobs.back().get()});
  }
  train::Run together(members, {.together = true});
  EXPECT_EQ(together.run(), Ending::kDone);
  EXPECT_EQ(together.steps_done(), 3);
  for (int64_t k : {0, 2}) {
    train::Run alone(*jobs[static_cast<size_t>(k)], {});
    alone.run();
    EXPECT_EQ(weights(together, k), weights(alone, 0));
  }
  EXPECT_FALSE(std::isfinite(weights(together, 1)[0]));
}

TEST_F(GivenJobs, TogetherCannotStepOneByOne) {
  auto a = job(0.1), b = job(0.2);
  auto backend = a->open_device();
  Array array(
      {a.get(), b.get()}, *backend,
      {.form = {.capacity = 2, .shares_batches = true, .together = true}});
  Array::Turn turn{array.add(*a), 0};
  array.add(*b);
  data::Loader loader(data_, a->loader_options());
  EXPECT_THROW(array.step(0, std::span(&turn, 1), {*loader.next()}),
               std::invalid_argument);
}

}  // namespace
}  // namespace braid::train
