#include "braid/runtime/kernels/loops/level/level.h"

namespace braid::runtime::BRAID_LEVEL {
namespace {

// The namespace's name as text.
constexpr const char* level_name() {
#if defined(__AVX512F__)
  return "x86-64-v4";
#elif defined(__AVX2__)
  return "x86-64-v3";
#else
  return "plain";
#endif
}

template <class T>
LoopsOf<T> make_loops_of() {
  LoopsOf<T> loops{};
  add_fusion(loops);
  add_columns(loops);
  add_depthwise(loops);
  add_gather(loops);
  add_loss(loops);
  add_max(loops);
  add_norm(loops);
  add_pointwise(loops);
  add_product(loops);
  add_reduce(loops);
  add_softmax(loops);
  add_updates(loops);
  return loops;
}

}  // namespace

Loops make_loops();
Loops make_loops() {
  return {level_name(), make_loops_of<float>(), make_loops_of<double>(),
          random_words};
}

}  // namespace braid::runtime::BRAID_LEVEL
