/* Taking a Tool Help snapshot, with everything that can go wrong in that one call. */
#ifndef TH_SNAPSHOT_CREATE_H
#define TH_SNAPSHOT_CREATE_H

#include "base/status.h"
#include "sys/sys.h"

/* CreateToolhelp32Snapshot, tried again within bounds while the list changes under it
   (ERROR_BAD_LENGTH) or the process is still starting (ERROR_PARTIAL_COPY). `pid` is named in the
   failure when the snapshot is of one process (TH_SNAP_MODULE, TH_SNAP_HEAP_LIST). */
th_status th_snapshot_create(uint32_t flags, uint32_t pid, th_handle *snapshot,
                             th_failure *failure);

/* Why a list of process `pid` could not be copied whole, as far as the process tells. */
th_reason th_snapshot_reason(uint32_t pid);

/* What First or Next answered: more rows, the end of the list, or a failure to report. */
typedef enum th_step { TH_STEP_ROW, TH_STEP_END, TH_STEP_FAILED } th_step;
TH_INLINE th_step th_step_of(uint32_t code) {
  return code == 0 ? TH_STEP_ROW : code == TH_ERROR_NO_MORE_FILES ? TH_STEP_END : TH_STEP_FAILED;
}

#endif
