// The greatest of several numbers and its place, without branches: which one
// is greater is a coin toss that no machine foresees.
#include <utility>

#include "braid/runtime/kernels/loops/level/vector.h"

namespace braid::runtime::BRAID_LEVEL {
namespace {

// Integers as wide as T: what comparisons of vectors give.
template <class T>
struct PlaceOf {
  using type = int32_t;
};
template <>
struct PlaceOf<double> {
  using type = int64_t;
};

template <class T, int kLanes>
using Places = Vector<typename PlaceOf<T>::type, kLanes>;

// kLanes windows, each the greatest so far and its place.
template <class T, int kLanes>
struct Best {
  Vector<T, kLanes> value;
  Places<T, kLanes> place;

  // As libtorch: the first of equals, the last NaN.
  BRAID_INLINE void keep(Vector<T, kLanes> v, Places<T, kLanes> at) {
    auto greater = (v > value) | (v != v);
    value = greater ? v : value;
    place = greater ? at : place;
  }
};

template <int kFirst, class V, size_t... kLane>
BRAID_INLINE V every_second(V a, V b, std::index_sequence<kLane...>) {
  return __builtin_shufflevector(a, b, (2 * kLane + kFirst)...);
}

// Numbers x[0], x[2], ... or, from 1, those between.
template <int kLanes, int kFirst, class T>
BRAID_INLINE Vector<T, kLanes> halved(const T* x) {
  Vector<T, kLanes> low, high;
  std::memcpy(&low, x, sizeof low);
  std::memcpy(&high, x + kLanes, sizeof high);
  return every_second<kFirst>(low, high, std::make_index_sequence<kLanes>());
}

template <class T, size_t... kLane>
BRAID_INLINE auto even_places(std::index_sequence<kLane...>) {
  using Place = typename PlaceOf<T>::type;
  return Places<T, sizeof...(kLane)>{static_cast<Place>(2 * kLane)...};
}

// Windows of two rows of x, `width` apart; `first` is the place of x.
template <class T, int kLanes>
BRAID_INLINE void pool_block(T* y, int64_t* places, const T* x, int64_t first,
                             int64_t width) {
  using Place = typename PlaceOf<T>::type;
  auto at = even_places<T>(std::make_index_sequence<kLanes>()) +
            static_cast<Place>(first);
  const T* below = x + width;
  Best<T, kLanes> best{halved<kLanes, 0>(x), at};
  best.keep(halved<kLanes, 1>(x), at + 1);
  best.keep(halved<kLanes, 0>(below), at + static_cast<Place>(width));
  best.keep(halved<kLanes, 1>(below), at + static_cast<Place>(width + 1));
  std::memcpy(y, &best.value, sizeof best.value);
  auto wide = __builtin_convertvector(best.place, Vector<int64_t, kLanes>);
  std::memcpy(places, &wide, sizeof wide);
}

// Blocks of kLanes windows from `column` on, then what is left in narrower
// ones.
template <class T, int kLanes>
BRAID_INLINE void pool_row(T* y, int64_t* places, const T* x, int64_t first,
                           int64_t column, int64_t columns, int64_t width) {
  for (; column + kLanes <= columns; column += kLanes) {
    pool_block<T, kLanes>(y + column, places + column, x + 2 * column,
                          first + 2 * column, width);
  }
  if constexpr (kLanes > 2) {
    pool_row<T, kLanes / 2>(y, places, x, first, column, columns, width);
  } else if (column < columns) {  // a vector of one needs two to read
    T row[4] = {x[2 * column], x[2 * column + 1], x[2 * column + width],
                x[2 * column + width + 1]};
    int64_t best = 0;
    for (int64_t i = 1; i < 4; ++i) {
      if (row[i] > row[best] || row[i] != row[i]) best = i;
    }
    y[column] = row[best];
    places[column] = first + 2 * column + best / 2 * width + best % 2;
  }
}

template <class T>
void pool_halves(T* y, int64_t* places, const T* x, int64_t rows,
                 int64_t columns, int64_t width) {
  constexpr int kLanes = kVectorBytes / sizeof(T);
  for (int64_t r = 0; r < rows; ++r) {
    pool_row<T, kLanes>(y + r * columns, places + r * columns,
                        x + 2 * r * width, 2 * r * width, 0, columns, width);
  }
}

// The first NaN stays, else the first of the greatest.
template <class T>
BRAID_INLINE void keep_first(T& best, int32_t& place, T v, int32_t at) {
  bool greater = !(v <= best) && best == best;
  best = greater ? v : best;
  place = greater ? at : place;
}

// Lanes become vector code; of equal ones the lower place is taken.
template <class T>
void row_max(T* value, int64_t* place, const T* x, int64_t count) {
  constexpr int64_t kLanes = 32;
  T best = x[0];
  int32_t at = 0;
  int64_t whole = count / kLanes * kLanes;
  if (whole > 0) {
    T lanes[kLanes];
    int32_t places[kLanes];
    for (int64_t l = 0; l < kLanes; ++l) {
      lanes[l] = x[l];
      places[l] = static_cast<int32_t>(l);
    }
    for (int64_t i = kLanes; i < whole; i += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) {
        keep_first(lanes[l], places[l], x[i + l], static_cast<int32_t>(i + l));
      }
    }
    for (int64_t l = 0; l < kLanes; ++l) {
      bool both_nan = best != best && lanes[l] != lanes[l];
      bool equal = best == lanes[l] || both_nan;
      if (equal && places[l] < at) at = places[l];
      keep_first(best, at, lanes[l], places[l]);
    }
  }
  for (int64_t i = whole; i < count; ++i) {
    keep_first(best, at, x[i], static_cast<int32_t>(i));
  }
  *value = best;
  *place = at;
}

}  // namespace

template <class T>
void add_max(LoopsOf<T>& loops) {
  loops.pool_halves = pool_halves<T>;
  loops.row_max = row_max<T>;
}

template void add_max(LoopsOf<float>& loops);
template void add_max(LoopsOf<double>& loops);

}  // namespace braid::runtime::BRAID_LEVEL
