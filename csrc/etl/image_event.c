#include "etl/image_event.h"

/* Loads are events of the process group; 0x1401 is reserved. */
static bool life_of(uint32_t hook, th_life *life) {
  switch (hook) {
  case 0x030a:
    *life = TH_LIFE_START;
    return true;
  case 0x1402:
  case 0x1403:
  case 0x1404:
    *life = (th_life)(hook - 0x1400);
    return true;
  default:
    return false;
  }
}

static bool parse(const th_event *event, unsigned width, th_image_event *out, bool *fits) {
  th_cursor cursor = th_cursor_of(event->payload, event->size);
  bool ended;
  if (!th_cursor_ptr(&cursor, width, &out->base) || !th_cursor_ptr(&cursor, width, &out->size))
    return false;
  out->pid = event->pid == TH_NO_ID ? 0 : event->pid;
  if (event->version >= 1 && !th_cursor_u32(&cursor, &out->pid))
    return false;
  if (event->version >= 2) {
    if (!th_cursor_u32(&cursor, &out->checksum) || !th_cursor_u32(&cursor, &out->timestamp))
      return false;
    out->has_checksum = true;
    /* Signature level and type (4), [pad to a pointer], default base, 16 bytes reserved. */
    if (!th_cursor_skip(&cursor, 4 + width + 16))
      return false;
  }
  th_cursor_utf16(&cursor, &out->path, &ended);
  *fits = ended && th_cursor_left(&cursor) == 0;
  return true;
}

bool th_parse_image(const th_event *event, th_image_event *out) {
  th_life life;
  if (!life_of(event->hook, &life))
    return false;
  unsigned width = event->pointer_size;
  th_image_event first = {0}, second = {0};
  bool fits = false, other_fits = false;
  bool parsed = parse(event, width, &first, &fits);
  if (!(parsed && fits) && th_payload_may_differ(event) &&
      parse(event, 12 - width, &second, &other_fits) && other_fits) {
    first = second;
    parsed = true;
  }
  if (!parsed)
    return false;
  first.life = life;
  *out = first;
  return true;
}
