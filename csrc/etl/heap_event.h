/* Payload of the heap events (provider 222962ab-6180-4b88-a825-346b75f2a24a, group 0x10). */
#ifndef TH_ETL_HEAP_EVENT_H
#define TH_ETL_HEAP_EVENT_H

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
  TH_HEAP_OTHER = 15, /* opcodes 47 and up, and heap ranges: internals of the allocator */
  TH_HEAP_KINDS = 16
} th_heap_kind;

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

#endif
