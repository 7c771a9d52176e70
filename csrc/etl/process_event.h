/* Payloads of the process events (group 0x03, opcodes 1 to 4), versions 0 to 5. */
#ifndef TH_ETL_PROCESS_EVENT_H
#define TH_ETL_PROCESS_EVENT_H

#include "etl/payload.h"

typedef enum th_life {
  TH_LIFE_START = 1,
  TH_LIFE_END = 2,
  TH_LIFE_RUNDOWN_START = 3, /* was there when the session began */
  TH_LIFE_RUNDOWN_END = 4    /* was there when it ended */
} th_life;

typedef struct th_process_event {
  th_life life;
  uint32_t pid, ppid;
  uint32_t session_id;
  int32_t exit_status;  /* 259 while it runs */
  bool has_session;     /* false in version 0, which has neither of the two */
  uint8_t bits;         /* 32 or 64; 0: the payload does not say */
  th_payload_text name; /* ANSI */
  th_payload_text command_line; /* UTF-16; no bytes (NULL) in versions 0 and 1 */
} th_process_event;

/* False: not such an event, or its payload is too short. */
bool th_parse_process(const th_event *event, th_process_event *out);

#endif
