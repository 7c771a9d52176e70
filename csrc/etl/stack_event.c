#include "etl/stack_event.h"

#include "base/cursor.h"

#define EVENT_PART 16 /* time, pid, tid */

bool th_parse_stack(const th_event *event, th_stack_event *out) {
  const uint8_t *payload = event->payload;
  unsigned width = event->pointer_size;
  th_stack_event parsed = {.frame_size = (uint8_t)width};
  size_t frames_at = EVENT_PART;
  switch (event->hook) {
  case 0x1820:
    parsed.kind = TH_STACK_FRAMES;
    break;
  case 0x1822:
  case 0x1823:
  case 0x1824:
    parsed.kind = (uint8_t)(TH_STACK_KEY_CREATE + (event->hook - 0x1822));
    frames_at = width;
    break;
  case 0x1825:
  case 0x1826:
    parsed.kind = event->hook == 0x1825 ? TH_STACK_KERNEL_KEY : TH_STACK_USER_KEY;
    frames_at = EVENT_PART + width;
    break;
  default:
    return false;
  }
  if (event->size < frames_at)
    return false;
  if (frames_at != width) {
    parsed.time = (int64_t)th_load_u64(payload);
    parsed.pid = th_load_u32(payload + 8);
    parsed.tid = th_load_u32(payload + 12);
  }
  if (frames_at != EVENT_PART)
    parsed.key = th_load_ptr(payload + frames_at - width, width);
  if (frames_at != EVENT_PART + width) {
    parsed.frames = payload + frames_at;
    parsed.frame_count = (event->size - frames_at) / width;
  }
  *out = parsed;
  return true;
}
