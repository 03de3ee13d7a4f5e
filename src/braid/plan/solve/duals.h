// Duals: what proves a lower bound. A flow through the events of a step, from
// its begin to its end, and prices of bytes: for any of them
//
//   bound = sum over segments of the least, over its rows, of
//             (times weighted by the flow + bytes weighted by the prices)
//           - device limit * sum of prices - host limit * host price
//
// is at most the time of any plan of that depth and those rows that keeps the
// limits. Flow and prices are whole numbers, so the bound can be checked
// without rounding.
#pragma once

#include <cstdint>
#include <vector>

#include "braid/plan/solve/event_graph.h"
#include "braid/plan/solve/rows.h"

namespace braid::plan {

// One unit of flow, and one ns per byte.
inline constexpr int64_t kDualOne = int64_t{1} << 32;
// The most that all prices may sum up to.
inline constexpr int64_t kMostPrice = int64_t{1} << 61;

struct FlowArc {
  Event from, to;
  int64_t flow = 0;  // of kDualOne
};

struct Duals {
  int depth = 0;
  std::vector<FlowArc> arcs = {};    // those with flow
  std::vector<int64_t> prices = {};  // per byte in each slot, of kDualOne
  int64_t host_price = 0;
};

// The bound in ns, rounded up; below 0 when it says nothing. Throws
// DefectError when the arcs are no flow through the events of such steps.
int64_t lower_bound(const Instance& instance, const Rows& rows,
                    const Duals& duals);

// The same before rounding, of kDualOne.
__int128 scaled_bound(const Instance& instance, const Rows& rows,
                      const Duals& duals);

// What a row adds to the bound, of kDualOne, for all rows of all segments.
std::vector<std::vector<__int128>> row_costs(const Instance& instance,
                                             const Duals& duals);

// The least of those of some rows.
__int128 least_cost(const std::vector<__int128>& costs,
                    const std::vector<int32_t>& rows);

// Which part of the flow passes each time of kTimeFields, by segment.
std::vector<std::array<double, kTimeFields.size()>> flow_weights(
    const Instance& instance, const Duals& duals);

// A flow as shares: of what passes node v, shares[v][k] came from before[k].
using Shares = std::vector<std::array<double, EventGraph::kMostBefore>>;

// Whole-number duals near given ones. Prices in ns per byte.
Duals whole_duals(const EventGraph& graph, int depth, const Shares& shares,
                  const std::vector<double>& prices, double host_price);

}  // namespace braid::plan
