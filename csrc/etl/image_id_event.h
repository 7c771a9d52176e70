/* Payloads of the ImageID events that merging adds: what a symbol server needs to know a module
   by. Provider b3e675d7-2554-4f18-830b-2762732560de. */
#ifndef TH_ETL_IMAGE_ID_EVENT_H
#define TH_ETL_IMAGE_ID_EVENT_H

#include "etl/payload.h"

typedef enum th_image_id_kind {
  TH_IMAGE_ID_INFO, /* time stamp and original name */
  TH_IMAGE_ID_PDB   /* GUID, age and name of the PDB (RSDS) */
} th_image_id_kind;

typedef struct th_image_id_event {
  th_image_id_kind kind;
  uint32_t pid;
  uint64_t base;
  uint32_t timestamp;       /* INFO */
  const uint8_t *pdb_guid;  /* PDB: 16 bytes as on disk */
  uint32_t pdb_age;         /* PDB */
  th_payload_text pdb_name; /* PDB: ANSI or UTF-8 */
} th_image_id_event;

/* Whether the event is of this provider. */
bool th_is_image_id_provider(const th_event *event);
/* Whether it says one of these. */
bool th_is_image_id(const th_event *event);
/* False: not such an event, or too short. */
bool th_parse_image_id(const th_event *event, th_image_id_event *out);

#endif
