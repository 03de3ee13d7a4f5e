#include "braid/plan/profile.h"

#include <gtest/gtest.h>

#include <cmath>

namespace braid::plan {
namespace {

constexpr Measured kCall = Measured::kCall;

// Nothing as it is by default.
DeviceInfo odd_device() {
  DeviceInfo device{.id = {DeviceKind::kCuda, 0},
                    .bytes = 12345678,
                    .cores = 3,
                    .alignment = 256,
                    .shares_cores = false,
                    .has_fusion = false,
                    .has_epilogues = true,
                    .has_lowerings = false};
  device.rates = {.flops_per_s = 1.5,
                  .bytes_per_s = 2.5,
                  .to_device_bytes_per_s = 3.5,
                  .to_host_bytes_per_s = 4.5,
                  .disk_read_bytes_per_s = 5.5,
                  .disk_write_bytes_per_s = 6.5,
                  .call_s = 7.5,
                  .copy_s = 8.5,
                  .one_bus = true,
                  .compute_lost_to_copies = 0.25};
  return device;
}

TEST(Profile, KnowsWhatWasSet) {
  Profile profile;
  profile.set(Measured::kCall, "conv2d grouped", 0.25);
  EXPECT_EQ(profile.find(Measured::kCall, "conv2d grouped"), 0.25);
  EXPECT_EQ(profile.find(Measured::kCall, "conv2d"), std::nullopt);
  EXPECT_EQ(profile.find(Measured::kArray, "conv2d grouped"), std::nullopt);
  EXPECT_EQ(profile.size(Measured::kCall), 1u);
  EXPECT_EQ(profile.size(Measured::kArray), 0u);
}

TEST(Profile, TakesWhatAnotherHas) {
  Profile profile, other;
  profile.set(kCall, "a", 1);
  profile.set(kCall, "b", 2);
  other.set(kCall, "b", 3);
  other.set(kCall, "c", 4);
  other.set_device(odd_device());
  profile.add(other);
  EXPECT_EQ(profile.find(kCall, "a"), 1);
  EXPECT_EQ(profile.find(kCall, "b"), 3);
  EXPECT_EQ(profile.find(kCall, "c"), 4);
  EXPECT_EQ(profile.device(DeviceKind::kCuda)->rates, odd_device().rates);
  EXPECT_EQ(profile.device(DeviceKind::kCpu), nullptr);
}

TEST(Profile, ComesBackFromItsText) {
  Profile profile;
  profile.set(kCall, "a \"quoted\" key", 1.0 / 3);
  profile.set(Measured::kWorkspace, "zero", 0);
  profile.set_device(odd_device());
  EXPECT_EQ(Profile::parse(profile.text()), profile);
}

// Files in which only the form of a key told what it was of.
TEST(Profile, ReadsTheFirstForm) {
  Profile profile = Profile::parse(R"({"seconds": {
    "array step 0123 members=4 shared": 0.5,
    "cpu threads=2 conv2d members=4 grouped": 0.25}})");
  EXPECT_EQ(profile.find(Measured::kArray, "array step 0123 members=4 shared"),
            0.5);
  EXPECT_EQ(profile.find(Measured::kLowering,
                         "cpu threads=2 conv2d members=4 grouped"),
            0.25);
}

TEST(Profile, RefusesWhatIsNoTime) {
  Profile profile;
  EXPECT_THROW(profile.set(kCall, "key", -1), std::runtime_error);
  EXPECT_THROW(profile.set(kCall, "key", NAN), std::runtime_error);
  for (const char* text :
       {"", "{}", "[]", R"({"seconds": {"a": "b"}})",
        R"({"seconds": {"a": -1}})", R"({"seconds": 3})", R"({"version": 3})",
        R"({"version": 2, "calls": {"a": "b"}})",
        R"({"version": 2, "calls": {"a": -1}})",
        R"({"version": 2, "others": {}})", R"({"version": 2, "devices": 1})",
        R"({"version": 2, "devices": {"cpu": {}}})",
        R"({"version": 2, "devices": {"tpu": {}}})"}) {
    EXPECT_THROW(Profile::parse(text), std::runtime_error) << text;
  }
  // No rate by which something would be divided is 0.
  profile.set_device(odd_device());
  std::string good = profile.text(), key = "\"flops_per_s\": ";
  size_t begin = good.find(key) + key.size();
  std::string bad = good.substr(0, begin) + "0" +
                    good.substr(good.find_first_of(",\n", begin));
  EXPECT_NO_THROW(Profile::parse(good));
  EXPECT_THROW(Profile::parse(bad), std::runtime_error);
}

}  // namespace
}  // namespace braid::plan
