/* Payloads of the StackWalk events (group 0x18): stacks, uses of stack keys, and their meanings. */
#ifndef TH_ETL_STACK_EVENT_H
#define TH_ETL_STACK_EVENT_H

#include "etl/event.h"

typedef enum th_stack_kind {
  TH_STACK_FRAMES,     /* a stack of an event, or a part of it */
  TH_STACK_KEY_CREATE, /* never seen in a file */
  TH_STACK_KEY_DELETE, /* the frames of a key, which ends here */
  TH_STACK_KEY_RUNDOWN,
  TH_STACK_KERNEL_KEY, /* the kernel part of an event's stack is that of a key */
  TH_STACK_USER_KEY
} th_stack_kind;

typedef struct th_stack_event {
  int64_t time;          /* raw time of the event it belongs to (FRAMES and keys in use) */
  uint64_t key;          /* all but FRAMES */
  const uint8_t *frames; /* `frame_count` pointers of `frame_size` bytes, innermost first */
  size_t frame_count;
  uint32_t pid, tid; /* of that event (FRAMES and keys in use) */
  uint8_t frame_size;
  uint8_t kind; /* th_stack_kind */
} th_stack_event;

/* False: not a stack event, or too short. */
bool th_parse_stack(const th_event *event, th_stack_event *out);

/* Whether a frame is an address in the kernel's half: above 2 GiB only where the kernel itself has
   32-bit pointers, as a 32-bit process of a 64-bit system owns all of its 4 GiB. On a 32-bit system
   that was started with a larger user half the answer is wrong for the part above 2 GiB. */
TH_INLINE bool th_is_kernel_frame(uint64_t frame, unsigned frame_size, unsigned system_pointers) {
  return frame_size == 8 ? frame >> 63 != 0 : system_pointers == 4 && frame >= 0x80000000u;
}

#endif
