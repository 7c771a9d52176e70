/* The uniform event: what every kind of header on disk, and every live EVENT_RECORD, becomes.
   Everything behind this point is the same for files and for live sessions. */
#ifndef TH_ETL_EVENT_H
#define TH_ETL_EVENT_H

#include "base/compiler.h"

/* Header kinds as they stand in byte 2 of an event on disk. MESSAGE has no kind byte of its own;
   15 is free on disk. LIVE is an EVENT_RECORD. */
typedef enum th_header_kind {
  TH_HEADER_SYSTEM32 = 1,
  TH_HEADER_SYSTEM64 = 2,
  TH_HEADER_COMPACT32 = 3,
  TH_HEADER_COMPACT64 = 4,
  TH_HEADER_FULL32 = 10,
  TH_HEADER_INSTANCE32 = 11,
  TH_HEADER_TIMED = 12,
  TH_HEADER_ERROR = 13,
  TH_HEADER_WNODE = 14,
  TH_HEADER_MESSAGE = 15,
  TH_HEADER_PERFINFO32 = 16,
  TH_HEADER_PERFINFO64 = 17,
  TH_HEADER_EVENT32 = 18,
  TH_HEADER_EVENT64 = 19,
  TH_HEADER_FULL64 = 20,
  TH_HEADER_INSTANCE64 = 21,
  TH_HEADER_LIVE = 22,
  TH_HEADER_KINDS = 23
} th_header_kind;

/* pid and tid of events whose header carries none (PERFINFO). */
#define TH_NO_ID UINT32_MAX
/* `hook` of events that are not of a kernel class. */
#define TH_NO_HOOK UINT32_MAX

/* One event, decoded as far as its header. `payload`, `guid` and `extended` point into the buffer
   it came from and are valid until the next event is asked for. */
typedef struct th_event {
  int64_t time;            /* raw, in the session's clock */
  const uint8_t *payload;  /* `size` bytes */
  /* 16 bytes as on disk: provider or class (FULL, INSTANCE, EVENT), message GUID (MESSAGE that has
     one), else NULL */
  const uint8_t *guid;
  const uint8_t *extended; /* extended data items (EVENT), else NULL */
  uint64_t offset;         /* of the event in the file; of its buffer, when that is packed */
  uint32_t pid;            /* TH_NO_ID: the header has none */
  uint32_t tid;
  uint32_t hook;           /* group << 8 | opcode, also mapped from class GUIDs; TH_NO_HOOK */
  uint32_t size;           /* of the payload, bytes */
  uint32_t extended_size;
  uint16_t cpu;
  uint16_t logger;
  uint16_t id;             /* EVENT: event id; MESSAGE: message number */
  uint16_t version;        /* payload version */
  uint8_t kind;            /* th_header_kind */
  uint8_t opcode;
  uint8_t level;
  uint8_t pointer_size;    /* 4 or 8 */
} th_event;

/* "SYSTEM64" ...; NULL for a number that is no kind. Static text. */
const char *th_header_kind_name(unsigned kind);

#endif
