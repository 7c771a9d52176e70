#include "etl/heap_event.h"

#include "etl/payload.h"

const char *const th_heap_kind_names[TH_HEAP_KINDS + 1] = {
    "create",           "alloc",           "realloc",  "destroy",  "free",
    "expand",           "snapshot",        "create_snapshot",      "destroy_snapshot",
    "extend_snapshot",  "contract",        "lock",     "unlock",   "validate",
    "walk",             "other",           NULL,
};

#define HEAP TH_HEAP_HAS_HEAP
#define BLOCK (TH_HEAP_HAS_HEAP | TH_HEAP_HAS_ADDRESS | TH_HEAP_HAS_SIZE)
#define SIZE(n) {n, n, n, n}

/* Lengths and offsets as the public structures give them, packed, for pointers of p bytes. */
#define LAYOUTS(p)                                                                                 \
  [32] = {{p + 4, p + 4, p + 4, 4 * p + 4}, TH_HEAP_CREATE, HEAP, 0, 0, 0, 0, 0},                  \
  [33] = {SIZE(3 * p + 4), TH_HEAP_ALLOC, BLOCK | TH_HEAP_HAS_SOURCE, 2 * p, p, 0, 0, 3 * p},      \
  [34] = {SIZE(5 * p + 4), TH_HEAP_REALLOC, BLOCK | TH_HEAP_HAS_OLD | TH_HEAP_HAS_SOURCE,          \
          p, 3 * p, 2 * p, 4 * p, 5 * p},                                                          \
  [35] = {SIZE(p), TH_HEAP_DESTROY, HEAP, 0, 0, 0, 0, 0},                                          \
  [36] = {SIZE(2 * p + 4), TH_HEAP_FREE, HEAP | TH_HEAP_HAS_ADDRESS | TH_HEAP_HAS_SOURCE,          \
          p, 0, 0, 0, 2 * p},                                                                      \
  [37] = {{6 * p + 4, 6 * p + 4, 6 * p + 4, 7 * p + 4}, TH_HEAP_EXPAND, BLOCK, 2 * p, p, 0, 0, 0}, \
  [38] = {{4 * p + 4, 4 * p + 4, 5 * p + 16, 6 * p + 16}, TH_HEAP_SNAPSHOT, HEAP, 0, 0, 0, 0, 0},  \
  [39] = {SIZE(p), TH_HEAP_CREATE_SNAPSHOT, HEAP, 0, 0, 0, 0, 0},                                  \
  [40] = {SIZE(p), TH_HEAP_DESTROY_SNAPSHOT, HEAP, 0, 0, 0, 0, 0},                                 \
  [41] = {SIZE(p), TH_HEAP_EXTEND_SNAPSHOT, HEAP, 0, 0, 0, 0, 0},                                  \
  [42] = {{6 * p + 4, 6 * p + 4, 6 * p + 4, 7 * p + 4}, TH_HEAP_CONTRACT, BLOCK,                   \
          2 * p, p, 0, 0, 0},                                                                      \
  [43] = {SIZE(p), TH_HEAP_LOCK, HEAP, 0, 0, 0, 0, 0},                                             \
  [44] = {SIZE(p), TH_HEAP_UNLOCK, HEAP, 0, 0, 0, 0, 0},                                           \
  [45] = {SIZE(p), TH_HEAP_VALIDATE, HEAP, 0, 0, 0, 0, 0},                                         \
  [46] = {SIZE(p), TH_HEAP_WALK, HEAP, 0, 0, 0, 0, 0}

/* Every opcode without a row of its own: the handle comes first wherever the layout is known. */
#define OTHER(p) {SIZE(p), TH_HEAP_OTHER, HEAP, 0, 0, 0, 0, 0}
#define OTHER_4(p, from)                                                                           \
  [(from)] = OTHER(p), [(from) + 1] = OTHER(p), [(from) + 2] = OTHER(p), [(from) + 3] = OTHER(p)
#define OTHER_16(p, from)                                                                          \
  OTHER_4(p, from), OTHER_4(p, (from) + 4), OTHER_4(p, (from) + 8), OTHER_4(p, (from) + 12)
#define OTHERS(p)                                                                                  \
  OTHER_16(p, 0), OTHER_16(p, 16), [47] = OTHER(p), OTHER_16(p, 48), OTHER_16(p, 64),              \
      OTHER_16(p, 80), OTHER_16(p, 96), OTHER_16(p, 112), OTHER_16(p, 128), OTHER_16(p, 144),      \
      OTHER_16(p, 160), OTHER_16(p, 176), OTHER_16(p, 192), OTHER_16(p, 208), OTHER_16(p, 224),    \
      OTHER_16(p, 240)

const th_heap_layout th_heap_layouts[2][256] = {{OTHERS(4), LAYOUTS(4)}, {OTHERS(8), LAYOUTS(8)}};

bool th_parse_heap_odd(const th_event *event, th_heap_payload *out) {
  bool wide = event->pointer_size == 8;
  if (th_is_heap_opcode(event->opcode)) {
    unsigned version = event->version < 3 ? event->version : 3;
    wide = th_payload_width(event, th_heap_layouts[0][event->opcode].min_size[version],
                            th_heap_layouts[1][event->opcode].min_size[version]) == 8;
    return th_parse_heap(event, wide, out);
  }
  if (th_parse_heap(event, wide, out))
    return true;
  *out = (th_heap_payload){.kind = th_heap_layouts[0][event->opcode].kind};
  return true;
}
