/* Which process it is: an id alone is given to others once its process has exited. */
#ifndef TH_SNAPSHOT_IDENTITY_H
#define TH_SNAPSHOT_IDENTITY_H

#include "base/status.h"
#include "sys/sys.h"

/* The longest path Windows has, in units (UNICODE_STRING counts bytes in 16 bits). */
#define TH_LONGEST_PATH 32767u

typedef struct th_identity {
  bool has_time, has_path, has_machine;
  int64_t create_time; /* ns since 1970-01-01 UTC */
  uint16_t machine;    /* IMAGE_FILE_MACHINE_* */
  uint32_t path_units;
} th_identity;

/* What can be known of process `pid` with the smallest rights; `path` has room for `capacity`
   units. What cannot be had is marked so, and `failure` then holds the first call that failed. */
th_status th_identity_of(uint32_t pid, uint16_t *path, uint32_t capacity, th_identity *identity,
                         th_failure *failure);

/* IMAGE_FILE_MACHINE_* of an open process and of the system. */
uint32_t th_identity_machine(th_handle process, uint16_t *machine, uint16_t *native);

/* ns since 1970 of a Windows file time; false when there is none or it does not fit. */
bool th_identity_time(uint64_t file_time, int64_t *ns);

#endif
