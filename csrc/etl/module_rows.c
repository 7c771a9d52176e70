#include "etl/module_model.h"

const th_schema th_trace_module_schema = {
    .name = "TraceModule",
    .doc = "One stay of a module in a process.",
    .field_count = 13,
    .fields =
        {
            {"pid", TH_TYPE_U32, false, "process id; 0 and 4: the kernel", NULL},
            {"base", TH_TYPE_U64, false, "address of its first byte", NULL},
            {"size", TH_TYPE_U64, false, "bytes of address space", NULL},
            {"name", TH_TYPE_TEXT, false, "file name", NULL},
            {"path", TH_TYPE_TEXT, false,
             "path; with a drive letter where the trace says which volume has it", NULL},
            {"nt_path", TH_TYPE_TEXT, false, "path as the kernel wrote it", NULL},
            {"load_ns", TH_TYPE_I64, true,
             "when it was loaded, nanoseconds since the trace's start; None: before the trace",
             NULL},
            {"unload_ns", TH_TYPE_I64, true,
             "when it or its process went, likewise; None: not within the trace", NULL},
            {"timestamp", TH_TYPE_U32, true, "time stamp of its file's header; None: not recorded",
             NULL},
            {"checksum", TH_TYPE_U32, true, "checksum of its file's header; None: not recorded", NULL},
            {"pdb_name", TH_TYPE_TEXT, true, "file name of its symbols; None: not recorded", NULL},
            {"pdb_guid", TH_TYPE_TEXT, true,
             "signature of its symbols, 32 hex digits; None: not recorded", NULL},
            {"pdb_age", TH_TYPE_U32, true, "age of its symbols; None: not recorded", NULL},
        },
};

static bool set_time(th_table *rows, size_t field, size_t row, int64_t time_ns) {
  if (time_ns == TH_UNKNOWN_TIME)
    return th_table_set_missing(rows, field, row);
  TH_COLUMN(rows, field, int64_t)[row] = time_ns;
  return true;
}

/* The first three fields of a GUID are little-endian; the text has them in the order of reading. */
static bool set_guid(th_table *rows, size_t row, const uint8_t guid[16]) {
  static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
  static const char digits[] = "0123456789ABCDEF";
  char text[33];
  for (size_t i = 0; i < 16; i++) {
    text[2 * i] = digits[guid[order[i]] >> 4];
    text[2 * i + 1] = digits[guid[order[i]] & 15];
  }
  text[32] = 0;
  return th_table_set_ascii(rows, TH_TRACE_MODULE_PDB_GUID, row, text);
}

static bool set_identity(th_table *rows, size_t row, const th_module_identity *identity) {
  TH_COLUMN(rows, TH_TRACE_MODULE_TIMESTAMP, uint32_t)[row] = identity->timestamp;
  if (!identity->timestamp && !th_table_set_missing(rows, TH_TRACE_MODULE_TIMESTAMP, row))
    return false;
  if (!identity->has_pdb)
    return th_table_set_missing(rows, TH_TRACE_MODULE_PDB_NAME, row) &&
           th_table_set_missing(rows, TH_TRACE_MODULE_PDB_GUID, row) &&
           th_table_set_missing(rows, TH_TRACE_MODULE_PDB_AGE, row);
  TH_COLUMN(rows, TH_TRACE_MODULE_PDB_NAME, uint32_t)[row] = identity->pdb_name;
  TH_COLUMN(rows, TH_TRACE_MODULE_PDB_AGE, uint32_t)[row] = identity->pdb_age;
  return set_guid(rows, row, identity->pdb_guid);
}

th_table *th_module_model_rows(const th_module_model *model) {
  th_table *rows = th_table_new(&th_trace_module_schema, model->modules.count, model->texts);
  if (!rows)
    return NULL;
  for (size_t row = 0; row < model->modules.count; row++) {
    const th_module_facts *facts = &model->modules.items[row];
    const th_span *span = &model->lives.spans.items[row];
    TH_COLUMN(rows, TH_TRACE_MODULE_PID, uint32_t)[row] = facts->pid;
    TH_COLUMN(rows, TH_TRACE_MODULE_BASE, uint64_t)[row] = facts->base;
    TH_COLUMN(rows, TH_TRACE_MODULE_SIZE, uint64_t)[row] = facts->size;
    TH_COLUMN(rows, TH_TRACE_MODULE_NAME, uint32_t)[row] = facts->name;
    TH_COLUMN(rows, TH_TRACE_MODULE_PATH, uint32_t)[row] = facts->path;
    TH_COLUMN(rows, TH_TRACE_MODULE_NT_PATH, uint32_t)[row] = facts->nt_path;
    TH_COLUMN(rows, TH_TRACE_MODULE_CHECKSUM, uint32_t)[row] = facts->checksum;
    if (!set_time(rows, TH_TRACE_MODULE_LOAD_NS, row, span->start_ns) ||
        !set_time(rows, TH_TRACE_MODULE_UNLOAD_NS, row, span->end_ns) ||
        (!facts->has_checksum && !th_table_set_missing(rows, TH_TRACE_MODULE_CHECKSUM, row)) ||
        !set_identity(rows, row, &facts->identity)) {
      th_table_drop(rows);
      return NULL;
    }
  }
  rows->count = model->modules.count;
  return rows;
}
