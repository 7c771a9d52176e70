#include "etl/header.h"

#include "etl/guid_hook.h"

#define AT_START 0
#define AT_FOUR 32

const th_kind_layout th_kind_layouts[TH_KIND_LAYOUTS] = {
    [TH_HEADER_SYSTEM32] = {0x20, AT_FOUR, TH_SYSTEM_TIME, 4},
    [TH_HEADER_SYSTEM64] = {0x20, AT_FOUR, TH_SYSTEM_TIME, 8},
    [TH_HEADER_COMPACT32] = {0x18, AT_FOUR, TH_SYSTEM_TIME, 4},
    [TH_HEADER_COMPACT64] = {0x18, AT_FOUR, TH_SYSTEM_TIME, 8},
    [TH_HEADER_FULL32] = {0x30, AT_START, TH_FULL_TIME, 4},
    [TH_HEADER_INSTANCE32] = {0x48, AT_START, TH_FULL_TIME, 4},
    [TH_HEADER_TIMED] = {8, AT_START, 0, 8},
    [TH_HEADER_ERROR] = {8, AT_START, 0, 8},
    [TH_HEADER_WNODE] = {8, AT_START, 0, 8},
    [TH_HEADER_MESSAGE] = {TH_MESSAGE_HEAD, AT_START, 0, 8},
    [TH_HEADER_PERFINFO32] = {0x10, AT_FOUR, TH_PERFINFO_TIME, 4},
    [TH_HEADER_PERFINFO64] = {0x10, AT_FOUR, TH_PERFINFO_TIME, 8},
    [TH_HEADER_EVENT32] = {0x50, AT_START, TH_FULL_TIME, 4},
    [TH_HEADER_EVENT64] = {0x50, AT_START, TH_FULL_TIME, 8},
    [TH_HEADER_FULL64] = {0x30, AT_START, TH_FULL_TIME, 8},
    [TH_HEADER_INSTANCE64] = {0x48, AT_START, TH_FULL_TIME, 8},
};

static const char *const names[TH_HEADER_KINDS] = {
    [TH_HEADER_SYSTEM32] = "SYSTEM32",     [TH_HEADER_SYSTEM64] = "SYSTEM64",
    [TH_HEADER_COMPACT32] = "COMPACT32",   [TH_HEADER_COMPACT64] = "COMPACT64",
    [TH_HEADER_FULL32] = "FULL32",         [TH_HEADER_INSTANCE32] = "INSTANCE32",
    [TH_HEADER_TIMED] = "TIMED",           [TH_HEADER_ERROR] = "ERROR",
    [TH_HEADER_WNODE] = "WNODE",           [TH_HEADER_MESSAGE] = "MESSAGE",
    [TH_HEADER_PERFINFO32] = "PERFINFO32", [TH_HEADER_PERFINFO64] = "PERFINFO64",
    [TH_HEADER_EVENT32] = "EVENT32",       [TH_HEADER_EVENT64] = "EVENT64",
    [TH_HEADER_FULL64] = "FULL64",         [TH_HEADER_INSTANCE64] = "INSTANCE64",
    [TH_HEADER_LIVE] = "LIVE",
};

const char *th_header_kind_name(unsigned kind) {
  return kind < TH_HEADER_KINDS ? names[kind] : NULL;
}

/* The optional parts of a MESSAGE, in their order. False when they go past its end. */
typedef struct message_parts {
  const uint8_t *guid, *time, *ids;
  th_cursor rest;
} message_parts;

static bool message_split(const uint8_t *at, size_t size, message_parts *parts) {
  unsigned options = th_load_u16(at + TH_MESSAGE_OPTIONS);
  th_cursor *cursor = &parts->rest;
  *parts = (message_parts){.rest = th_cursor_of(at + TH_MESSAGE_HEAD, size - TH_MESSAGE_HEAD)};
  if (options & TH_MESSAGE_HAS_SEQUENCE && !th_cursor_skip(cursor, 4))
    return false;
  if (options & TH_MESSAGE_HAS_COMPONENT) {
    if (!th_cursor_skip(cursor, 4))
      return false;
  } else if (options & TH_MESSAGE_HAS_GUID && !th_cursor_take(cursor, 16, &parts->guid)) {
    return false;
  }
  if (options & TH_MESSAGE_HAS_TIME && !th_cursor_take(cursor, 8, &parts->time))
    return false;
  return !(options & TH_MESSAGE_HAS_IDS) || th_cursor_take(cursor, 8, &parts->ids);
}

bool th_message_time(const uint8_t *at, size_t size, int64_t *time) {
  message_parts parts;
  (void)message_split(at, size, &parts);
  if (!parts.time)
    return false;
  *time = (int64_t)th_load_u64(parts.time);
  return true;
}

static bool decode_message(const uint8_t *at, uint32_t size, th_event *event) {
  message_parts parts;
  if (!message_split(at, size, &parts))
    return false;
  event->guid = parts.guid;
  event->id = th_load_u16(at + TH_MESSAGE_NUMBER);
  event->pointer_size = th_load_u16(at + TH_MESSAGE_OPTIONS) & TH_MESSAGE_32_BIT ? 4 : 8;
  if (parts.ids) {
    event->tid = th_load_u32(parts.ids);
    event->pid = th_load_u32(parts.ids + 4);
  }
  event->payload = parts.rest.at;
  event->size = (uint32_t)th_cursor_left(&parts.rest);
  return true;
}

/* SYSTEM, COMPACT and PERFINFO; the head is there. */
static bool decode_kernel(const uint8_t *at, uint32_t size, unsigned kind, th_event *event) {
  uint32_t head = th_kind_layouts[kind].head;
  uint32_t word = th_load_u16(at);
  if (TH_UNLIKELY(word >> 8)) {
    head += word & TH_EXTENSION_PEBS ? 8 : 0;
    head += (word >> TH_EXTENSION_COUNTERS_SHIFT & TH_EXTENSION_COUNTERS_MASK) * 8;
    if (head > size)
      return false;
  }
  event->version = word & 0xff;
  event->hook = th_load_u16(at + TH_SYSTEM_HOOK);
  event->opcode = event->hook & 0xff;
  if (kind < TH_HEADER_PERFINFO32) {
    event->tid = th_load_u32(at + TH_SYSTEM_TID);
    event->pid = th_load_u32(at + TH_SYSTEM_PID);
  }
  event->payload = at + head;
  event->size = size - head;
  return true;
}

/* FULL and INSTANCE; the head is there. */
static void decode_full(const uint8_t *at, uint32_t size, unsigned kind, th_event *event) {
  uint32_t head = th_kind_layouts[kind].head;
  event->guid = at + TH_FULL_GUID;
  event->opcode = at[TH_FULL_TYPE];
  event->level = at[TH_FULL_LEVEL];
  event->version = th_load_u16(at + TH_FULL_VERSION);
  event->tid = th_load_u32(at + TH_FULL_TID);
  event->pid = th_load_u32(at + TH_FULL_PID);
  if (kind == TH_HEADER_FULL32 || kind == TH_HEADER_FULL64)
    event->hook = th_guid_hook(event->guid, event->opcode);
  event->payload = at + head;
  event->size = size - head;
}

/* Length of the chain of extended items at the cursor, which it moves behind them. */
static bool skip_items(th_cursor *cursor) {
  const uint8_t *item;
  unsigned linkage;
  do {
    if (!th_cursor_take(cursor, TH_ITEM_HEAD, &item))
      return false;
    uint32_t size = th_load_u16(item + TH_ITEM_SIZE);
    linkage = th_load_u16(item + TH_ITEM_LINKAGE);
    if (size < TH_ITEM_HEAD || th_load_u16(item + TH_ITEM_DATA_SIZE) > size - TH_ITEM_HEAD ||
        !th_cursor_skip(cursor, size - TH_ITEM_HEAD))
      return false;
  } while (linkage & TH_ITEM_MORE);
  return true;
}

static bool decode_event(const uint8_t *at, uint32_t size, unsigned kind, th_event *event) {
  uint32_t head = th_kind_layouts[kind].head;
  th_cursor cursor = th_cursor_of(at + head, size - head);
  if (th_load_u16(at + TH_EVENT_FLAGS) & TH_EVENT_FLAG_EXTENDED) {
    if (!skip_items(&cursor))
      return false;
    event->extended = at + head;
    event->extended_size = (uint32_t)(cursor.at - event->extended);
  }
  event->guid = at + TH_FULL_GUID;
  event->id = th_load_u16(at + TH_EVENT_ID);
  event->version = at[TH_EVENT_VERSION];
  event->level = at[TH_EVENT_LEVEL];
  event->opcode = at[TH_EVENT_OPCODE];
  event->tid = th_load_u32(at + TH_FULL_TID);
  event->pid = th_load_u32(at + TH_FULL_PID);
  event->hook = th_guid_hook(event->guid, event->opcode);
  event->payload = cursor.at;
  event->size = (uint32_t)th_cursor_left(&cursor);
  return true;
}

bool th_header_decode(const uint8_t *at, uint32_t size, unsigned kind, th_event *event) {
  event->guid = event->extended = NULL;
  event->extended_size = 0;
  event->pid = event->tid = TH_NO_ID;
  event->hook = TH_NO_HOOK;
  event->id = event->version = 0;
  event->kind = (uint8_t)kind;
  event->opcode = event->level = 0;
  event->pointer_size = th_kind_layouts[kind].pointer_size;
  switch (kind) {
  case TH_HEADER_SYSTEM32:
  case TH_HEADER_SYSTEM64:
  case TH_HEADER_COMPACT32:
  case TH_HEADER_COMPACT64:
  case TH_HEADER_PERFINFO32:
  case TH_HEADER_PERFINFO64: return decode_kernel(at, size, kind, event);
  case TH_HEADER_FULL32:
  case TH_HEADER_FULL64:
  case TH_HEADER_INSTANCE32:
  case TH_HEADER_INSTANCE64: decode_full(at, size, kind, event); return true;
  case TH_HEADER_EVENT32:
  case TH_HEADER_EVENT64: return decode_event(at, size, kind, event);
  case TH_HEADER_MESSAGE: return decode_message(at, size, event);
  default: /* TIMED, ERROR, WNODE: handed through behind their first 8 bytes */
    event->payload = at + th_kind_layouts[kind].head;
    event->size = size - th_kind_layouts[kind].head;
    return true;
  }
}
