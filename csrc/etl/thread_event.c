#include "etl/thread_event.h"

bool th_is_thread(const th_event *event) {
  return event->hook - 0x0501 <= 3 && event->version >= 2;
}

/* pid, tid, four limits of stacks, affinity, start address, TEB, tag; since version 3 four bytes
   of priorities; then, on newer systems, a name. */
static size_t fixed_size(const th_event *event, unsigned width) {
  return 8 + 7 * width + (event->version >= 3 ? 8 : 4);
}

/* Whether the payload is of this width to the byte. */
static bool fits(const th_event *event, unsigned width) {
  size_t fixed = fixed_size(event, width);
  if (event->size <= fixed)
    return event->size == fixed;
  th_cursor cursor = th_cursor_of(event->payload + fixed, event->size - fixed);
  th_payload_text name;
  bool ended;
  th_cursor_utf16(&cursor, &name, &ended);
  return ended && th_cursor_left(&cursor) == 0;
}

bool th_parse_thread(const th_event *event, th_thread_event *out) {
  if (!th_is_thread(event))
    return false;
  unsigned width = event->pointer_size;
  if (th_payload_may_differ(event) && !fits(event, width) && fits(event, 12 - width))
    width = 12 - width;
  size_t fixed = fixed_size(event, width);
  if (event->size < fixed)
    return false;
  th_thread_event parsed = {.life = (th_life)(event->hook - 0x0500),
                            .pid = th_load_u32(event->payload),
                            .tid = th_load_u32(event->payload + 4),
                            .start_address = th_load_ptr(event->payload + 8 + 5 * width, width)};
  if (event->version >= 3 && event->size >= fixed + 2) {
    th_cursor cursor = th_cursor_of(event->payload + fixed, event->size - fixed);
    bool ended;
    th_cursor_utf16(&cursor, &parsed.name, &ended);
  }
  *out = parsed;
  return true;
}
