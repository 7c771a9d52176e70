#include "etl/guid_hook.h"

#include "base/cursor.h"
#include "etl/event.h"

/* A GUID as two numbers, so that comparing is two instructions. */
typedef struct guid_group {
  uint64_t low, high;
  uint8_t group;
} guid_group;

/* data1, data2, data3 are little-endian on disk, the last eight bytes stand as they are written. */
#define GUID_GROUP(group, d1, d2, d3, b0, b1, b2, b3, b4, b5, b6, b7)                              \
  {                                                                                                \
    UINT64_C(d1) | UINT64_C(d2) << 32 | UINT64_C(d3) << 48,                                        \
        UINT64_C(b0) | UINT64_C(b1) << 8 | UINT64_C(b2) << 16 | UINT64_C(b3) << 24 |               \
            UINT64_C(b4) << 32 | UINT64_C(b5) << 40 | UINT64_C(b6) << 48 | UINT64_C(b7) << 56,     \
        group                                                                                      \
  }

enum { GROUP_IMAGE = 0x14, OPCODE_LOAD = 10 };

static const guid_group groups[] = {
    /* Heap: first, because it is what this is for */
    GUID_GROUP(0x10, 0x222962ab, 0x6180, 0x4b88, 0xa8, 0x25, 0x34, 0x6b, 0x75, 0xf2, 0xa2, 0x4a),
    /* StackWalk */
    GUID_GROUP(0x18, 0xdef2fe46, 0x7bd6, 0x4b80, 0xbd, 0x94, 0xf5, 0x7f, 0xe2, 0x0d, 0x0c, 0xe3),
    /* Thread */
    GUID_GROUP(0x05, 0x3d6fa8d1, 0xfe05, 0x11d0, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c),
    /* Image */
    GUID_GROUP(0x14, 0x2cb15d1d, 0x5fc1, 0x11d2, 0xab, 0xe1, 0x00, 0xa0, 0xc9, 0x11, 0xf5, 0x18),
    /* Process */
    GUID_GROUP(0x03, 0x3d6fa8d0, 0xfe05, 0x11d0, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c),
    /* PageFault: heap ranges, virtual memory */
    GUID_GROUP(0x02, 0x3d6fa8d3, 0xfe05, 0x11d0, 0x9d, 0xda, 0x00, 0xc0, 0x4f, 0xd7, 0xba, 0x7c),
    /* PerfInfo */
    GUID_GROUP(0x0f, 0xce1dbfb4, 0x137e, 0x4da6, 0x87, 0xb0, 0x3f, 0x59, 0xaa, 0x10, 0x2c, 0xbc),
    /* EventTrace */
    GUID_GROUP(0x00, 0x68fdd900, 0x4a3e, 0x11d1, 0x84, 0xf4, 0x00, 0x00, 0xf8, 0x04, 0x64, 0xe3),
    /* SystemConfig */
    GUID_GROUP(0x0b, 0x01853a65, 0x418f, 0x4f36, 0xae, 0xfc, 0xdc, 0x0f, 0x1d, 0x2f, 0xd2, 0x35),
    /* CritSec */
    GUID_GROUP(0x17, 0x3ac66736, 0xcc59, 0x4cff, 0x81, 0x15, 0x8d, 0xf5, 0x0e, 0x39, 0x81, 0x6b),
    /* ThreadPool */
    GUID_GROUP(0x1c, 0xc861d0e2, 0xa2c1, 0x4d36, 0x9f, 0x9c, 0x97, 0x0b, 0xab, 0x94, 0x3a, 0x12),
};

uint32_t th_guid_hook(const uint8_t *guid, unsigned opcode) {
  uint64_t low = th_load_u64(guid), high = th_load_u64(guid + 8);
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
    if (groups[i].low != low || groups[i].high != high)
      continue;
    if (groups[i].group == GROUP_IMAGE && opcode == OPCODE_LOAD)
      return TH_HOOK_IMAGE_LOAD;
    return (uint32_t)groups[i].group << 8 | opcode;
  }
  return TH_NO_HOOK;
}
