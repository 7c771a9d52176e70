/* A growing array of one type:

     TH_VEC(th_frame) frames = {0};
     if (!th_vec_push(&frames, frame)) ... out of memory, nothing changed
     th_vec_free(&frames);
*/
#ifndef TH_BASE_VEC_H
#define TH_BASE_VEC_H

#include "base/mem.h"

#define TH_VEC(type)                                                                               \
  struct {                                                                                         \
    type *items;                                                                                   \
    size_t count;                                                                                  \
    size_t capacity;                                                                               \
  }

/* Makes room for at least `wanted` items, doubling; false when there is no memory. */
TH_NODISCARD bool th_vec_grow(void **items, size_t *capacity, size_t wanted, size_t item_size);

#define th_vec_reserve(vec, wanted)                                                                \
  ((wanted) <= (vec)->capacity ||                                                                  \
   th_vec_grow((void **)&(vec)->items, &(vec)->capacity, (wanted), sizeof *(vec)->items))

#define th_vec_push(vec, item)                                                                     \
  (th_vec_reserve(vec, (vec)->count + 1) ? ((vec)->items[(vec)->count++] = (item), true) : false)

#define th_vec_free(vec)                                                                           \
  (th_mem_free((vec)->items), (vec)->items = NULL, (vec)->count = (vec)->capacity = 0)

#endif
