#include "etl/volume_event.h"

/* 9b79ee91-b5fd-41c0-a243-4248e266e9d0 */
static const uint8_t guid[16] = {0x91, 0xee, 0x79, 0x9b, 0xfd, 0xb5, 0xc0, 0x41,
                                 0xa2, 0x43, 0x42, 0x48, 0xe2, 0x66, 0xe9, 0xd0};

#define VOLUME_MAPPING 35

bool th_parse_volume(const th_event *event, th_volume_event *out) {
  if (event->opcode != VOLUME_MAPPING || !th_guid_is(event->guid, guid))
    return false;
  th_cursor cursor = th_cursor_of(event->payload, event->size);
  th_volume_event parsed;
  bool ended;
  th_cursor_utf16(&cursor, &parsed.nt_path, &ended);
  th_cursor_utf16(&cursor, &parsed.dos_path, &ended);
  *out = parsed;
  return true;
}
