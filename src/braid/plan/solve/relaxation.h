// Relaxation: rows in fractions, one depth. It finds fractions whose time is
// low and duals whose bound is high, by descent on a smoothed objective: the
// most of several numbers becomes a soft one, and bytes above the limit cost.
//
// The derivative of the smoothed time by all durations is a flow through the
// events, that of the cost of bytes are prices: every step of the descent
// yields duals, and averages of duals are duals. Doubles throughout; what they
// say is checked in whole numbers by lower_bound().
#pragma once

#include <array>
#include <vector>

#include "braid/plan/solve/duals.h"
#include "braid/plan/solve/event_graph.h"
#include "braid/plan/solve/rows.h"

namespace braid::plan {

class Relaxation {
 public:
  // Borrows the instance and the rows.
  Relaxation(const Instance& instance, const Rows& rows, int depth);

  // So many steps of descent, from where the last ones ended.
  void run(int64_t steps);

  // Begins with the fractions and prices of another depth.
  void start_from(const Relaxation& other);

  // Above this bound nobody asks for more.
  void set_target(double time_ns) { target_ = time_ns; }

  int depth() const { return depth_; }
  double bound() const { return best_bound_; }
  Duals duals() const;  // of that bound
  double price_sum() const;
  double host_price() const { return best_.host_price; }
  // Of row rows[i][k]; those of a segment sum up to 1.
  std::vector<std::vector<double>> fractions() const;

 private:
  // Numbers of a row or of a segment, as kTimeFields, kByteFields and host.
  static constexpr size_t kTimes = kTimeFields.size();
  static constexpr size_t kBytes = kByteFields.size();
  static constexpr size_t kHost = kTimes + kBytes;
  static constexpr size_t kFields = kHost + 1;
  using Numbers = std::array<double, kFields>;
  using Vector = std::vector<double>;

  // Duals, and what follows from them linearly.
  struct Point {
    Shares arcs = {};                   // flow into each event
    std::vector<Numbers> weights = {};  // of each segment's numbers
    Vector prices = {};
    double host_price = 0;
    double constant = 0;  // what edges cost, less what the limits are worth
  };

  void take_fractions(const Relaxation& other, size_t i);
  void descend(int64_t steps);
  bool step(double* theta, Vector& z, Point& mean, double* last);
  void next_z(const Vector& z, double rate, Vector& made, double* distance);
  void mix(const Vector& fractions);
  double value();        // smoothed, of what is mixed
  double time_value();   // fills value_ and share_
  double bytes_value();  // fills the prices of point_
  double soft_limit(double over, double softness, double* slope) const;
  void find_duals();  // point_ from the last value()
  void find_weights();
  void adapt_costs();
  double bound_of(const Point& point, Vector* costs) const;
  double bound_between(const Point& a, const Point& b, double share) const;
  void offer(const Point& point);
  void join(const Point& point);
  void scale_prices();
  static void average(Point& mean, const Point& point, double share);
  void spread(Vector& fractions, double share) const;

  const Instance& instance_;
  const Rows& rows_;
  int depth_, n_, slots_;
  EventGraph graph_;
  std::vector<int32_t> field_of_node_;  // in mixed_ as one row; -1: none
  std::vector<size_t> begin_;           // of each segment in numbers_
  std::vector<Numbers> numbers_;        // of all rows
  Vector edge_bytes_;                   // in each slot
  double device_limit_, host_limit_;
  bool is_limited_ = false, is_host_limited_ = false;
  double slot_ns_ = 1;  // a typical one

  double tau_ = 1;                   // softness, in ns
  double cost_ = 0, host_cost_ = 0;  // most that prices may sum up to
  double first_cost_ = 0, first_host_cost_ = 0;
  int since_adapted_ = 0;
  bool has_run_ = false;
  double price_use_ = 0, host_use_ = 0;  // how much of that they do
  double rate_ = 0;                      // 1 / length of a step
  std::vector<Numbers> mixed_;
  Vector value_, mem_, costs_, y_, x_, new_x_, new_z_;
  Shares share_;
  Point point_, best_;
  double best_bound_ = -1e300, target_ = 1e300;
};

}  // namespace braid::plan
