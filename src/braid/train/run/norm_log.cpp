#include "braid/train/run/norm_log.h"

#include <cmath>

#include "braid/base/narrow_float.h"
#include "braid/base/text.h"

namespace braid::train {
namespace {

double sum_of_squares(std::span<const std::byte> bytes, DType dtype) {
  double sum = 0;
  auto item = static_cast<size_t>(item_bytes(dtype));
  for (size_t i = 0; i < bytes.size(); i += item) {
    double number = number_at(bytes.data() + i, dtype);
    sum += number * number;
  }
  return sum;
}

// "conv1.weight" -> "conv1"
std::string layer_of(const std::string& name) {
  return name.substr(0, name.rfind('.'));
}

// Sums of squares under the names that they are logged by, in order.
class NormTable {
 public:
  explicit NormTable(const NormsConfig& config) : of_(config.of) {}

  void add(const std::string& parameter, double squares) {
    all_ += squares;
    for (const std::string& pattern : of_) {
      if (pattern == kLayers) {
        by_layer_[layer_of(parameter)] += squares;
      } else if (fits_pattern(parameter, pattern)) {
        by_pattern_[pattern] += squares;
      }
    }
  }

  void write(const std::string& name, io::Scalars& values) const {
    values.emplace_back(name, std::sqrt(all_));
    for (const std::string& pattern : of_) {
      auto found = by_pattern_.find(pattern);
      if (found == by_pattern_.end()) continue;
      values.emplace_back(name + "/" + pattern, std::sqrt(found->second));
    }
    for (const auto& [layer, squares] : by_layer_) {
      // A pattern may be the name of a layer, and says the same then.
      if (by_pattern_.contains(layer)) continue;
      values.emplace_back(name + "/" + layer, std::sqrt(squares));
    }
  }

 private:
  std::vector<std::string> of_;
  double all_ = 0;
  std::map<std::string, double> by_pattern_, by_layer_;
};

}  // namespace

void NormLog::watch(Array& array, size_t phase,
                    const std::vector<Array::Turn>& turns) {
  for (const Array::Turn& turn : turns) gradients_[turn.member][phase].clear();
  array.tap_gradients([this, &array, phase, turns](
                          SlotId parameter, std::span<const std::byte> bytes) {
    add(array, phase, turns, parameter, bytes);
  });
}

void NormLog::stop(Array& array) { array.tap_gradients({}); }

// Gradients of an array lie one member after the other; a slot of one member
// alone has only its own.
void NormLog::add(const Array& array, size_t phase,
                  const std::vector<Array::Turn>& turns, SlotId parameter,
                  std::span<const std::byte> bytes) {
  const Slot& slot = array.state().slots()[static_cast<size_t>(parameter)];
  bool is_common = slot.owner() == kAllMembers;
  auto lanes = static_cast<size_t>(is_common ? array.num_lanes() : 1);
  size_t size = bytes.size() / lanes;
  for (const Array::Turn& turn : turns) {
    int64_t lane = array.lane(turn.member);
    if (!slot.belongs_to(lane)) continue;
    size_t begin = is_common ? static_cast<size_t>(lane) * size : 0;
    gradients_[turn.member][phase][parameter] = {
        slot.own_name(),
        sum_of_squares(bytes.subspan(begin, size), slot.dtype)};
  }
}

io::Scalars NormLog::take(const MemberRun& member, const Array& array) {
  io::Scalars values;
  const JobModel& model = member.job().model();
  for (const auto& [phase, gradients] : gradients_[member.member]) {
    NormTable of_gradients(member.job().config().log_norms);
    NormTable of_weights(member.job().config().log_norms);
    for (const auto& [parameter, gradient] : gradients) {
      const Slot& slot = array.state().slots()[static_cast<size_t>(parameter)];
      of_gradients.add(gradient.name, gradient.squares);
      of_weights.add(gradient.name,
                     sum_of_squares(array.state().read_member(
                                        parameter, array.lane(member.member)),
                                    slot.dtype));
    }
    std::string prefix = model.networks()[model.phases()[phase].network].name;
    if (!prefix.empty()) prefix += "/";
    of_gradients.write(prefix + "grad_norm", values);
    of_weights.write(prefix + "weight_norm", values);
  }
  gradients_.erase(member.member);
  return values;
}

}  // namespace braid::train
