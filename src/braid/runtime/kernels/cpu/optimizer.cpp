// Updates of one parameter of all members in one pass, in place where the
// plan says so.
#include <array>
#include <cstring>

#include "braid/base/error.h"
#include "braid/ops/update_kinds.h"
#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/spread.h"

namespace braid::runtime {
namespace {

constexpr int64_t kGrain = 16384;

// One call with everything looked up: B members of `count` elements each.
template <class T>
struct Update {
  UpdateLoop<T> loop = nullptr;
  UpdatePlaces<T> at;  // of member 0
  std::array<const double*, 8> values = {};
  const int64_t* steps = nullptr;
  const double *extra = nullptr, *scale = nullptr, *keep = nullptr;
  bool nesterov = false, decoupled = false;
  int64_t sets = 1, count = 0;
};

// Outputs of missing states are missing too, so they are counted along.
template <class T>
UpdatePlaces<T> places_of(const Call& c, const UpdateKind& kind) {
  UpdatePlaces<T> at{c.out(0).as<T>(), c.in(0).as<T>(), c.in(1).as<T>()};
  size_t output = 1;
  for (size_t k = 0; k < kind.states.size(); ++k) {
    if (!c.has(2 + k)) continue;
    at.s_before[k] = c.in(2 + k).as<T>();
    at.s[k] = c.out(output++).as<T>();
  }
  return at;
}

template <class T>
UpdatePlaces<T> moved(UpdatePlaces<T> at, int64_t by) {
  at.p += by;
  at.before += by;
  at.g += by;
  for (int k = 0; k < at.kMaxStates; ++k) {
    if (!at.s[k]) continue;
    at.s[k] += by;
    at.s_before[k] += by;
  }
  return at;
}

template <class T>
UpdateInputs inputs_of(const Update<T>& u, int64_t member) {
  UpdateInputs in;
  for (size_t i = 0; i < u.values.size() && u.values[i]; ++i) {
    in.value[i] = u.values[i][member];
  }
  in.step = static_cast<double>(u.steps[member] + 1);
  if (u.extra) in.extra = u.extra[member];
  if (u.scale) in.scale = u.scale[member];
  in.nesterov = u.nesterov;
  in.decoupled = u.decoupled;
  return in;
}

template <class T>
void keep_before(const UpdatePlaces<T>& at, int64_t from, int64_t to) {
  auto keep = [&](T* now, const T* before) {
    if (now && now != before) std::copy(before + from, before + to, now + from);
  };
  keep(at.p, at.before);
  for (int k = 0; k < at.kMaxStates; ++k) keep(at.s[k], at.s_before[k]);
}

template <class T>
void run_member(const Update<T>& u, int64_t member, int64_t from, int64_t to) {
  UpdatePlaces<T> at = moved(u.at, member * u.count);
  if (u.keep && u.keep[member] == 0) return keep_before(at, from, to);
  u.loop(inputs_of(u, member), at, from, to);
}

// Elements of all members are shared out alike.
template <class T>
void run(const Update<T>& u) {
  spread(u.sets * u.count, kGrain, [&](int64_t from, int64_t to) {
    for (int64_t member = from / u.count; from < to; ++member) {
      int64_t first = member * u.count, end = std::min(to, first + u.count);
      run_member(u, member, from - first, end - first);
      from = end;
    }
  });
}

void check_type(const Call& c) {
  DType dtype = c.in(0).dtype;
  if (dtype == DType::kFloat32 || dtype == DType::kFloat64) return;
  fail_usage(
      "[{}] parameters are f32 or f64, not {}\n"
      "HINT: for work in bf16 keep them in f32 and set the precision",
      c.node->op, dtype_name(dtype));
}

// The loop for the states that are there.
template <class T>
UpdateLoop<T> find_loop(const LoopsOf<T>& loops, const UpdateKind& kind,
                        const Call& c) {
  unsigned has = 0;
  for (size_t k = 0; k < kind.states.size(); ++k) {
    has |= static_cast<unsigned>(c.has(2 + k)) << k;
  }
  for (int64_t i = 0; i < loops.num_updates; ++i) {
    const UpdateRow<T>& row = loops.updates[i];
    if (row.kind == kind.name && row.has == has) return row.loop;
  }
  fail_usage("[{}] there is no update for these states", kind.op());
}

template <class T>
Run prepare(const Call& c, const UpdateKind& kind, const LoopsOf<T>& loops) {
  auto numbers = [&](size_t i) {
    return c.has(i) ? c.in(i).as<double>() : nullptr;
  };
  Update<T> u{.loop = find_loop(loops, kind, c), .at = places_of<T>(c, kind)};
  for (size_t i = 0; i < kind.values.size(); ++i) {
    u.values[i] = numbers(kind.value_input(i));
  }
  u.steps = c.in(kind.step_input()).as<int64_t>();
  if (kind.has_extra) u.extra = numbers(kind.extra_input());
  u.scale = numbers(kind.scale_input());
  u.keep = numbers(kind.keep_input());
  u.nesterov = c.attrs().flag_or("nesterov", false);
  u.decoupled = c.attrs().flag_or("decoupled", false);
  u.sets = std::max<int64_t>(c.members(), 1);
  u.count = c.out(0).numel() / u.sets;
  return [u] { run(u); };
}

template <class T>
Run prepare_squares(const Call& c, const LoopsOf<T>& loops) {
  int64_t sets = std::max<int64_t>(c.members(), 1);
  return [x = c.in(0).as<T>(), y = c.out(0).as<double>(), sets,
          count = c.in(0).numel() / sets, squares = loops.sum_squares] {
    for (int64_t b = 0; b < sets; ++b) y[b] = squares(x + b * count, count);
  };
}

}  // namespace

void add_cpu_optimizer(KernelTable& table, const Loops& loops) {
  for (const UpdateKind& kind : update_kinds()) {
    table.add(kind.op(), [loops, &kind](const Call& c) {
      check_type(c);
      return c.in(0).dtype == DType::kFloat64 ? prepare(c, kind, loops.f64)
                                              : prepare(c, kind, loops.f32);
    });
  }
  table.add(
      "sum_squares", [loops, general = table.at("sum_squares")](const Call& c) {
        bool floats = c.in(0).dtype == DType::kFloat32 ||
                      c.in(0).dtype == DType::kFloat64;
        if (!floats || !c.in(0).contiguous()) return general(c);
        return c.in(0).dtype == DType::kFloat64 ? prepare_squares(c, loops.f64)
                                                : prepare_squares(c, loops.f32);
      });
}

}  // namespace braid::runtime
