#include "braid/train/jobs/job_devices.h"

#include <nlohmann/json.hpp>

#include "small_job.h"
#include "thrown.h"

namespace braid::train {
namespace {

std::string devices_text(const std::string& text) {
  std::string all;
  for (DeviceId id : parse_devices(text, DeviceKind::kCpu, machine())) {
    all += (all.empty() ? "" : " ") + device_text(id);
  }
  return all;
}

TEST(JobDevices, AreANumberOrNames) {
  EXPECT_EQ(devices_text("1"), "cpu");
  EXPECT_EQ(devices_text("3"), "cpu cpu:1 cpu:2");
  EXPECT_EQ(devices_text("cpu:0-2"), "cpu cpu:1 cpu:2");
  EXPECT_EQ(devices_text("cpu:2,cpu"), "cpu:2 cpu");
  EXPECT_EQ(devices_text("cpu:all"), "cpu");
}

TEST(JobDevices, ThatThereAreNotAreNamed) {
  for (std::string text : {"", "0", "257", "-1", "gpu:0", "cpu:", "cpu:a",
                           "cpu:2-1", "cpu:0-", "cpu,", "9999999999"}) {
    std::string error =
        thrown_by([&] { parse_devices(text, DeviceKind::kCpu, machine()); });
    EXPECT_NE(error.find("'" + text + "' names no devices"), std::string::npos)
        << error;
  }
  EXPECT_EQ(thrown_by([&] {
              parse_devices("cpu:1,cpu:0-2", DeviceKind::kCpu, machine());
            }),
            "[devices] 'cpu:1' stands there twice");
  EXPECT_EQ(
      thrown_by([&] { parse_devices("cpu:256", DeviceKind::kCpu, machine()); }),
      "[devices] there is no 'cpu:256', the last one is 'cpu:255'");
}

TEST(JobDevices, ComeBackFromTheirFile) {
  JobDevices devices{.ids = {{}, {DeviceKind::kCpu, 3}},
                     .memory_limit = 12345,
                     .at_once = 2,
                     .policy = "fair",
                     .seed = 7,
                     .quantum_s = 0.5};
  EXPECT_EQ(read_devices(devices_json(devices)), devices);
  devices.memory_limit = kNoLimit;
  EXPECT_EQ(read_devices(devices_json(devices)), devices);
}

TEST(JobDevices, WrongValuesAreNamed) {
  auto problem = [](const JobDevices& devices) {
    return thrown_by([&] { devices.validate(); });
  };
  EXPECT_NE(problem({.policy = "best"}).find("'best'"), std::string::npos);
  EXPECT_NE(problem({.at_once = 9}).find("1 to 8 jobs at once, got 9"),
            std::string::npos);
  EXPECT_NE(problem({.quantum_s = -1}).find("got -1"), std::string::npos);
  EXPECT_NE(problem({.memory_limit = 0}).find("1 byte"), std::string::npos);
  EXPECT_NE(problem({.ids = {{DeviceKind::kCuda, 0}}, .at_once = 2})
                .find("CPU devices only"),
            std::string::npos);
}

TEST(JobDevices, JobsGetTheirShare) {
  std::vector<NamedJob> jobs(2);
  jobs[1].config.threads = 3;
  jobs[1].config.memory_limit = 100;
  fit_to_devices(jobs, {.ids = {{}}, .memory_limit = 1000});
  EXPECT_EQ(jobs[0].config.threads, machine_cores());
  EXPECT_EQ(jobs[0].config.memory_limit, 1000);
  EXPECT_EQ(jobs[1].config.threads, 3);
  EXPECT_EQ(jobs[1].config.memory_limit, 100);
}

}  // namespace
}  // namespace braid::train
