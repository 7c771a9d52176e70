#include "etl/process_event.h"

#define FLAG_WOW64 2u

/* The first bytes of a SID: revision 1, up to 15 sub-authorities, six bytes of authority of which
   every known one leaves the first four 0. */
static bool is_sid(const uint8_t *at, size_t size) {
  return size >= 8 && at[0] == 1 && at[1] <= 15 && (at[2] | at[3] | at[4] | at[5]) == 0 &&
         size >= 8 + 4u * at[1];
}

/* Skips the user: 4 bytes of 0 when there is none, else a TOKEN_USER (two pointers of rubbish) and
   a SID. Tools wrote files whose TOKEN_USER is all 0 with a SID behind it. */
static bool skip_user(th_cursor *cursor, unsigned width) {
  size_t left = th_cursor_left(cursor), token = 2 * width;
  if (left < 4)
    return false;
  bool sid_behind = left > token && is_sid(cursor->at + token, left - token);
  if (th_load_u32(cursor->at) == 0 && !sid_behind)
    return th_cursor_skip(cursor, 4);
  if (left < token + 8 || cursor->at[token] != 1 || cursor->at[token + 1] > 15)
    return false;
  return th_cursor_skip(cursor, token + 8 + 4u * cursor->at[token + 1]);
}

/* *fits: every text of the version ended, and nothing is left behind the last. */
static bool parse(const th_event *event, unsigned width, th_process_event *out, bool *fits) {
  th_cursor cursor = th_cursor_of(event->payload, event->size);
  unsigned version = event->version;
  uint64_t ignored, pid, ppid;
  uint32_t flags = 0, exit_status;
  if (version == 0) {
    if (!th_cursor_ptr(&cursor, width, &pid) || !th_cursor_ptr(&cursor, width, &ppid))
      return false;
    out->pid = (uint32_t)pid;
    out->ppid = (uint32_t)ppid;
  } else {
    if (!th_cursor_ptr(&cursor, width, &ignored) || !th_cursor_u32(&cursor, &out->pid) ||
        !th_cursor_u32(&cursor, &out->ppid) || !th_cursor_u32(&cursor, &out->session_id) ||
        !th_cursor_u32(&cursor, &exit_status))
      return false;
    out->has_session = true;
    out->exit_status = (int32_t)exit_status;
    if (version >= 3 && !th_cursor_ptr(&cursor, width, &ignored))
      return false;
    if (version >= 4 && !th_cursor_u32(&cursor, &flags))
      return false;
  }
  if (width == 4)
    out->bits = 32; /* the system has no other processes */
  else if (version >= 4)
    out->bits = flags & FLAG_WOW64 ? 32 : 64;
  if (!skip_user(&cursor, width))
    return false;
  bool ended[4] = {true, true, true, true};
  th_payload_text application;
  th_cursor_ansi(&cursor, &out->name, &ended[0]);
  if (version >= 2)
    th_cursor_utf16(&cursor, &out->command_line, &ended[1]);
  if (version >= 4) {
    th_cursor_utf16(&cursor, &application, &ended[2]); /* the package's full name */
    th_cursor_utf16(&cursor, &application, &ended[3]); /* the application's id */
  }
  *fits = ended[0] && ended[1] && ended[2] && ended[3] &&
          th_cursor_left(&cursor) == (version >= 5 ? 8 : 0);
  return true;
}

bool th_parse_process(const th_event *event, th_process_event *out) {
  if (event->hook - 0x0301 > 3)
    return false;
  unsigned width = event->pointer_size;
  th_process_event first = {0}, second = {0};
  bool fits = false, other_fits = false;
  bool parsed = parse(event, width, &first, &fits);
  if (!(parsed && fits) && th_payload_may_differ(event) &&
      parse(event, 12 - width, &second, &other_fits) && other_fits) {
    first = second;
    parsed = true;
  }
  if (!parsed)
    return false;
  first.life = (th_life)(event->hook - 0x0300);
  *out = first;
  return true;
}
