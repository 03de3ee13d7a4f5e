#include "braid/base/device.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace braid {
namespace {

TEST(Device, NamesReadBack) {
  for (DeviceId id :
       {DeviceId{}, DeviceId{DeviceKind::kCpu, 3},
        DeviceId{DeviceKind::kCuda, 0}, DeviceId{DeviceKind::kCuda, 12}}) {
    EXPECT_EQ(parse_device(device_text(id)), id);
  }
  EXPECT_EQ(device_text({}), "cpu");
  EXPECT_EQ(device_text({DeviceKind::kCpu, 1}), "cpu:1");
}

TEST(Device, AKindAloneIsItsFirst) {
  EXPECT_EQ(parse_device("cpu"), (DeviceId{DeviceKind::kCpu, 0}));
  EXPECT_EQ(parse_device("cpu:0"), (DeviceId{DeviceKind::kCpu, 0}));
  EXPECT_EQ(parse_device("cuda"), (DeviceId{DeviceKind::kCuda, 0}));
}

TEST(Device, RefusesOtherNames) {
  for (const char* text : {"", "gpu", "cuda:", "cuda:x", "cpu:-1", "cpu:1.5",
                           "cuda:1234", "CPU", "cpu 1", "cuda:0 "}) {
    EXPECT_THROW(parse_device(text), std::invalid_argument) << text;
  }
}

}  // namespace
}  // namespace braid
