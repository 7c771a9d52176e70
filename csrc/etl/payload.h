/* What the parsers of payloads share: the width of pointers, and texts. */
#ifndef TH_ETL_PAYLOAD_H
#define TH_ETL_PAYLOAD_H

#include "base/cursor.h"
#include "etl/event.h"

/* A text inside a payload: not aligned, without its NUL. */
typedef struct th_payload_text {
  const uint8_t *bytes;
  size_t units; /* of 1 byte (ANSI, UTF-8) or 2 bytes (UTF-16) */
} th_payload_text;

/* A kernel-class event with a class GUID may carry a payload of the other width than its header
   says: seen in files that a 32-bit program wrote out of 64-bit events. */
bool th_payload_may_differ(const th_event *event);

/* The width for a payload of fixed size: the header's, unless the length says otherwise. */
unsigned th_payload_width(const th_event *event, size_t narrow_size, size_t wide_size);

/* Reads a text up to its NUL, or up to the end when there is none (then *ended is false). */
void th_cursor_ansi(th_cursor *cursor, th_payload_text *text, bool *ended);
void th_cursor_utf16(th_cursor *cursor, th_payload_text *text, bool *ended);

/* Whether the 16 bytes at `guid`, which may be NULL, are those of the other. */
bool th_guid_is(const uint8_t *guid, const uint8_t other[16]);

#endif
