// An array whose members come and go while it trains: LeNets with different
// learning rates. The worst makes place for another, and in the end the best
// goes on alone. Prints the last loss of each; that of "alone" is below 0.5.
//   live_array [STEPS]
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "braid/braid.h"

using namespace braid;
using Steps = std::map<train::MemberId, int64_t>;  // done by each member

train::JobConfig lenet(const std::string& rate) {
  train::JobConfig job;
  job.model = "lenet";
  job.data = {.source = "glyphs", .options = {{"count", "2000"}}};
  job.optimizer.values = {{"lr", rate}};
  job.batch_size = 32;
  job.drop_last = true;
  job.steps = 1000;
  return job;
}

// Every member does so many steps, all on the same batches.
void advance(train::Array& array, data::Loader& loader, Steps& done,
             int64_t steps) {
  for (int64_t i = 0; i < steps; ++i) {
    std::vector<train::Array::Turn> turns;
    for (train::MemberId member : array.members()) {
      turns.push_back({.member = member, .step = done[member]++});
    }
    array.step(0, turns, {*loader.next()});
  }
}

int main(int argc, char** argv) {
  int64_t steps = argc > 1 ? std::stoll(argv[1]) : 60;
  auto machine = runtime::this_machine();
  train::Job slow(*machine, lenet("1e-5")), good(*machine, lenet("1e-3")),
      better(*machine, lenet("2e-3")), late(*machine, lenet("3e-3"));
  auto device = good.open_device();

  train::Array array({&slow, &good, &better}, *device,
                     {.form = {.capacity = 3, .shares_batches = true}});
  for (const train::Job* job : {&slow, &good, &better}) array.add(*job);
  data::Loader loader(good.data().train, good.loader_options());
  Steps done;
  advance(array, loader, done, steps);

  std::vector<train::MemberId> members = array.members();
  auto loss = [&](train::MemberId member) { return array.loss(0, member); };
  array.replace(std::ranges::max(members, {}, loss), late);
  advance(array, loader, done, steps);
  for (train::MemberId member : array.members()) {
    fmt::print("member-{} {:.4f}\n", member, loss(member));
  }

  train::MemberId best = std::ranges::min(array.members(), {}, loss);
  const train::Job& job = array.job(best);
  train::Array alone({&job}, *device, {});
  train::MemberId split = alone.add(job, array.content(best));
  array.drop(best);
  Steps done_alone = {{split, done[best]}};
  advance(alone, loader, done_alone, steps);
  fmt::print("alone {:.4f}\n", alone.loss(0, split));
}
