/* Payload of the heap events (provider 222962ab-6180-4b88-a825-346b75f2a24a, group 0x10). */
#ifndef TH_ETL_HEAP_EVENT_H
#define TH_ETL_HEAP_EVENT_H

#include "base/cursor.h"
#include "etl/event.h"

/* Kinds by opcode - 32, in the order of the opcodes; the labels of the `kind` column. */
typedef enum th_heap_kind {
  TH_HEAP_CREATE = 0,
  TH_HEAP_ALLOC = 1,
  TH_HEAP_REALLOC = 2,
  TH_HEAP_DESTROY = 3,
  TH_HEAP_FREE = 4,
  TH_HEAP_EXPAND = 5,
  TH_HEAP_SNAPSHOT = 6,
  TH_HEAP_CREATE_SNAPSHOT = 7,
  TH_HEAP_DESTROY_SNAPSHOT = 8,
  TH_HEAP_EXTEND_SNAPSHOT = 9,
  TH_HEAP_CONTRACT = 10,
  TH_HEAP_LOCK = 11,
  TH_HEAP_UNLOCK = 12,
  TH_HEAP_VALIDATE = 13,
  TH_HEAP_WALK = 14,
  TH_HEAP_OTHER = 15, /* every other opcode: internals of the allocator */
  TH_HEAP_KINDS = 16
} th_heap_kind;

/* The words of the kinds, by number, and a NULL behind the last. */
extern const char *const th_heap_kind_names[TH_HEAP_KINDS + 1];

/* One heap event as the ledger and the columns take it. Addresses and sizes are 0 where the kind
   has none. */
typedef struct th_heap_event {
  int64_t time_ns; /* since the trace's start */
  uint64_t heap, address, size, old_address, old_size;
  uint32_t pid, tid, source, stack_id;
  uint16_t cpu;
  uint8_t kind;
} th_heap_event;

/* stack_id of an event without a stack. */
#define TH_NO_STACK UINT32_MAX

/* Which values a kind has. */
enum {
  TH_HEAP_HAS_HEAP = 1,
  TH_HEAP_HAS_ADDRESS = 2,
  TH_HEAP_HAS_SIZE = 4,
  TH_HEAP_HAS_OLD = 8, /* old_address and old_size */
  TH_HEAP_HAS_SOURCE = 16
};

/* Where the values of one opcode stand at one pointer width. A value that the opcode lacks has
   offset 0, which is always inside, and is masked away: so that parsing takes no branches. */
typedef struct th_heap_layout {
  uint8_t min_size[4]; /* bytes of payload in versions 0, 1, 2, and 3 or later; more is a tail */
  uint8_t kind;
  uint8_t has;
  uint8_t address, size, old_address, old_size, source;
} th_heap_layout;

/* By pointer size (0: 4 bytes, 1: 8 bytes) and opcode. */
extern const th_heap_layout th_heap_layouts[2][256];

/* What a payload says. */
typedef struct th_heap_payload {
  uint64_t heap, address, size, old_address, old_size;
  uint32_t source;
  uint8_t kind;
  uint8_t has;
} th_heap_payload;

/* Whether the event is a heap event; heap ranges (group 0x02) are not. */
TH_INLINE bool th_is_heap_event(const th_event *event) { return event->hook >> 8 == 0x10; }

/* The opcodes without a known layout, of which only the handle is taken, if it is there; and
   payloads of FULL events, whose width is that of their length. */
bool th_parse_heap_odd(const th_event *event, th_heap_payload *out);

/* The same from its parts: a struct on the way to here would cost more than the parsing. */
TH_INLINE bool th_parse_heap_payload(const uint8_t *payload, uint32_t size, unsigned opcode,
                                     unsigned version, bool wide, th_heap_payload *out) {
  const th_heap_layout *layout = &th_heap_layouts[wide][opcode];
  unsigned has = layout->has;
  if (TH_UNLIKELY(size < layout->min_size[version < 3 ? version : 3]))
    return false;
  uint64_t address_mask = 0 - (uint64_t)(has >> 1 & 1);
  uint64_t size_mask = 0 - (uint64_t)(has >> 2 & 1);
  uint32_t source_mask = 0 - (uint32_t)(has >> 4 & 1);
  out->kind = layout->kind;
  out->has = layout->has;
  out->old_address = out->old_size = 0;
  out->source = th_load_u32(payload + layout->source) & source_mask;
  if (TH_LIKELY(wide)) {
    out->heap = th_load_u64(payload);
    out->address = th_load_u64(payload + layout->address) & address_mask;
    out->size = th_load_u64(payload + layout->size) & size_mask;
    if (TH_UNLIKELY(has & TH_HEAP_HAS_OLD)) {
      out->old_address = th_load_u64(payload + layout->old_address);
      out->old_size = th_load_u64(payload + layout->old_size);
    }
  } else {
    out->heap = th_load_u32(payload);
    out->address = th_load_u32(payload + layout->address) & address_mask;
    out->size = th_load_u32(payload + layout->size) & size_mask;
    if (TH_UNLIKELY(has & TH_HEAP_HAS_OLD)) {
      out->old_address = th_load_u32(payload + layout->old_address);
      out->old_size = th_load_u32(payload + layout->old_size);
    }
  }
  return true;
}

/* False: the payload is too short for its opcode and version. `event` is a heap event. */
TH_INLINE bool th_parse_heap(const th_event *event, bool wide, th_heap_payload *out) {
  return th_parse_heap_payload(event->payload, event->size, event->opcode, event->version, wide,
                               out);
}

/* Whether the layout of an opcode is known. */
TH_INLINE bool th_is_heap_opcode(unsigned opcode) {
  return opcode - 32u <= 46 - 32 && opcode - 39u > 41 - 39;
}

#endif
