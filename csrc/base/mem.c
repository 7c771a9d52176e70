#include "base/mem.h"

#include <stdlib.h>

void *th_mem_alloc(size_t size) { return malloc(size ? size : 1); }

void *th_mem_zero(size_t size) { return calloc(1, size ? size : 1); }

void *th_mem_resize(void *block, size_t size) { return realloc(block, size ? size : 1); }

void th_mem_free(void *block) { free(block); }
