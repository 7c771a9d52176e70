/* The events that a heap trace nearly all consists of, each told by one comparison: allocations and
   frees of 64-bit processes, as long as every one seen is, and stacks of 64-bit frames, all with no
   extension of the header. Others are sound, too, but not plain. */
#ifndef TH_ETL_PLAIN_EVENT_H
#define TH_ETL_PLAIN_EVENT_H

#include "etl/event.h"
#include "etl/layout.h"

/* What the walk found an event to be; it may be plain and not be known to be. */
enum { TH_NOT_PLAIN = 0, TH_IS_PLAIN_FREE = 2, TH_IS_PLAIN_ALLOC = 3, TH_IS_PLAIN_STACK = 4 };

/* Bytes of the event; an allocation has its size in front of the address, and so 8 bytes more. */
#define TH_PLAIN_HEAD 0x20
#define TH_PLAIN_FREE_SIZE (TH_PLAIN_HEAD + 8 + 8 + 4)
#define TH_PLAIN_ALLOC_SIZE (TH_PLAIN_FREE_SIZE + 8)

/* The first 8 bytes but for the version in byte 0. */
#define TH_PLAIN_START(hook, size)                                                                 \
  ((uint64_t)(hook) << 48 | (uint64_t)(size) << 32 | (uint64_t)TH_MARK_TRACE << 24 |               \
   (uint64_t)TH_HEADER_SYSTEM64 << 16)
#define TH_PLAIN_ALLOC TH_PLAIN_START(0x1021, TH_PLAIN_ALLOC_SIZE)
#define TH_PLAIN_FREE TH_PLAIN_START(0x1024, TH_PLAIN_FREE_SIZE)

/* What the first 8 bytes say of a plain one: 1 an allocation, 0 a free. No branch depends on it, as
   which of both comes next is not to be foreseen. */
TH_INLINE uint32_t th_plain_is_alloc(uint64_t start) { return (uint32_t)(start >> 48) & 1; }
TH_INLINE bool th_is_plain(uint64_t start, uint32_t alloc) {
  return (start & ~UINT64_C(0xff)) ==
         TH_PLAIN_FREE + ((TH_PLAIN_ALLOC - TH_PLAIN_FREE) & (0 - (uint64_t)alloc));
}
/* From a plain allocation or free to the next. */
TH_INLINE uint32_t th_plain_step(uint32_t alloc) {
  return (TH_PLAIN_FREE_SIZE + TH_EVENT_ALIGN - 1) / TH_EVENT_ALIGN * TH_EVENT_ALIGN + 8 * alloc;
}

/* A stack: the head, then time, process and thread of its event, then the frames. Any size. */
#define TH_PLAIN_STACK_EVENT 0x10
#define TH_PLAIN_STACK_IDS 0x18
#define TH_PLAIN_STACK_FRAMES 0x20

TH_INLINE bool th_is_plain_stack(uint64_t start) {
  return (start & UINT64_C(0xffff0000ffffff00)) ==
         (UINT64_C(0x1820) << 48 | (uint64_t)TH_MARK_TRACE << 24 |
          (uint64_t)TH_HEADER_PERFINFO64 << 16);
}

#endif
