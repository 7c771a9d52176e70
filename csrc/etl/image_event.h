/* Payloads of the image events: a module came, went, or was there. */
#ifndef TH_ETL_IMAGE_EVENT_H
#define TH_ETL_IMAGE_EVENT_H

#include "etl/process_event.h"

typedef struct th_image_event {
  th_life life;
  uint32_t pid; /* of the payload; of the header in version 0 */
  uint64_t base, size;
  uint32_t checksum, timestamp; /* 0 in versions 0 and 1 ... */
  bool has_checksum;            /* ... which do not have them */
  th_payload_text path;         /* UTF-16, as the kernel names it */
} th_image_event;

/* False: not such an event, or its payload is too short. */
bool th_parse_image(const th_event *event, th_image_event *out);

#endif
