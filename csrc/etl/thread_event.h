/* Payloads of the thread events (group 0x05, opcodes 1 to 4), versions 2 and later. */
#ifndef TH_ETL_THREAD_EVENT_H
#define TH_ETL_THREAD_EVENT_H

#include "etl/process_event.h"

typedef struct th_thread_event {
  th_life life;
  uint32_t pid, tid;
  uint64_t start_address; /* the Win32 one */
  th_payload_text name;   /* UTF-16; no bytes (NULL) where there is none */
} th_thread_event;

/* Whether it is such an event. */
bool th_is_thread(const th_event *event);
/* False: not such an event, or its payload is too short. */
bool th_parse_thread(const th_event *event, th_thread_event *out);

#endif
