// What the files of this folder share. They are compiled once per instruction
// set, with BRAID_LEVEL as the name of that set's namespace, so that no
// function of one set is ever taken for another's. For the same reason they
// use no templates of the standard library: the linker would keep one of them
// for the whole program. scripts/check_loops.py sees to it.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "braid/runtime/kernels/loops/loops.h"

#define BRAID_INLINE [[gnu::always_inline]] inline

// Before a loop whose iteration i touches element i alone: operands that lie in
// one place (work in place) do not keep it from becoming vector code.
#ifdef __clang__
#define BRAID_ELEMENTWISE _Pragma("clang loop vectorize(assume_safety)")
#else
#define BRAID_ELEMENTWISE _Pragma("GCC ivdep")
#endif

namespace braid::runtime::BRAID_LEVEL {

// Of the widest registers.
#if defined(__AVX512F__)
constexpr int kVectorBytes = 64;
#elif defined(__AVX2__)
constexpr int kVectorBytes = 32;
#else
constexpr int kVectorBytes = 16;
#endif

// See Loops.
void random_words(uint32_t* words, uint64_t key, uint64_t moment,
                  uint64_t first, int64_t blocks);

// Each fills its rows of the table, for float and double.
template <class T>
void add_fusion(LoopsOf<T>& loops);
template <class T>
void add_columns(LoopsOf<T>& loops);
template <class T>
void add_depthwise(LoopsOf<T>& loops);
template <class T>
void add_gather(LoopsOf<T>& loops);
template <class T>
void add_loss(LoopsOf<T>& loops);
template <class T>
void add_max(LoopsOf<T>& loops);
template <class T>
void add_norm(LoopsOf<T>& loops);
template <class T>
void add_pointwise(LoopsOf<T>& loops);
template <class T>
void add_product(LoopsOf<T>& loops);
template <class T>
void add_reduce(LoopsOf<T>& loops);
template <class T>
void add_softmax(LoopsOf<T>& loops);
template <class T>
void add_updates(LoopsOf<T>& loops);

}  // namespace braid::runtime::BRAID_LEVEL
