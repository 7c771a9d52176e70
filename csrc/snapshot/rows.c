#include "snapshot/rows.h"

#include "sys/sys.h"

const char *const th_machine_labels[] = {"x86", "x64", "arm", "arm64", "other", NULL};

th_machine_label th_machine_label_of(uint16_t machine) {
  switch (machine) {
  case TH_MACHINE_X86: return TH_LABEL_X86;
  case TH_MACHINE_X64: return TH_LABEL_X64;
  case TH_MACHINE_ARM: return TH_LABEL_ARM;
  case TH_MACHINE_ARM64: return TH_LABEL_ARM64;
  default: return TH_LABEL_OTHER;
  }
}

#define PROCESS_FIELDS                                                                             \
  {.name = "pid", .type = TH_TYPE_U32, .doc = "process id"},                                       \
      {.name = "ppid",                                                                             \
       .type = TH_TYPE_U32,                                                                        \
       .doc = "id of the process that was recorded as parent at creation; it may have exited, "    \
              "and its id may be in use again"},                                                   \
      {.name = "name",                                                                             \
       .type = TH_TYPE_TEXT,                                                                       \
       .doc = "file name of the program, without folder"},                                         \
      {.name = "num_threads",                                                                      \
       .type = TH_TYPE_U32,                                                                        \
       .doc = "threads when the snapshot was taken"},                                              \
  {                                                                                                \
    .name = "base_priority", .type = TH_TYPE_I32,                                                  \
    .doc = "kernel base priority of new threads, 0 to 31"                                          \
  }

const th_schema th_process_schema = {.name = "Process",
                                     .doc = "A process of the system (PROCESSENTRY32W).",
                                     .field_count = 5,
                                     .fields = {PROCESS_FIELDS}};

const th_schema th_identified_process_schema = {
    .name = "IdentifiedProcess",
    .doc = "A process of the system (PROCESSENTRY32W) with what tells it from others of its id.",
    .field_count = 8,
    .fields = {
        PROCESS_FIELDS,
        {.name = "create_time",
         .type = TH_TYPE_TIME,
         .nullable = true,
         .doc = "when it was created (GetProcessTimes), ns since 1970-01-01 UTC; None when it may "
                "not be opened"},
        {.name = "path",
         .type = TH_TYPE_TEXT,
         .nullable = true,
         .doc = "full path of its program (QueryFullProcessImageNameW); None when not known"},
        {.name = "machine",
         .type = TH_TYPE_LABEL,
         .nullable = true,
         .doc = "processor the process runs for; None when not known",
         .labels = th_machine_labels},
    }};

const th_schema th_thread_schema = {
    .name = "Thread",
    .doc = "A thread of the system (THREADENTRY32).",
    .field_count = 3,
    .fields = {
        {.name = "tid", .type = TH_TYPE_U32, .doc = "thread id"},
        {.name = "owner_pid", .type = TH_TYPE_U32, .doc = "id of the process it belongs to"},
        {.name = "base_priority", .type = TH_TYPE_I32, .doc = "kernel base priority, 0 to 31"},
    }};

const th_schema th_module_schema = {
    .name = "Module",
    .doc = "A module that a process has loaded (MODULEENTRY32W).",
    .field_count = 7,
    .fields = {
        {.name = "pid", .type = TH_TYPE_U32, .doc = "id of the process"},
        {.name = "base", .type = TH_TYPE_U64, .doc = "address it is loaded at"},
        {.name = "size", .type = TH_TYPE_U32, .doc = "size of the image in memory, bytes"},
        {.name = "name", .type = TH_TYPE_TEXT, .doc = "file name, without folder"},
        {.name = "path", .type = TH_TYPE_TEXT, .doc = "full path"},
        {.name = "path_truncated",
         .type = TH_TYPE_BOOL,
         .doc = "the path may be cut at 259 characters and could not be asked for again"},
        {.name = "machine",
         .type = TH_TYPE_LABEL,
         .nullable = true,
         .doc = "processor the module was made for; None when the process may not be opened",
         .labels = th_machine_labels},
    }};
