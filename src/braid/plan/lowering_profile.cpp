#include "braid/plan/lowering_profile.h"

#include <limits>

#include "fmt/format.h"

namespace braid::plan {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

bool is_cpu(const std::string& device) { return device.starts_with("cpu"); }

// Devices of one kind have one profile.
std::string kind_of(const std::string& device) {
  return device.substr(0, device.find(':'));
}

struct Seconds {
  Profile profile;
  std::string device;
  int threads;

  std::optional<double> measured(const NodeView& one, int64_t members,
                                 Lowering lowering) const {
    return profile.find(lowering_key(device, threads, one, members, lowering));
  }

  bool knows(const NodeView& one, int64_t members) const {
    for (Lowering lowering : lowerings_of(one)) {
      if (measured(one, members, lowering)) return true;
    }
    return false;
  }

  double operator()(const NodeView& one, int64_t members,
                    Lowering lowering) const {
    if (knows(one, members)) {
      return measured(one, members, lowering).value_or(kNever);
    }
    bool allowed = is_cpu(device) || lowering == Lowering::kGrouped;
    if (!allowed) return kNever;
    return braid::lowering_seconds(one, members, lowering, threads);
  }
};

}  // namespace

std::string lowering_key(const std::string& device, int threads,
                         const NodeView& one, int64_t members,
                         Lowering lowering) {
  return fmt::format("{} threads={} {} members={} {}", kind_of(device), threads,
                     convolution_text(one), members, lowering_name(lowering));
}

passes::LoweringSeconds lowering_seconds(Profile profile, std::string device,
                                         int threads) {
  return Seconds{std::move(profile), std::move(device), threads};
}

}  // namespace braid::plan
