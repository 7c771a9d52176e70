#include "etl/payload.h"

bool th_payload_may_differ(const th_event *event) {
  return event->kind == TH_HEADER_FULL32 || event->kind == TH_HEADER_FULL64;
}

unsigned th_payload_width(const th_event *event, size_t narrow_size, size_t wide_size) {
  unsigned width = event->pointer_size;
  if (!th_payload_may_differ(event) || event->size == (width == 8 ? wide_size : narrow_size))
    return width;
  return event->size == (width == 8 ? narrow_size : wide_size) ? 12 - width : width;
}

void th_cursor_ansi(th_cursor *cursor, th_payload_text *text, bool *ended) {
  const uint8_t *from = cursor->at;
  size_t left = th_cursor_left(cursor);
  const uint8_t *nul = left ? memchr(from, 0, left) : NULL;
  size_t size = nul ? (size_t)(nul - from) : left;
  *text = (th_payload_text){from, size};
  *ended = nul != NULL;
  cursor->at = from + size + (nul ? 1 : 0);
}

void th_cursor_utf16(th_cursor *cursor, th_payload_text *text, bool *ended) {
  const uint8_t *from = cursor->at;
  size_t left = th_cursor_left(cursor) / 2, units = 0;
  while (units < left && (from[2 * units] | from[2 * units + 1]))
    units++;
  *text = (th_payload_text){from, units};
  *ended = units < left;
  cursor->at = from + 2 * (units + (*ended ? 1 : 0));
}

bool th_guid_is(const uint8_t *guid, const uint8_t other[16]) {
  return guid && memcmp(guid, other, 16) == 0;
}
