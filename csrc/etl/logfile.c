#include "etl/logfile.h"

#include "etl/header.h"

/* Where the fields stand, for a 64-bit recorder and for a 32-bit one: two pointers in the middle
   make the difference. */
typedef struct logfile_layout {
  uint16_t boot_time, perf_frequency, start_time, clock, buffers_lost, end;
} logfile_layout;

static const logfile_layout layout64 = {0xf8, 0x100, 0x108, 0x110, 0x114, 0x118};
static const logfile_layout layout32 = {0xf0, 0xf8, 0x100, 0x108, 0x10c, 0x110};

enum {
  BUFFER_SIZE = 0x00,
  OS_MAJOR = 0x04,
  OS_MINOR = 0x05,
  OS_BUILD = 0x08,
  PROCESSORS = 0x0c,
  END_TIME = 0x10,
  TIMER_RESOLUTION = 0x18,
  LOG_FILE_MODE = 0x20,
  BUFFERS_WRITTEN = 0x24,
  POINTER_SIZE = 0x2c,
  EVENTS_LOST = 0x30,
  CPU_MHZ = 0x34
};

#define MODE_PACKED UINT32_C(0x04000000)

static th_status not_a_trace(th_failure *failure, const uint8_t *bytes) {
  unsigned flags = th_load_u16(bytes + TH_BUFFER_FLAGS);
  bool backup = flags & (TH_BUFFER_FLAG_BACKUP | TH_BUFFER_FLAG_BACKUP_CORRUPT);
  return th_fail_corrupt(failure, TH_BUFFER_HEAD,
                         backup ? "this is a backup file of a real-time session (EtwRT*.etl), "
                                  "which does not begin with a log file header"
                                : "this is not an event trace: its first event is no log file "
                                  "header");
}

th_status th_logfile_read(const uint8_t *bytes, size_t size, th_logfile *logfile,
                          const uint8_t **session_name, th_failure *failure) {
  const uint8_t *at = bytes + TH_BUFFER_HEAD;
  size_t left = size - TH_BUFFER_HEAD;
  const size_t head = th_kind_layouts[TH_HEADER_SYSTEM64].head;
  if (left < head || at[3] != TH_MARK_TRACE ||
      (at[2] != TH_HEADER_SYSTEM32 && at[2] != TH_HEADER_SYSTEM64) ||
      th_load_u16(at + TH_SYSTEM_HOOK) != 0)
    return not_a_trace(failure, bytes);
  unsigned kind = at[2];
  const logfile_layout *layout = kind == TH_HEADER_SYSTEM64 ? &layout64 : &layout32;
  size_t event_size = th_load_u16(at + TH_SYSTEM_SIZE);
  th_event event;
  if (event_size < head || event_size > left ||
      !th_header_decode(at, (uint32_t)event_size, kind, &event) || event.size < layout->end)
    return not_a_trace(failure, bytes);

  const uint8_t *payload = event.payload;
  th_logfile read = {
      .buffer_size = th_load_u32(payload + BUFFER_SIZE),
      .os_major = payload[OS_MAJOR],
      .os_minor = payload[OS_MINOR],
      .os_build = th_load_u32(payload + OS_BUILD),
      .processors = th_load_u32(payload + PROCESSORS),
      .pointer_size = th_load_u32(payload + POINTER_SIZE),
      .log_file_mode = th_load_u32(payload + LOG_FILE_MODE),
      .buffers_written = th_load_u32(payload + BUFFERS_WRITTEN),
      .events_lost = th_load_u32(payload + EVENTS_LOST),
      .buffers_lost = th_load_u32(payload + layout->buffers_lost),
      .cpu_mhz = th_load_u32(payload + CPU_MHZ),
      .timer_resolution = th_load_u32(payload + TIMER_RESOLUTION),
      .clock = th_load_u32(payload + layout->clock),
      .perf_frequency = th_load_u64(payload + layout->perf_frequency),
      .boot_time = (int64_t)th_load_u64(payload + layout->boot_time),
      .start_time = (int64_t)th_load_u64(payload + layout->start_time),
      .end_time = (int64_t)th_load_u64(payload + END_TIME),
      .first_time = (int64_t)th_load_u64(at + TH_SYSTEM_TIME),
  };
  if (read.pointer_size != 4 && read.pointer_size != 8)
    read.pointer_size = th_kind_layouts[kind].pointer_size;
  if (read.clock != 2 && read.clock != 3)
    read.clock = 1;
  if (read.clock == 3 && !read.cpu_mhz)
    return th_fail_corrupt(failure, TH_BUFFER_HEAD, "the log file header gives no clock rate");
  if (read.clock == 1 && (read.perf_frequency == 0 || read.perf_frequency > INT64_MAX))
    return th_fail_corrupt(failure, TH_BUFFER_HEAD,
                           "the log file header gives no frequency of its clock");
  if (read.log_file_mode & MODE_PACKED) {
    unsigned declared = th_load_u32(bytes + TH_BUFFER_STATE) & 0xffff;
    read.compression = declared >= 2 && declared <= 4 ? (uint16_t)declared : 3;
  }
  size_t names = (event.size - layout->end) / 2;
  *session_name = payload + layout->end;
  while (read.session_name_units < names &&
         th_load_u16(*session_name + 2 * read.session_name_units))
    read.session_name_units++;
  *logfile = read;
  return TH_OK;
}
