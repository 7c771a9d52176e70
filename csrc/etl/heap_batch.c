#include "etl/heap_batch.h"

const th_schema th_heap_event_schema = {
    .name = "HeapEvent",
    .doc = "What one heap event says, in the order of time.",
    .field_count = 12,
    .fields =
        {
            {"time_ns", TH_TYPE_I64, false, "nanoseconds since the trace's start", NULL},
            {"cpu", TH_TYPE_U16, false, "processor whose buffer held the event", NULL},
            {"pid", TH_TYPE_U32, true, "process that logged it", NULL},
            {"tid", TH_TYPE_U32, true, "thread that logged it", NULL},
            {"kind", TH_TYPE_LABEL, false, "what happened", th_heap_kind_names},
            {"heap", TH_TYPE_U64, true, "handle of the heap", NULL},
            {"address", TH_TYPE_U64, true,
             "block: allocated, freed, or where a reallocation put it (0: it failed); "
             "memory committed by expand and contract",
             NULL},
            {"size", TH_TYPE_U64, true, "bytes asked for; bytes committed by expand and contract",
             NULL},
            {"old_address", TH_TYPE_U64, true, "realloc: where the block was", NULL},
            {"old_size", TH_TYPE_U64, true, "realloc: bytes it had", NULL},
            {"source", TH_TYPE_U32, true,
             "allocator at work: 1 look-aside, 2 low fragmentation, 3 main path, 4 slow path, "
             "6 segment heap",
             NULL},
            {"stack_id", TH_TYPE_U32, true, "number of the call stack in the table of stacks",
             NULL},
        },
};

void th_heap_batch_free(th_heap_batch *batch) {
  th_table_drop(batch->rows);
  th_vec_free(&batch->marks);
  batch->rows = NULL;
}
