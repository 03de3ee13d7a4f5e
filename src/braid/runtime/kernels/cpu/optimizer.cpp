// Updates of one parameter of all members in one pass, in place where the
// plan says so. Element-wise: every element is read before it is written.
#include <ATen/Parallel.h>

#include "braid/base/error.h"
#include "braid/ops/update_kinds.h"
#include "braid/runtime/kernels/cpu/cpu_kernels.h"
#include "braid/runtime/kernels/cpu/vectorize.h"
#include "braid/runtime/kernels/update_rules.h"

namespace braid::runtime {
namespace {

constexpr int kMaxStates = 3;
constexpr int64_t kGrain = 16384;

// Where one member's numbers lie; missing states are null.
template <class T>
struct Places {
  T* p;
  const T *before, *g;
  T* s[kMaxStates] = {};
  const T* s_before[kMaxStates] = {};
};

template <class Rule, class T, unsigned kHas>
BRAID_VECTORIZE void update_part(const Rule& rule, const Places<T>& at, T scale,
                                 int64_t from, int64_t to) {
  BRAID_ELEMENTWISE
  for (int64_t i = from; i < to; ++i) {
    T p = at.before[i];
    T s[Rule::kStates] = {};
    for (int k = 0; k < Rule::kStates; ++k) {
      if (kHas >> k & 1) s[k] = at.s_before[k][i];
    }
    rule.template apply<kHas>(p, at.g[i] * scale, s);
    at.p[i] = p;
    for (int k = 0; k < Rule::kStates; ++k) {
      if (kHas >> k & 1) at.s[k][i] = s[k];
    }
  }
}

// Outputs of missing states are missing too, so they are counted along.
template <class T>
Places<T> places_of(const Call& c, const UpdateKind& kind, int64_t first) {
  Places<T> at{c.out(0).as<T>() + first, c.in(0).as<T>() + first,
               c.in(1).as<T>() + first};
  size_t output = 1;
  for (size_t k = 0; k < kind.states.size(); ++k) {
    if (!c.has(2 + k)) continue;
    at.s_before[k] = c.in(2 + k).as<T>() + first;
    at.s[k] = c.out(output++).as<T>() + first;
  }
  return at;
}

UpdateInputs inputs_of(const Call& c, const UpdateKind& kind, int64_t member) {
  auto number = [&](size_t input) { return c.in(input).as<double>()[member]; };
  UpdateInputs in;
  for (size_t i = 0; i < kind.values.size(); ++i) {
    in.value[i] = number(kind.value_input(i));
  }
  in.step =
      static_cast<double>(c.in(kind.step_input()).as<int64_t>()[member] + 1);
  if (kind.has_extra) in.extra = number(kind.extra_input());
  if (c.has(kind.scale_input())) in.scale = number(kind.scale_input());
  in.nesterov = c.attrs().flag_or("nesterov", false);
  in.decoupled = c.attrs().flag_or("decoupled", false);
  return in;
}

template <class T>
void keep_before(const Places<T>& at, int64_t count) {
  auto keep = [&](T* to, const T* from) {
    if (to && to != from) std::copy_n(from, count, to);
  };
  keep(at.p, at.before);
  for (int k = 0; k < kMaxStates; ++k) keep(at.s[k], at.s_before[k]);
}

template <class Rule, class T, unsigned kHas>
void run(const Call& c, const UpdateKind& kind, int64_t sets) {
  int64_t count = c.out(0).numel() / sets;
  for (int64_t b = 0; b < sets; ++b) {
    Places<T> at = places_of<T>(c, kind, b * count);
    size_t keep = kind.keep_input();
    if (c.has(keep) && c.in(keep).as<double>()[b] == 0) {
      keep_before(at, count);
      continue;
    }
    UpdateInputs in = inputs_of(c, kind, b);
    Rule rule(in);
    auto scale = static_cast<T>(in.scale);
    at::parallel_for(0, count, kGrain, [&](int64_t from, int64_t to) {
      update_part<Rule, T, kHas>(rule, at, scale, from, to);
    });
  }
}

void check_type(const Call& c) {
  DType dtype = c.in(0).dtype;
  if (dtype == DType::kFloat32 || dtype == DType::kFloat64) return;
  fail_usage(
      "[{}] parameters are f32 or f64, not {}\n"
      "HINT: for work in bf16 keep them in f32 and set the precision",
      c.node->op, dtype_name(dtype));
}

// The version of a rule for the states that are there.
template <template <class> class Rule, unsigned... kHas>
Kernel make_kernel(const UpdateKind& kind) {
  return [&kind](const Call& c) -> Run {
    check_type(c);
    unsigned has = 0;
    for (size_t k = 0; k < kind.states.size(); ++k) {
      has |= static_cast<unsigned>(c.has(2 + k)) << k;
    }
    using Body = void (*)(const Call&, const UpdateKind&, int64_t);
    bool is_double = c.in(0).dtype == DType::kFloat64;
    Body body = nullptr;
    ((has == kHas ? void(body = is_double ? run<Rule<double>, double, kHas>
                                          : run<Rule<float>, float, kHas>)
                  : void()),
     ...);
    return [c, body, &kind, sets = std::max<int64_t>(c.members(), 1)] {
      body(c, kind, sets);
    };
  };
}

template <class T>
using AdamwRule = AdamRule<T, true>;
template <class T>
using PlainAdamRule = AdamRule<T, false>;

template <class T>
BRAID_VECTORIZE double squares_of(const T* x, int64_t count) {
  constexpr int64_t kLanes = 8;
  double sums[kLanes] = {};
  int64_t whole = count / kLanes * kLanes;
  for (int64_t i = 0; i < whole; i += kLanes) {
    for (int64_t l = 0; l < kLanes; ++l) {
      auto v = static_cast<double>(x[i + l]);
      sums[l] += v * v;
    }
  }
  double sum = 0;
  for (int64_t i = whole; i < count; ++i) {
    sum += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  for (double s : sums) sum += s;
  return sum;
}

template <class T>
Run prepare_squares(const Call& c) {
  int64_t sets = std::max<int64_t>(c.members(), 1);
  return [x = c.in(0).as<T>(), y = c.out(0).as<double>(), sets,
          count = c.in(0).numel() / sets] {
    for (int64_t b = 0; b < sets; ++b) {
      y[b] = squares_of(x + b * count, count);
    }
  };
}

}  // namespace

void add_cpu_optimizer(KernelTable& table) {
  auto add = [&](const char* name, Kernel (*make)(const UpdateKind&)) {
    const UpdateKind& kind = *find_update_kind(name);
    table.add(kind.op(), make(kind));
  };
  add("sgd", make_kernel<SgdRule, 0, 1>);
  add("adamw", make_kernel<AdamwRule, 3>);
  add("adam", make_kernel<PlainAdamRule, 3, 7>);
  add("adadelta", make_kernel<AdadeltaRule, 3>);
  add("adagrad", make_kernel<AdagradRule, 1>);
  add("rmsprop", make_kernel<RmspropRule, 1, 3, 5, 7>);
  add("nadam", make_kernel<NadamRule, 3>);
  add("radam", make_kernel<RadamRule, 3>);
  add("lion", make_kernel<LionRule, 1>);
  table.add("sum_squares", [general = table.at("sum_squares")](const Call& c) {
    bool floats =
        c.in(0).dtype == DType::kFloat32 || c.in(0).dtype == DType::kFloat64;
    if (!floats || !c.in(0).contiguous()) return general(c);
    return c.in(0).dtype == DType::kFloat64 ? prepare_squares<double>(c)
                                            : prepare_squares<float>(c);
  });
}

}  // namespace braid::runtime
