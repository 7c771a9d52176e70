/* The heaps part of a query debug buffer (RtlQueryProcessDebugInformation), as bytes.

   The layouts are not documented; they are those of public reverse-engineered headers
   (winsiderss/systeminformer, phnt/include/ntrtl.h). The target process can write to the buffer, so
   every offset and count in it is checked against the bytes at hand. */
#ifndef TH_SNAPSHOT_HEAP_DEBUG_H
#define TH_SNAPSHOT_HEAP_DEBUG_H

#include "base/status.h"
#include "snapshot/heap_rows.h"

/* Builds above this one have an extra 8 bytes in RTL_HEAP_INFORMATION ("V2"). */
#define TH_DEBUG_LAST_V1_BUILD 22000u

/* Bytes of the buffer up to and with its last field that is read here. */
#define TH_DEBUG_HEADER_64 0xa0u
#define TH_DEBUG_HEADER_32 0x50u

typedef struct th_debug_view {
  const uint8_t *bytes; /* a copy of the buffer that nobody else writes to */
  size_t size;
  uint64_t address;      /* where the buffer was: pointers in it count from there */
  unsigned pointer_size; /* 4 or 8 */
  uint64_t process_heap; /* the default heap; 0 when not told */
  uint32_t heap_count;
  size_t heaps_at, stride;
} th_debug_view;

typedef struct th_debug_heap {
  uint64_t base, committed;
  uint32_t flags, entry_count;
  uint16_t overhead;
  size_t entries_at; /* valid when entry_count is not 0 */
} th_debug_heap;

typedef enum th_debug_answer {
  TH_DEBUG_OK,
  TH_DEBUG_NO_HEAPS, /* success with nothing: seen of frozen processes */
  TH_DEBUG_DAMAGED
} th_debug_answer;

/* Finds the heaps in `view` (bytes, size, address and pointer_size are given). Of the two layouts
   the one that `build` (0: not known) calls for is tried first; one that does not check is not
   used. */
th_debug_answer th_debug_open(th_debug_view *view, uint32_t build);
/* Heap `index`, below heap_count, of an opened view. */
void th_debug_heap_at(const th_debug_view *view, uint32_t index, th_debug_heap *heap);
/* Gives every entry of the heap to `sink`; false when the sink had no memory. */
TH_NODISCARD bool th_debug_walk(const th_debug_view *view, const th_debug_heap *heap,
                                th_block_sink sink, void *context);

#endif
