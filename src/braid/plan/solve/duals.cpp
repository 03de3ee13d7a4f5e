#include "braid/plan/solve/duals.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "braid/base/error.h"
#include "braid/plan/solve/replay.h"

namespace braid::plan {
namespace {

using Wide = __int128;

int64_t key_of(const Event& event) {
  return (int64_t{event.slot} << 8) | static_cast<int64_t>(event.kind);
}

void require(bool holds, const char* what) {
  if (!holds) fail_defect("[plan.bound] {}", what);
}

// What passes each node of the graph.
std::vector<int64_t> passing(const EventGraph& graph, const Duals& duals) {
  std::map<int64_t, int32_t> node_of;
  const auto& nodes = graph.nodes();
  for (int32_t v = 0; v < graph.size(); ++v) {
    node_of[key_of(nodes[size_t(v)].event)] = v;
  }
  std::vector<int64_t> in(nodes.size(), 0), out(nodes.size(), 0);
  for (const FlowArc& arc : duals.arcs) {
    auto from = node_of.find(key_of(arc.from));
    auto to = node_of.find(key_of(arc.to));
    require(from != node_of.end() && to != node_of.end(), "an unknown event");
    const auto& node = nodes[size_t(to->second)];
    auto end = node.before.begin() + node.num_before;
    require(std::find(node.before.begin(), end, from->second) != end,
            "an arc that the graph does not have");
    require(arc.flow >= 0 && arc.flow <= kDualOne, "a flow out of range");
    in[size_t(to->second)] += arc.flow;
    out[size_t(from->second)] += arc.flow;
  }
  require(in.back() == kDualOne && in.front() == 0, "a flow that is not one");
  in.front() = out.front();
  out.back() = in.back();
  require(in == out, "a flow that is lost on the way");
  return in;
}

// Sums of prices over ranges of slots.
class PriceSums {
 public:
  explicit PriceSums(const std::vector<int64_t>& prices) : sums_{0} {
    for (int64_t price : prices) sums_.push_back(sums_.back() + price);
  }
  Wide of(int first, int last) const {
    int end = static_cast<int>(sums_.size()) - 1;
    first = std::max(first, 0);
    last = std::min(last, end - 1);
    if (first > last) return 0;
    return sums_[size_t(last) + 1] - sums_[size_t(first)];
  }
  int64_t all() const { return sums_.back(); }

 private:
  std::vector<int64_t> sums_;
};

// What a unit of each field costs a segment.
struct Weights {
  std::array<Wide, kTimeFields.size()> times = {};
  std::array<Wide, kByteFields.size()> bytes = {};  // by the order there
  Wide host = 0;

  Wide of(const Mode& mode) const {
    Wide sum = host * mode.host;
    for (size_t k = 0; k < times.size(); ++k) {
      sum += times[k] * (mode.*(kTimeFields[k].at));
    }
    for (size_t k = 0; k < bytes.size(); ++k) {
      sum += bytes[k] * (mode.*(kByteFields[k].at));
    }
    return sum;
  }
};

std::vector<Weights> weights_of(const Instance& instance, const Duals& duals) {
  int n = instance.num_segments(), slots = instance.num_slots();
  int d = duals.depth;
  require(duals.prices.size() == size_t(slots), "prices of other slots");
  Wide total = duals.host_price;
  for (int64_t price : duals.prices) {
    require(price >= 0, "a price below 0");
    total += price;
  }
  require(duals.host_price >= 0 && total <= kMostPrice, "a price too large");
  EventGraph graph(instance, d);
  std::vector<int64_t> flow = passing(graph, duals);
  std::vector<Weights> weights{size_t(n)};
  for (size_t v = 0; v < flow.size(); ++v) {
    const EventGraph::Node& node = graph.nodes()[v];
    if (node.time == EventGraph::kNoTime) continue;
    int i = segment_of_slot(node.event.slot, n);
    weights[size_t(i)].times[size_t(node.time)] += flow[v];
  }
  PriceSums prices(duals.prices);
  for (int i = 0; i < n; ++i) {
    int back = slots - 1 - i;
    weights[size_t(i)].host = duals.host_price;
    weights[size_t(i)].bytes = {prices.of(0, slots - 1),
                                prices.of(i, back),
                                prices.of(i - d, i),
                                prices.of(back - d, back),
                                prices.of(i + 1, i + d),
                                prices.of(back + 1, back + d),
                                prices.of(i, i),
                                prices.of(back, back),
                                prices.of(back + 1, slots - 1)};
  }
  return weights;
}

// What edges cost beside the rows, less what the limits are worth.
Wide constant(const Instance& instance, const Duals& duals) {
  PriceSums prices(duals.prices);
  int slots = instance.num_slots();
  Wide sum = 0;
  for (const Edge& e : instance.edges) {
    sum += e.bytes * (prices.of(e.from, e.to) +
                      prices.of(slots - 1 - e.to, slots - 1 - e.from));
  }
  return sum - Wide{instance.device_bytes} * prices.all() -
         Wide{instance.host_bytes} * duals.host_price;
}

int64_t rounded_up(Wide scaled) {
  if (scaled <= 0) return scaled == 0 ? 0 : -1;
  Wide ns = (scaled + kDualOne - 1) / kDualOne;
  return static_cast<int64_t>(std::min(ns, Wide{kNoLimit}));
}

}  // namespace

std::vector<std::vector<Wide>> row_costs(const Instance& instance,
                                         const Duals& duals) {
  std::vector<Weights> weights = weights_of(instance, duals);
  std::vector<std::vector<Wide>> costs;
  for (size_t i = 0; i < weights.size(); ++i) {
    costs.emplace_back();
    for (const Mode& mode : instance.segments[i].modes) {
      costs.back().push_back(weights[i].of(mode));
    }
  }
  return costs;
}

std::vector<std::array<double, kTimeFields.size()>> flow_weights(
    const Instance& instance, const Duals& duals) {
  std::vector<std::array<double, kTimeFields.size()>> made;
  for (const Weights& weights : weights_of(instance, duals)) {
    made.emplace_back();
    for (size_t k = 0; k < weights.times.size(); ++k) {
      made.back()[k] = static_cast<double>(weights.times[k]) / kDualOne;
    }
  }
  return made;
}

Wide least_cost(const std::vector<Wide>& costs,
                const std::vector<int32_t>& rows) {
  Wide least = costs[size_t(rows.front())];
  for (int32_t row : rows) least = std::min(least, costs[size_t(row)]);
  return least;
}

Wide scaled_bound(const Instance& instance, const Rows& rows,
                  const Duals& duals) {
  Wide sum = constant(instance, duals);
  auto costs = row_costs(instance, duals);
  for (size_t i = 0; i < rows.size(); ++i) sum += least_cost(costs[i], rows[i]);
  return sum;
}

int64_t lower_bound(const Instance& instance, const Rows& rows,
                    const Duals& duals) {
  return rounded_up(scaled_bound(instance, rows, duals));
}

Duals whole_duals(const EventGraph& graph, int depth, const Shares& shares,
                  const std::vector<double>& prices, double host_price) {
  Duals duals{.depth = depth};
  const auto& nodes = graph.nodes();
  std::vector<int64_t> flow(nodes.size(), 0);
  flow.back() = kDualOne;
  for (size_t v = nodes.size() - 1; v > 0; --v) {
    const EventGraph::Node& node = nodes[v];
    auto count = static_cast<size_t>(node.num_before);
    size_t largest = 0;
    for (size_t k = 1; k < count; ++k) {
      if (shares[v][k] > shares[v][largest]) largest = k;
    }
    int64_t rest = flow[v];
    for (size_t k = 0; k < count; ++k) {
      double share = std::clamp(shares[v][k], 0.0, 1.0);
      int64_t part =
          k == largest
              ? 0
              : std::min(rest, static_cast<int64_t>(share * double(flow[v])));
      rest -= part;
      if (part == 0) continue;
      duals.arcs.push_back(
          {nodes[size_t(node.before[k])].event, node.event, part});
      flow[size_t(node.before[k])] += part;
    }
    if (rest == 0) continue;
    duals.arcs.push_back(
        {nodes[size_t(node.before[largest])].event, node.event, rest});
    flow[size_t(node.before[largest])] += rest;
  }
  // So that they cannot sum up to more than they may.
  double most = double(kMostPrice) / double(prices.size() + 2);
  auto whole = [&](double price) {
    double scaled = std::isfinite(price) ? price * double(kDualOne) : 0;
    return static_cast<int64_t>(std::clamp(scaled, 0.0, most));
  };
  for (double price : prices) duals.prices.push_back(whole(price));
  duals.host_price = whole(host_price);
  return duals;
}

}  // namespace braid::plan
