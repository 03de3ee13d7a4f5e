// Instance: a planning problem as bare numbers. Every way to run a segment is
// one row of times and bytes (a mode); a plan chooses one row per segment and
// one depth. Solvers see nothing else, so a new kind of decision is a new row.
//
// A step is 2n slots for n segments: slot i is the forward part of segment i,
// slot 2n-1-i its backward part. Times are ns, sizes bytes, both whole numbers.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "braid/base/bytes.h"

namespace braid::plan {

struct Mode {
  std::string name = {};
  int64_t f = 0, b = 0;    // compute in the forward and the backward slot
  int64_t hf = 0, hb = 0;  // host to device before each
  int64_t of = 0, ob = 0;  // device to host after each
  int64_t u = 0;           // update on the host, after ob
  int64_t gf = 0, gb = 0;  // gather between ranks before each slot
  int64_t rb = 0;          // reduce-scatter after the backward slot
  int64_t res = 0;         // bytes all step long
  int64_t keep = 0;        // from the start of forward to the end of backward
  int64_t wf = 0, wb = 0;  // fetched: from the issue to the end of the slot
  int64_t lf = 0, lb = 0;  // leaving: from the end of the slot to the await
  int64_t xf = 0, xb = 0;  // inside the slot only
  int64_t grad = 0;        // from the end of backward to the end of the step
  int64_t host = 0;        // bytes of host memory
  bool dep = false;        // backward fetches what forward evicted
  bool operator==(const Mode&) const = default;
};

// The numbers of a mode by their names in files.
struct ModeField {
  std::string_view name;
  int64_t Mode::*at;
};

inline constexpr std::array<ModeField, 10> kTimeFields = {{
    {"f", &Mode::f},
    {"b", &Mode::b},
    {"hf", &Mode::hf},
    {"hb", &Mode::hb},
    {"of", &Mode::of},
    {"ob", &Mode::ob},
    {"u", &Mode::u},
    {"gf", &Mode::gf},
    {"gb", &Mode::gb},
    {"rb", &Mode::rb},
}};

inline constexpr std::array<ModeField, 9> kByteFields = {{
    {"res", &Mode::res},
    {"keep", &Mode::keep},
    {"wf", &Mode::wf},
    {"wb", &Mode::wb},
    {"lf", &Mode::lf},
    {"lb", &Mode::lb},
    {"xf", &Mode::xf},
    {"xb", &Mode::xb},
    {"grad", &Mode::grad},
}};

inline constexpr ModeField kHostField = {"host", &Mode::host};

struct SegmentModes {
  std::string name = {};
  std::vector<Mode> modes = {};
  bool operator==(const SegmentModes&) const = default;
};

// A value that skips segments: its bytes lie on the device from the start of
// forward `from` to the end of forward `to`, and as many as its gradient from
// the start of backward `to` to the end of backward `from`. What backward reads
// of it belongs to `keep` of the segment that made it.
struct Edge {
  int32_t from = 0, to = 0;  // from < to
  int64_t bytes = 0;
  bool operator==(const Edge&) const = default;
};

struct Instance {
  int64_t device_bytes = kNoLimit;  // 0 is a limit as any other
  int64_t host_bytes = kNoLimit;
  std::vector<int> depths = {};  // that may be chosen, rising
  std::vector<SegmentModes> segments = {};
  std::vector<Edge> edges = {};

  int num_segments() const { return static_cast<int>(segments.size()); }
  int num_slots() const { return 2 * num_segments(); }
  const Mode& mode(int segment, int32_t choice) const {
    return segments[static_cast<size_t>(segment)]
        .modes[static_cast<size_t>(choice)];
  }
  bool operator==(const Instance&) const = default;
};

// What all times of an instance, all its bytes and all its host bytes may sum
// up to, each with the largest row of every segment: no sum overflows.
inline constexpr int64_t kMostTotal = int64_t{1} << 60;

// Throws std::invalid_argument for what is no planning problem, naming the
// place: "[plan] FILE: segments[3].modes[1].f: expected ...".
void check_instance(const Instance& instance, const std::string& file);

// The JSON of an instance and back. Numbers that are 0, `dep` that is false,
// limits that there are not and edges that there are not may be left out.
// Reading checks everything and throws as check_instance().
Instance parse_instance(std::string_view text, const std::string& file);
std::string instance_text(const Instance& instance);

}  // namespace braid::plan
