/* The allocator of a program built without base/mem.c: the `until`-th request from now on fails, and
   with `for_ever` all after it. To be included once, by the program's main file. */
#ifndef TH_TESTS_FAILING_MEM_H
#define TH_TESTS_FAILING_MEM_H

#include "base/mem.h"

#include <stdatomic.h>
#include <stdlib.h>

static atomic_long live, until, asked;
static atomic_bool for_ever;

static bool refused(void) {
  atomic_fetch_add(&asked, 1);
  long left = atomic_fetch_sub(&until, 1);
  return left == 1 || (left < 1 && atomic_load(&for_ever));
}

void *th_mem_alloc(size_t size) {
  void *block = refused() ? NULL : malloc(size ? size : 1);
  atomic_fetch_add(&live, block != NULL);
  return block;
}
void *th_mem_zero(size_t size) {
  void *block = refused() ? NULL : calloc(1, size ? size : 1);
  atomic_fetch_add(&live, block != NULL);
  return block;
}
void *th_mem_resize(void *block, size_t size) {
  if (!block)
    return th_mem_alloc(size);
  return refused() ? NULL : realloc(block, size ? size : 1);
}
void th_mem_free(void *block) {
  atomic_fetch_sub(&live, block != NULL);
  free(block);
}

#endif
