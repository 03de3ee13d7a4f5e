// Updates of one parameter of all members in one pass, in place where the
// plan says so.
#include <algorithm>
#include <array>
#include <memory>

#include "braid/base/error.h"
#include "braid/base/narrow_float.h"
#include "braid/ops/core/update_kinds.h"
#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/parallel_for.h"
#include "braid/runtime/kernels/cpu/update_coefficients.h"

namespace braid::runtime {
namespace {

constexpr int64_t kGrain = 16384;

// One call with everything looked up: B members of `count` elements each.
template <class T>
struct Update {
  UpdateLoop<T> loop = nullptr;
  UpdatePlaces<T> at;                // of member 0
  const uint16_t* narrow = nullptr;  // the gradient in bf16, or null
  std::shared_ptr<SharedCoefficients> coefficients = {};
  const double *scale = nullptr, *keep = nullptr;
  int64_t sets = 1, count = 0;
};

// Outputs of missing states are missing too, so they are counted along.
template <class T>
UpdatePlaces<T> places_of(const Call& c, const UpdateKind& kind) {
  UpdatePlaces<T> at{c.out(0).as<T>(), c.in(0).as<T>()};
  if (c.in(1).dtype == c.in(0).dtype) at.g = c.in(1).as<T>();
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
  if (at.g) at.g += by;
  for (int k = 0; k < at.kMaxStates; ++k) {
    if (!at.s[k]) continue;
    at.s[k] += by;
    at.s_before[k] += by;
  }
  return at;
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
void run_member(const Update<T>& u, const UpdateCoefficients& rule,
                int64_t member, int64_t from, int64_t to) {
  UpdatePlaces<T> at = moved(u.at, member * u.count);
  if (u.keep && u.keep[member] == 0) return keep_before(at, from, to);
  T scale = u.scale ? static_cast<T>(u.scale[member]) : T(1);
  if (!u.narrow) return u.loop(rule, scale, at, from, to);
  constexpr int64_t kPiece = 1024;
  std::array<T, kPiece> wide;
  const uint16_t* gradient = u.narrow + member * u.count;
  for (; from < to; from += kPiece) {
    int64_t count = std::min(kPiece, to - from);
    for (int64_t i = 0; i < count; ++i) {
      wide[static_cast<size_t>(i)] =
          static_cast<T>(bf16_value(gradient[from + i]));
    }
    UpdatePlaces<T> here = moved(at, from);
    here.g = wide.data();
    u.loop(rule, scale, here, 0, count);
  }
}

// Elements of all members are shared out alike.
template <class T>
void run(const Update<T>& u) {
  const UpdateCoefficients* rules = u.coefficients->now();
  parallel_for(u.sets * u.count, kGrain, [&](int64_t from, int64_t to) {
    for (int64_t member = from / u.count; from < to; ++member) {
      int64_t first = member * u.count, end = std::min(to, first + u.count);
      run_member(u, rules[member], member, from - first, end - first);
      from = end;
    }
  });
}

void check_type(const Call& c) {
  DType dtype = c.in(0).dtype;
  if (has_loops(dtype)) return;
  fail_usage(
      "[{}] parameters are f32 or f64, not {}\n"
      "HINT: for work in bf16 keep them in f32 and set the precision",
      c.node->op->name, dtype_name(dtype));
}

// The row for the states that are there.
template <class T>
const UpdateRow<T>& find_row(const LoopsOf<T>& loops, const UpdateKind& kind,
                             const Call& c) {
  unsigned has = 0;
  for (size_t k = 0; k < kind.states.size(); ++k) {
    has |= static_cast<unsigned>(c.has(2 + k)) << k;
  }
  for (int64_t i = 0; i < loops.num_updates; ++i) {
    const UpdateRow<T>& row = loops.updates[i];
    if (row.kind == kind.name && row.has == has) return row;
  }
  fail_usage("[{}] there is no update for these states", kind.op());
}

const double* numbers_at(const Call& c, size_t i) {
  return c.has(i) ? c.in(i).as<double>() : nullptr;
}

template <class T>
UpdateNumbers numbers_of(const Call& c, const UpdateKind& kind,
                         const UpdateRow<T>& row) {
  UpdateNumbers numbers{.make = row.make};
  for (size_t i = 0; i < kind.values.size(); ++i) {
    numbers.values[i] = numbers_at(c, kind.value_input(i));
  }
  if (kind.has_extra) numbers.extra = numbers_at(c, kind.extra_input());
  numbers.steps = c.in(kind.step_input()).as<int64_t>();
  numbers.nesterov = c.attrs().flag_or("nesterov", false);
  numbers.decoupled = c.attrs().flag_or("decoupled", false);
  numbers.members = std::max<int64_t>(c.members(), 1);
  return numbers;
}

template <class T>
Thunk prepare(const Call& c, const UpdateKind& kind, const LoopsOf<T>& loops,
              CoefficientTable& table) {
  const UpdateRow<T>& row = find_row(loops, kind, c);
  Update<T> u{.loop = row.loop, .at = places_of<T>(c, kind)};
  if (!u.at.g) u.narrow = c.in(1).as<uint16_t>();
  u.coefficients = table.find(numbers_of(c, kind, row));
  u.scale = numbers_at(c, kind.scale_input());
  u.keep = numbers_at(c, kind.keep_input());
  u.sets = std::max<int64_t>(c.members(), 1);
  u.count = c.out(0).numel() / u.sets;
  return [u] { run(u); };
}

template <class T>
Thunk prepare_squares(const Call& c, const LoopsOf<T>& loops) {
  int64_t sets = std::max<int64_t>(c.members(), 1);
  return [x = c.in(0).as<T>(), y = c.out(0).as<double>(), sets,
          count = c.in(0).numel() / sets, squares = loops.sum_squares] {
    for (int64_t b = 0; b < sets; ++b) y[b] = squares(x + b * count, count);
  };
}

void copy_part(std::byte* to, const std::byte* from, int64_t bytes) {
  constexpr int64_t kGrainBytes = kGrain * 16;
  parallel_for(bytes, kGrainBytes, [&](int64_t begin, int64_t end) {
    std::copy(from + begin, from + end, to + begin);
  });
}

std::byte* bytes_at(const Tensor& tensor) {
  return static_cast<std::byte*>(tensor.data);
}

Thunk prepare_set_aside(const Call& c) {
  return [to = bytes_at(c.out(0)), from = bytes_at(c.in(0)),
          bytes = c.in(0).bytes()] { copy_part(to, from, bytes); };
}

// Members that need nothing cost nothing, in place.
Thunk prepare_take_back(const Call& c) {
  int64_t sets = std::max<int64_t>(c.members(), 1);
  return [to = bytes_at(c.out(0)), now = bytes_at(c.in(0)),
          before = bytes_at(c.in(1)), redoes = c.in(2).as<double>(), sets,
          bytes = c.in(0).bytes() / sets] {
    for (int64_t member = 0; member < sets; ++member) {
      const std::byte* from = redoes[member] != 0 ? before : now;
      int64_t at = member * bytes;
      if (from != to) copy_part(to + at, from + at, bytes);
    }
  };
}

}  // namespace

void add_cpu_optimizer(KernelTable& table, const Loops& loops) {
  auto shared = std::make_shared<CoefficientTable>();
  for (const UpdateKind& kind : update_kinds()) {
    table.add(kind.op(), [loops, &kind, shared](const Call& c) {
      check_type(c);
      return c.in(0).dtype == DType::kFloat64
                 ? prepare(c, kind, loops.f64, *shared)
                 : prepare(c, kind, loops.f32, *shared);
    });
  }
  table.add("set_aside", prepare_set_aside);
  table.add("take_back", prepare_take_back);
  add_own(
      table, loops, "sum_squares",
      [](const Call& c) {
        return has_loops(c.in(0).dtype) && c.in(0).contiguous();
      },
      [](const Call& c, const auto& l) { return prepare_squares(c, l); });
}

}  // namespace braid::runtime
