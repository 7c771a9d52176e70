/* The door to starting a program stopped, so that it can be traced from its first allocation. */
#ifndef TH_SYS_LAUNCH_H
#define TH_SYS_LAUNCH_H

#include "sys/sys.h"

/* For th_sys_open_process: what waiting for an end takes. */
#define TH_PROCESS_SYNCHRONIZE 0x00100000u

/* Zero-terminated texts. */
typedef struct th_sys_launch {
  uint16_t *command_line;      /* CreateProcessW may write into it */
  const uint16_t *environment; /* NAME=value, each with its zero, and a zero; NULL: inherited */
  const uint16_t *directory;   /* NULL: the caller's */
} th_sys_launch;

/* CreateProcessW(CREATE_SUSPENDED). Both handles are the caller's to close. */
uint32_t th_sys_create_suspended(const th_sys_launch *launch, th_handle *process,
                                 th_handle *thread, uint32_t *pid);
uint32_t th_sys_resume(th_handle thread);
uint32_t th_sys_terminate(th_handle process, uint32_t exit_code);
/* WaitForSingleObject: *ended says whether the process has. */
uint32_t th_sys_wait_process(th_handle process, uint32_t milliseconds, bool *ended);
/* GetProcessTimes: FILETIMEs; *exited is 0 while it runs. */
uint32_t th_sys_process_times(th_handle process, int64_t *created, int64_t *exited);

/* PEB.ProcessHeap: handle of the default heap; of a 32-bit process of a 64-bit system, that of its
   64-bit side. */
uint32_t th_sys_process_heap(th_handle process, uint64_t *heap);

#endif
