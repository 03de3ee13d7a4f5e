/* What passes between Braid and a shared library that gives samples, in plain
 * C so that any compiler and language can make one:
 *
 *   data: {source: library, library: ./libmine.so, ANY_OPTION: VALUE}
 *
 * The library has the two functions at the end. In C++, own_source.h writes
 * them. Neither needs another header of Braid or anything to link with. */
#ifndef BRAID_DATA_SOURCE_ABI_H
#define BRAID_DATA_SOURCE_ABI_H

#include <stddef.h>
#include <stdint.h>

/* Goes up with every change that a compiled library would not survive. */
#define BRAID_SOURCE_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

/* An option of the job as it is written there. `file`, `folder` and `files`
 * are absolute paths. */
typedef struct BraidOption {
  const char* name;
  const char* text;
} BraidOption;

/* One tensor of a sample. */
typedef struct BraidField {
  const char* name;
  const char* dtype; /* "f32", "f64", "i64" or "bool" */
  const int64_t* shape;
  size_t rank;     /* entries of `shape` */
  int64_t classes; /* of an i64: values lie in [0, classes); 0: not known */
} BraidField;

/* What random changes are to be drawn from, besides the number of the sample:
 * a run that is resumed must get the same samples again. */
typedef struct BraidDraw {
  int64_t seed;
  int64_t epoch;
} BraidDraw;

typedef struct BraidSource {
  void* state;              /* passed back as it is */
  int64_t size;             /* samples, 1 or more */
  const BraidField* fields; /* stay as they are until close() */
  size_t num_fields;
  /* Writes sample `index`, field f row-major to out[f]. Several threads may
   * call it at once. Returns 0, or anything else after it has written to
   * `error`, at most `error_bytes` with the 0 at the end, what is wrong. */
  int (*read)(void* state, int64_t index, const BraidDraw* draw,
              void* const* out, char* error, size_t error_bytes);
  void (*close)(void* state); /* may be null */
} BraidSource;

/* Returns BRAID_SOURCE_ABI. */
uint32_t braid_source_abi(void);

/* Fills `source`, which is all zeros, and returns 0; or writes to `error` as
 * read() does. */
int braid_open_source(const BraidOption* options, size_t num_options,
                      BraidSource* source, char* error, size_t error_bytes);

#ifdef __cplusplus
}
#endif

#endif
