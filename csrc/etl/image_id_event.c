#include "etl/image_id_event.h"

/* b3e675d7-2554-4f18-830b-2762732560de */
static const uint8_t guid[16] = {0xd7, 0x75, 0xe6, 0xb3, 0x54, 0x25, 0x18, 0x4f,
                                 0x83, 0x0b, 0x27, 0x62, 0x73, 0x25, 0x60, 0xde};

#define INFO 0
#define DBGID_RSDS 36

bool th_is_image_id_provider(const th_event *event) { return th_guid_is(event->guid, guid); }

bool th_is_image_id(const th_event *event) {
  return (event->opcode == INFO || event->opcode == DBGID_RSDS) && th_is_image_id_provider(event);
}

/* *fits: the PDB's name ends with the payload. */
static bool parse_pdb(const th_event *event, unsigned width, th_image_id_event *out, bool *fits) {
  th_cursor cursor = th_cursor_of(event->payload, event->size);
  bool ended;
  out->kind = TH_IMAGE_ID_PDB;
  if (!th_cursor_ptr(&cursor, width, &out->base) || !th_cursor_u32(&cursor, &out->pid) ||
      !th_cursor_take(&cursor, 16, &out->pdb_guid) || !th_cursor_u32(&cursor, &out->pdb_age))
    return false;
  th_cursor_ansi(&cursor, &out->pdb_name, &ended);
  *fits = ended && th_cursor_left(&cursor) == 0;
  return true;
}

static bool parse_info(const th_event *event, th_image_id_event *out) {
  th_cursor cursor = th_cursor_of(event->payload, event->size);
  unsigned width = event->pointer_size;
  uint64_t ignored;
  out->kind = TH_IMAGE_ID_INFO;
  return th_cursor_ptr(&cursor, width, &out->base) && th_cursor_ptr(&cursor, width, &ignored) &&
         th_cursor_u32(&cursor, &out->pid) && th_cursor_u32(&cursor, &out->timestamp);
}

bool th_parse_image_id(const th_event *event, th_image_id_event *out) {
  if (!th_is_image_id(event))
    return false;
  th_image_id_event first = {0}, second = {0};
  bool fits = false, other_fits = false, parsed;
  if (event->opcode == INFO) {
    parsed = parse_info(event, &first);
  } else {
    unsigned width = event->pointer_size;
    parsed = parse_pdb(event, width, &first, &fits);
    if (!(parsed && fits) && th_payload_may_differ(event) &&
        parse_pdb(event, 12 - width, &second, &other_fits) && other_fits) {
      first = second;
      parsed = true;
    }
  }
  if (!parsed)
    return false;
  *out = first;
  return true;
}
