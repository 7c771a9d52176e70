/* The kinds of rows a snapshot gives: their schemas, and the places of their columns. */
#ifndef TH_SNAPSHOT_ROWS_H
#define TH_SNAPSHOT_ROWS_H

#include "table/schema.h"

enum {
  TH_PROCESS_PID,
  TH_PROCESS_PPID,
  TH_PROCESS_NAME,
  TH_PROCESS_NUM_THREADS,
  TH_PROCESS_BASE_PRIORITY,
  TH_PROCESS_CREATE_TIME, /* from here on with identity only */
  TH_PROCESS_PATH,
  TH_PROCESS_MACHINE
};
extern const th_schema th_process_schema;
/* The same with the columns of identity. */
extern const th_schema th_identified_process_schema;

enum { TH_THREAD_TID, TH_THREAD_OWNER_PID, TH_THREAD_BASE_PRIORITY };
extern const th_schema th_thread_schema;

enum {
  TH_MODULE_PID,
  TH_MODULE_BASE,
  TH_MODULE_SIZE,
  TH_MODULE_NAME,
  TH_MODULE_PATH,
  TH_MODULE_PATH_TRUNCATED,
  TH_MODULE_MACHINE
};
extern const th_schema th_module_schema;

/* Labels of `machine` columns. */
typedef enum th_machine_label {
  TH_LABEL_X86,
  TH_LABEL_X64,
  TH_LABEL_ARM,
  TH_LABEL_ARM64,
  TH_LABEL_OTHER
} th_machine_label;
extern const char *const th_machine_labels[];
/* The label of an IMAGE_FILE_MACHINE_* value. */
th_machine_label th_machine_label_of(uint16_t machine);

#endif
