#include "braid/plan/lowering_profile.h"

#include <limits>

#include "fmt/format.h"

namespace braid::plan {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

struct Seconds {
  Profile profile;
  DeviceKind device;
  bool has_formula;
  int threads;

  std::optional<double> measured(const NodeView& one, int64_t members,
                                 Lowering lowering) const {
    return profile.find(Measured::kLowering,
                        lowering_key(device, threads, one, members, lowering));
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
    // Where no formula is known, members side by side are never far from best.
    bool allowed = has_formula || lowering == Lowering::kMember;
    if (!allowed) return kNever;
    return braid::lowering_seconds(one, members, lowering, threads);
  }
};

}  // namespace

// Devices of one kind have one profile.
std::string lowering_key(DeviceKind device, int threads, const NodeView& one,
                         int64_t members, Lowering lowering) {
  return fmt::format("{} threads={} {} members={} {}", kind_name(device),
                     threads, convolution_text(one), members,
                     lowering_name(lowering));
}

passes::LoweringSeconds lowering_seconds(Profile profile,
                                         const DeviceInfo& device,
                                         int threads) {
  return Seconds{std::move(profile), device.id.kind, device.has_lowerings,
                 threads};
}

}  // namespace braid::plan
