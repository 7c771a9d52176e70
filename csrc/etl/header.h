/* The head of one event: where its size and time stand, and how it becomes the uniform event. */
#ifndef TH_ETL_HEADER_H
#define TH_ETL_HEADER_H

#include "etl/event.h"
#include "etl/layout.h"

/* What walking a buffer needs to know of each kind; all 0 for a number that is no kind. */
typedef struct th_kind_layout {
  uint8_t head;       /* bytes of the header */
  uint8_t size_shift; /* of the u16 size in the event's first 8 bytes, bits */
  uint8_t time;       /* offset of the time stamp; 0: has none, or not at a fixed place */
  uint8_t pointer_size;
} th_kind_layout;

#define TH_KIND_LAYOUTS 256
extern const th_kind_layout th_kind_layouts[TH_KIND_LAYOUTS];

/* The time stamp of a MESSAGE of `size` bytes; false when it has none, or not whole. */
bool th_message_time(const uint8_t *at, size_t size, int64_t *time);

/* Fills everything of `event` that is in the event's own bytes: all but time, offset, cpu, logger.
   `kind` and `size` are those that the walk found, so that bytes which change meanwhile (shared
   memory) do no harm. False when the inside of the header is wrong. */
bool th_header_decode(const uint8_t *at, uint32_t size, unsigned kind, th_event *event);

#endif
