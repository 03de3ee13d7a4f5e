// Updates of all optimizers, from the rules that run on every device.
// Element-wise: every element is read before it is written.
#include "braid/runtime/kernels/loops/level/level.h"
#include "braid/runtime/kernels/update_rules.h"

namespace braid::runtime::BRAID_LEVEL {
namespace {

template <class Rule>
UpdateCoefficients make(const UpdateInputs& in) {
  static_assert(sizeof(Rule) <= sizeof(UpdateCoefficients));
  const Rule rule(in);
  UpdateCoefficients made = {};
  std::memcpy(made.bytes, &rule, sizeof rule);
  return made;
}

template <class Rule, class T, unsigned kHas>
void update(const UpdateCoefficients& made, T scale, const UpdatePlaces<T>& at,
            int64_t from, int64_t to) {
  const Rule rule = *reinterpret_cast<const Rule*>(made.bytes);
  const UpdatePlaces<T> here = at;  // known not to change in the loop
  BRAID_ELEMENTWISE
  for (int64_t i = from; i < to; ++i) {
    T p = here.before[i];
    T s[Rule::kStates] = {};
    for (int k = 0; k < Rule::kStates; ++k) {
      if (kHas >> k & 1) s[k] = here.s_before[k][i];
    }
    rule.template apply<kHas>(p, here.g[i] * scale, s);
    here.p[i] = p;
    for (int k = 0; k < Rule::kStates; ++k) {
      if (kHas >> k & 1) here.s[k][i] = s[k];
    }
  }
}

template <class Rule, class T, unsigned kHas>
constexpr UpdateRow<T> row(const char* kind) {
  return {kind, kHas, make<Rule>, update<Rule, T, kHas>};
}

template <class T>
constexpr UpdateRow<T> kRows[] = {
    row<SgdRule<T>, T, 0>("sgd"),
    row<SgdRule<T>, T, 1>("sgd"),
    row<AdamRule<T, true>, T, 3>("adamw"),
    row<AdamRule<T, false>, T, 3>("adam"),
    row<AdamRule<T, false>, T, 7>("adam"),
    row<AdadeltaRule<T>, T, 3>("adadelta"),
    row<AdagradRule<T>, T, 1>("adagrad"),
    row<RmspropRule<T>, T, 1>("rmsprop"),
    row<RmspropRule<T>, T, 3>("rmsprop"),
    row<RmspropRule<T>, T, 5>("rmsprop"),
    row<RmspropRule<T>, T, 7>("rmsprop"),
    row<NadamRule<T>, T, 3>("nadam"),
    row<RadamRule<T>, T, 3>("radam"),
    row<LionRule<T>, T, 1>("lion"),
};

}  // namespace

template <class T>
void add_updates(LoopsOf<T>& loops) {
  loops.updates = kRows<T>;
  loops.num_updates = sizeof kRows<T> / sizeof kRows<T>[0];
}

template void add_updates(LoopsOf<float>& loops);
template void add_updates(LoopsOf<double>& loops);

}  // namespace braid::runtime::BRAID_LEVEL
