/* The one door to the allocator. Bodies in mem.c; a test build links others that fail on demand. */
#ifndef TH_BASE_MEM_H
#define TH_BASE_MEM_H

#include "base/compiler.h"

/* Each returns NULL when there is no memory. Sizes of 0 give a valid, unique pointer. */
TH_NODISCARD void *th_mem_alloc(size_t size);
TH_NODISCARD void *th_mem_zero(size_t size);
/* Like realloc: on failure the old block stays as it was. */
TH_NODISCARD void *th_mem_resize(void *block, size_t size);
/* NULL is fine. */
void th_mem_free(void *block);

/* count * size without overflow; false when it does not fit. */
TH_INLINE bool th_size_mul(size_t count, size_t size, size_t *out) {
  if (size != 0 && count > SIZE_MAX / size)
    return false;
  *out = count * size;
  return true;
}

TH_INLINE bool th_size_add(size_t a, size_t b, size_t *out) {
  if (a > SIZE_MAX - b)
    return false;
  *out = a + b;
  return true;
}

/* Arrays: NULL on overflow, too. */
TH_NODISCARD void *th_mem_array(size_t count, size_t size);
TH_NODISCARD void *th_mem_zero_array(size_t count, size_t size);
TH_NODISCARD void *th_mem_resize_array(void *block, size_t count, size_t size);

#endif
