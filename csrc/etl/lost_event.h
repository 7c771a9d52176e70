/* Losses that a real-time session reports as events. Class 6a399ae0-4bc6-4de9-870b-3657f8947e7e. */
#ifndef TH_ETL_LOST_EVENT_H
#define TH_ETL_LOST_EVENT_H

#include "etl/event.h"

typedef enum th_lost_kind {
  TH_LOST_EVENTS, /* one event or more */
  TH_LOST_BUFFER,
  TH_LOST_BACKUP /* trouble with the file that keeps what was not delivered in time */
} th_lost_kind;

/* False: not such an event. They have no payload: how much was lost is not said. */
bool th_parse_lost(const th_event *event, th_lost_kind *out);

#endif
