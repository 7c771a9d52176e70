/* What stands where in a trace file. All numbers are little-endian; offsets are in bytes. */
#ifndef TH_ETL_LAYOUT_H
#define TH_ETL_LAYOUT_H

#include "base/cursor.h"

/* --- the head of every buffer ---------------------------------------------------------------- */

enum {
  TH_BUFFER_SIZE = 0x00,     /* u32: bytes of this buffer in the file */
  TH_BUFFER_SAVED = 0x04,    /* u32: valid bytes; of a packed buffer: its size when expanded */
  TH_BUFFER_CURRENT = 0x08,  /* u32: may lie beyond the buffer */
  TH_BUFFER_SEQUENCE = 0x18, /* i64 */
  TH_BUFFER_CPU = 0x28,      /* u16, or u8 and an alignment */
  TH_BUFFER_LOGGER = 0x2a,   /* u16 */
  TH_BUFFER_STATE = 0x2c,    /* u32; first buffer of a packed file: the format in the low half */
  TH_BUFFER_OFFSET = 0x30,   /* u32: valid bytes */
  TH_BUFFER_FLAGS = 0x34,    /* u16 */
  TH_BUFFER_TYPE = 0x36,     /* u16 */
  TH_BUFFER_HEAD = 0x48
};

enum {
  TH_BUFFER_FLAG_EVENTS_LOST = 0x02,
  TH_BUFFER_FLAG_BUFFER_LOST = 0x04,
  TH_BUFFER_FLAG_BACKUP_CORRUPT = 0x08,
  TH_BUFFER_FLAG_BACKUP = 0x10,
  TH_BUFFER_FLAG_CPU_INDEX = 0x20,
  TH_BUFFER_FLAG_PACKED = 0x40
};

/* The largest buffer a session can have is 16 MiB; nothing sound comes near this. */
#define TH_MAX_BUFFER UINT32_C(0x04000000)
#define TH_CPU_MASK 0x7ff

/* --- the head of an event -------------------------------------------------------------------- */

#define TH_EVENT_ALIGN 8
#define TH_END_MARK UINT32_C(0xffffffff)
#define TH_MARK_TRACE 0xc0   /* byte 3: the kind is in byte 2 */
#define TH_MARK_MESSAGE 0x90 /* byte 3: a WPP message, byte 2 means nothing */

/* SYSTEM and COMPACT */
enum {
  TH_SYSTEM_SIZE = 0x04,
  TH_SYSTEM_HOOK = 0x06,
  TH_SYSTEM_TID = 0x08,
  TH_SYSTEM_PID = 0x0c,
  TH_SYSTEM_TIME = 0x10
};
/* PERFINFO: size and hook as above */
enum { TH_PERFINFO_TIME = 0x08 };
/* The high byte of the version word of these three: what stands between head and payload. */
#define TH_EXTENSION_PEBS 0x8000
#define TH_EXTENSION_COUNTERS_SHIFT 8
#define TH_EXTENSION_COUNTERS_MASK 7

/* FULL, INSTANCE and EVENT */
enum {
  TH_FULL_TYPE = 0x04,
  TH_FULL_LEVEL = 0x05,
  TH_FULL_VERSION = 0x06,
  TH_FULL_TID = 0x08,
  TH_FULL_PID = 0x0c,
  TH_FULL_TIME = 0x10,
  TH_FULL_GUID = 0x18
};
enum {
  TH_EVENT_FLAGS = 0x04,
  TH_EVENT_ID = 0x28,
  TH_EVENT_VERSION = 0x2a,
  TH_EVENT_LEVEL = 0x2c,
  TH_EVENT_OPCODE = 0x2d
};
#define TH_EVENT_FLAG_EXTENDED 0x0001

/* One extended item: u16 size with these 8 bytes, u16 type, u16 linkage, u16 data size. */
enum { TH_ITEM_SIZE = 0, TH_ITEM_LINKAGE = 4, TH_ITEM_DATA_SIZE = 6, TH_ITEM_HEAD = 8 };
#define TH_ITEM_MORE 0x0001

/* MESSAGE */
enum { TH_MESSAGE_NUMBER = 0x04, TH_MESSAGE_OPTIONS = 0x06, TH_MESSAGE_HEAD = 0x08 };
enum {
  TH_MESSAGE_HAS_SEQUENCE = 0x01,
  TH_MESSAGE_HAS_GUID = 0x02,
  TH_MESSAGE_HAS_COMPONENT = 0x04,
  TH_MESSAGE_HAS_TIME = 0x08,
  TH_MESSAGE_HAS_IDS = 0x20,
  TH_MESSAGE_32_BIT = 0x40,
  TH_MESSAGE_64_BIT = 0x80
};

#endif
