/* Payloads of the SysConfigEx events that merging adds: which drive letter stood for which volume.
   Class 9b79ee91-b5fd-41c0-a243-4248e266e9d0. */
#ifndef TH_ETL_VOLUME_EVENT_H
#define TH_ETL_VOLUME_EVENT_H

#include "etl/payload.h"

typedef struct th_volume_event {
  th_payload_text nt_path;  /* UTF-16: "\Device\HarddiskVolume3\" */
  th_payload_text dos_path; /* UTF-16: "C:\" */
} th_volume_event;

/* False: not a volume mapping. */
bool th_parse_volume(const th_event *event, th_volume_event *out);

#endif
