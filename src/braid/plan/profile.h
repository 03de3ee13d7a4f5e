// Profile: what was measured on real devices, in one file that every verb
// reads. Choices that depend on speed are functions of a profile, so that a
// saved one gives them again, also for a device that is not present.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "braid/plan/device.h"

namespace braid::plan {

// What a number is of, and in what.
enum class Measured {
  kArray,      // a step of an array of jobs: seconds
  kLowering,   // one way to compute a convolution of an array: seconds
  kCall,       // a call of a kernel (call_key()): seconds
  kOperator,   // all calls of an operator, as times what arithmetic says
  kWorkspace,  // scratch of a call: bytes
};

// Plain values; no file is opened here.
class Profile {
 public:
  std::optional<double> find(Measured what, std::string_view key) const;
  void set(Measured what, std::string key, double number);
  // A device with the rates that were measured on it; devices of one kind are
  // taken to be alike.
  const DeviceInfo* device(DeviceKind kind) const;
  void set_device(const DeviceInfo& device);

  void add(const Profile& other);    // what that has counts over what is here
  size_t size(Measured what) const;  // how many numbers there are of it
  bool is_empty() const { return numbers_.empty() && devices_.empty(); }
  bool operator==(const Profile&) const = default;

  // JSON, sorted by key. Reading throws std::runtime_error for anything else,
  // and for what is no finite number from 0. Files of the first form, whose
  // only section is "seconds", are read too.
  std::string text() const;
  static Profile parse(const std::string& text);

 private:
  std::map<Measured, std::map<std::string, double, std::less<>>> numbers_;
  std::map<DeviceKind, DeviceInfo> devices_;
};

}  // namespace braid::plan
