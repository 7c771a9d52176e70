/* The processes and threads of a trace: one row per life, as a pid or tid is used again. */
#ifndef TH_ETL_PROCESS_MODEL_H
#define TH_ETL_PROCESS_MODEL_H

#include "etl/lives.h"
#include "etl/thread_event.h"
#include "table/table.h"

typedef struct th_process_facts {
  uint32_t pid, ppid, session_id;
  uint32_t name, command_line; /* codes */
  int32_t exit_status;
  bool has_exit_status, has_command_line, has_session_id;
  uint8_t bits; /* 0: not known */
} th_process_facts;

typedef struct th_thread_facts {
  uint32_t pid, tid, name;
  uint64_t start_address;
} th_thread_facts;

typedef struct th_process_model {
  th_dictionary *texts;
  th_lives process_lives, thread_lives;
  TH_VEC(th_process_facts) processes;
  TH_VEC(th_thread_facts) threads;
} th_process_model;

/* *replaced: a start ended an older life of the pid. False: no memory. */
TH_NODISCARD bool th_process_model_process(th_process_model *model, const th_process_event *event,
                                           th_moment when, bool *replaced);
TH_NODISCARD bool th_process_model_thread(th_process_model *model, const th_thread_event *event,
                                          th_moment when);

enum {
  TH_TRACE_PROCESS_PID,
  TH_TRACE_PROCESS_PPID,
  TH_TRACE_PROCESS_NAME,
  TH_TRACE_PROCESS_START_NS,
  TH_TRACE_PROCESS_END_NS,
  TH_TRACE_PROCESS_EXIT_STATUS,
  TH_TRACE_PROCESS_SESSION_ID,
  TH_TRACE_PROCESS_COMMAND_LINE,
  TH_TRACE_PROCESS_BITS
};
extern const th_schema th_trace_process_schema;
enum {
  TH_TRACE_THREAD_TID,
  TH_TRACE_THREAD_PID,
  TH_TRACE_THREAD_START_NS,
  TH_TRACE_THREAD_END_NS,
  TH_TRACE_THREAD_START_ADDRESS,
  TH_TRACE_THREAD_NAME
};
extern const th_schema th_trace_thread_schema;

/* In the order of the first event of each row. NULL: no memory. */
TH_NODISCARD th_table *th_process_model_processes(const th_process_model *model);
TH_NODISCARD th_table *th_process_model_threads(const th_process_model *model);
/* `texts` is the caller's. */
void th_process_model_free(th_process_model *model);

#endif
