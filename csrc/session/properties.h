/* The block behind StartTraceW and ControlTraceW: EVENT_TRACE_PROPERTIES, the two names, and the
   extension that carries process ids, stack hooks and stack caching; byte for byte.

   The extension is not documented by Microsoft. Its layout is the one that public tools have used
   since Windows Vista (TraceEvent's heap sessions among them). */
#ifndef TH_SESSION_PROPERTIES_H
#define TH_SESSION_PROPERTIES_H

#include "base/status.h"
#include "sys/etw.h"

/* LogFileMode bits (evntrace.h). */
#define TH_LOG_SEQUENTIAL 0x00000001u
#define TH_LOG_CIRCULAR 0x00000002u
#define TH_LOG_APPEND 0x00000004u
#define TH_LOG_NEW_FILE 0x00000008u
#define TH_LOG_PREALLOCATE 0x00000020u
#define TH_LOG_REAL_TIME 0x00000100u
#define TH_LOG_BUFFERING 0x00000400u
#define TH_LOG_PRIVATE 0x00000800u
#define TH_LOG_USE_KBYTES 0x00002000u
#define TH_LOG_SYSTEM_LOGGER 0x02000000u
#define TH_LOG_COMPRESSED 0x04000000u
#define TH_LOG_INDEPENDENT 0x08000000u

#define TH_MAX_SESSION_NAME 1024 /* UTF-16 units, as the documentation of StartTrace has it */
#define TH_MAX_STACK_HOOKS 256
#define TH_MAX_BUFFER_KB 16384 /* since Windows 8 */

/* GUIDs as they lie in memory on Windows. */
extern const uint8_t th_heap_guid[16];
extern const uint8_t th_stack_guid[16];

typedef struct th_properties_request {
  const uint16_t *name; /* of the session; without a zero */
  size_t name_units;
  const uint16_t *file; /* of the log; NULL: none */
  size_t file_units;
  const uint8_t *guid;  /* 16 bytes; NULL: the heap's */
  uint32_t mode;        /* TH_LOG_* */
  uint32_t buffer_kb, min_buffers, max_buffers; /* 0: the system's choice; update: as it is */
  uint32_t max_file;    /* MB, or KB with TH_LOG_USE_KBYTES */
  uint32_t flush_seconds;
  uint32_t clock;        /* TH_CLOCK_* */
  uint32_t enable_flags; /* of a system logger; 0 with an extension */
  const uint32_t *pids;
  size_t pid_count;
  const uint16_t *hooks; /* events whose stack is wanted: group << 8 | opcode */
  size_t hook_count;
  bool stack_caching;
  uint32_t cache_size, cache_buckets;
  bool extension; /* write the block of pids and hooks; false: KernelTraceControl.dll adds it */
  bool update;    /* for a session that runs: the mode says real time or nothing */
} th_properties_request;

/* Checks every limit first (TH_INVALID with what is wrong), then builds the block, which the caller
   frees with th_mem_free. `pointer_size` is that of the system: 4 or 8. */
th_status th_properties_build(const th_properties_request *request, unsigned pointer_size,
                              uint8_t **block, size_t *size, th_failure *failure);

/* A block to be filled by QUERY, STOP, FLUSH or QueryAllTraces: room for the longest names. */
#define TH_PROPERTIES_BLANK_SIZE (TH_PROPERTIES_SIZE + 2 * 2 * (TH_MAX_SESSION_NAME + 1))
void th_properties_blank(uint8_t block[TH_PROPERTIES_BLANK_SIZE], unsigned pointer_size);
/* Names the log file in such a block; nothing happens when it does not fit. */
void th_properties_set_file(uint8_t block[TH_PROPERTIES_BLANK_SIZE], unsigned pointer_size,
                            const uint16_t *file, size_t units);

/* Name of the session, name of the log file: where they stand in a block of `size` bytes and how
   long they are. NULL and 0: none, or outside of the block. Not aligned to more than 2. */
const uint8_t *th_properties_text(const uint8_t *block, size_t size, bool log_file,
                                  unsigned pointer_size, size_t *units);
/* Whether a call wrote anything: the session's handle, its name or its figures. A system that does
   not implement sessions answers 0 and leaves everything as it was. */
bool th_properties_untouched(const uint8_t *block, size_t size, unsigned pointer_size);

#endif
