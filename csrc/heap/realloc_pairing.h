/* Which of the Alloc and Free events that a moving ReAlloc logs beside itself were seen.

   A ReAlloc that moves a block is a summary: Alloc(new), Free(old), ReAlloc follow each other on
   one thread within microseconds (seen in a recording of a 64-bit process). Their order is not
   documented and each can be missing, so every thread remembers its latest halves. */
#ifndef TH_HEAP_REALLOC_PAIRING_H
#define TH_HEAP_REALLOC_PAIRING_H

#include "base/compiler.h"

typedef struct th_pairing {
  uint64_t alloc_at; /* latest Alloc since the previous ReAlloc; 0: none */
  uint64_t free_at;  /* latest Free since then; 0: none */
  uint64_t awaited_alloc; /* halves that the last ReAlloc had to do itself; 0: none */
  uint64_t awaited_free;
} th_pairing;

/* True when this Alloc was already done on behalf of the ReAlloc before it. */
TH_INLINE bool th_pairing_alloc(th_pairing *pairing, uint64_t address) {
  if (TH_UNLIKELY((pairing->awaited_alloc | pairing->awaited_free) != 0)) {
    if (pairing->awaited_alloc == address) {
      pairing->awaited_alloc = 0;
      return true;
    }
    pairing->awaited_alloc = pairing->awaited_free = 0;
  }
  pairing->alloc_at = address;
  return false;
}

/* The same for a Free. */
TH_INLINE bool th_pairing_free(th_pairing *pairing, uint64_t address) {
  if (TH_UNLIKELY((pairing->awaited_alloc | pairing->awaited_free) != 0)) {
    if (pairing->awaited_free == address) {
      pairing->awaited_free = 0;
      return true;
    }
    pairing->awaited_alloc = pairing->awaited_free = 0;
  }
  pairing->free_at = address;
  return false;
}

/* Notes a ReAlloc from `old` (0: none) to `new` (0: it failed) and says which halves it must do. */
TH_INLINE void th_pairing_realloc(th_pairing *pairing, uint64_t new_at, uint64_t old_at,
                                  bool *do_alloc, bool *do_free) {
  bool moved = new_at != 0 && new_at != old_at;
  *do_alloc = moved && pairing->alloc_at != new_at;
  *do_free = moved && old_at != 0 && pairing->free_at != old_at;
  *pairing = (th_pairing){.awaited_alloc = *do_alloc ? new_at : 0,
                          .awaited_free = *do_free ? old_at : 0};
}

#endif
