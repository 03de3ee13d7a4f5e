// Updates of all optimizers, from the rules that run on every device.
// Element-wise: every element is read before it is written.
#include "braid/runtime/kernels/loops/level/level.h"
#include "braid/runtime/kernels/update_rules.h"

namespace braid::runtime::BRAID_LEVEL {
namespace {

template <class Rule, class T, unsigned kHas>
void update(const UpdateInputs& in, const UpdatePlaces<T>& at, int64_t from,
            int64_t to) {
  const Rule rule(in);
  const UpdatePlaces<T> here = at;  // known not to change in the loop
  const auto scale = static_cast<T>(in.scale);
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

template <class T>
constexpr UpdateRow<T> kRows[] = {
    {"sgd", 0, update<SgdRule<T>, T, 0>},
    {"sgd", 1, update<SgdRule<T>, T, 1>},
    {"adamw", 3, update<AdamRule<T, true>, T, 3>},
    {"adam", 3, update<AdamRule<T, false>, T, 3>},
    {"adam", 7, update<AdamRule<T, false>, T, 7>},
    {"adadelta", 3, update<AdadeltaRule<T>, T, 3>},
    {"adagrad", 1, update<AdagradRule<T>, T, 1>},
    {"rmsprop", 1, update<RmspropRule<T>, T, 1>},
    {"rmsprop", 3, update<RmspropRule<T>, T, 3>},
    {"rmsprop", 5, update<RmspropRule<T>, T, 5>},
    {"rmsprop", 7, update<RmspropRule<T>, T, 7>},
    {"nadam", 3, update<NadamRule<T>, T, 3>},
    {"radam", 3, update<RadamRule<T>, T, 3>},
    {"lion", 1, update<LionRule<T>, T, 1>},
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
