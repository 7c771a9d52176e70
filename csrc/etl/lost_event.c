#include "etl/lost_event.h"

#include "etl/payload.h"

/* 6a399ae0-4bc6-4de9-870b-3657f8947e7e */
static const uint8_t guid[16] = {0xe0, 0x9a, 0x39, 0x6a, 0xc6, 0x4b, 0xe9, 0x4d,
                                 0x87, 0x0b, 0x36, 0x57, 0xf8, 0x94, 0x7e, 0x7e};

bool th_parse_lost(const th_event *event, th_lost_kind *out) {
  if (event->opcode < 32 || event->opcode > 34 || !th_guid_is(event->guid, guid))
    return false;
  *out = (th_lost_kind)(event->opcode - 32);
  return true;
}
