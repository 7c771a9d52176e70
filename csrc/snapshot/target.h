/* Whether the heaps of another process may be asked for. Every such query starts a thread in that
   process, which waits for locks of the target and may never come back. */
#ifndef TH_SNAPSHOT_TARGET_H
#define TH_SNAPSHOT_TARGET_H

#include "base/status.h"

/* `function` is the call that would be made. Refuses without `allow_injection`, a process whose
   threads are all suspended (the query would not end), and one of the other bitness (its heaps
   cannot be seen); says when this system does not implement the call. */
th_status th_target_check(uint32_t pid, bool allow_injection, const char *function,
                          th_failure *failure);

/* What SystemProcessInformation says of a process: bytes of NtQuerySystemInformation, pointers of
   `pointer_size` bytes. */
typedef enum th_target_state { TH_TARGET_RUNS, TH_TARGET_SUSPENDED, TH_TARGET_GONE } th_target_state;
th_target_state th_target_state_of(const uint8_t *bytes, size_t size, unsigned pointer_size,
                                   uint32_t pid);

#endif
