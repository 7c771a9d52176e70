/* What a function answers, and what is known about a failure.

   Every function that can fail returns a th_status and takes a th_failure. On failure it fills the
   failure and leaves all its other outputs untouched. */
#ifndef TH_BASE_STATUS_H
#define TH_BASE_STATUS_H

#include "base/compiler.h"

#define TH_STATUS_LIST(X)                                                                          \
  X(OK, "no error")                                                                                \
  X(NO_MEMORY, "out of memory")                                                                    \
  X(SYSTEM, "a Windows call failed")                                                               \
  X(RACE, "the list kept changing while it was copied")                                            \
  X(PARTIAL, "the list of a process could not be read whole")                                      \
  X(TIMEOUT, "the call did not end before its deadline")                                           \
  X(REFUSED, "the call was refused to keep the target safe")                                       \
  X(UNSUPPORTED, "the call does not exist on this system")                                         \
  X(INVALID, "an argument is out of range")                                                        \
  X(CORRUPT, "the input is not a trace, or is damaged beyond use")                                 \
  X(IO, "the input could not be read")                                                             \
  X(INTERRUPTED, "the operation was interrupted")

typedef enum th_status {
#define TH_STATUS_ENUM(name, text) TH_##name,
  TH_STATUS_LIST(TH_STATUS_ENUM)
#undef TH_STATUS_ENUM
      TH_STATUS_COUNT
} th_status;

/* Why ERROR_PARTIAL_COPY came: the words of the exception's `reason`. */
typedef enum th_reason {
  TH_REASON_NONE,
  TH_REASON_BITNESS,
  TH_REASON_STARTING,
  TH_REASON_EXITING,
  TH_REASON_UNKNOWN
} th_reason;

typedef struct th_failure {
  th_status status;
  th_reason reason;
  uint32_t code;        /* Win32 error code (SYSTEM, RACE, PARTIAL ...), errno (IO), else 0 */
  uint32_t pid;         /* the process asked for, when has_pid */
  bool has_pid;
  bool has_offset;
  uint32_t attempts;    /* how often the call was made, 0 when it was not counted */
  uint64_t offset;      /* where in the input (CORRUPT, IO), when has_offset */
  const char *function; /* the failing call; static text or NULL */
  const char *detail;   /* one clause for the message; static text or NULL */
} th_failure;

/* "OK", "NO_MEMORY" ...; static text. */
const char *th_status_name(th_status status);
/* One clause that says what the status means; static text. */
const char *th_status_text(th_status status);
/* "bitness" ... or NULL for TH_REASON_NONE; static text. */
const char *th_reason_name(th_reason reason);

/* Each fills `failure` (which may not be NULL) and returns its status. */
th_status th_fail(th_failure *failure, th_status status, const char *detail);
th_status th_fail_memory(th_failure *failure);
th_status th_fail_system(th_failure *failure, const char *function, uint32_t code);
th_status th_fail_process(th_failure *failure, const char *function, uint32_t code, uint32_t pid);
th_status th_fail_corrupt(th_failure *failure, uint64_t offset, const char *detail);

#endif
