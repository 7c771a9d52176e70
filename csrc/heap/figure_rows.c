#include "heap/figure_rows.h"

#define FIGURE_FIELDS                                                                              \
  {"live_blocks", TH_TYPE_U64, false, "blocks live when their process or the trace ended", NULL},  \
      {"live_bytes", TH_TYPE_U64, false, "their bytes", NULL},                                     \
      {"at_peak_blocks", TH_TYPE_U64, false, "blocks live at the peak of all blocks", NULL},       \
      {"at_peak_bytes", TH_TYPE_U64, false, "their bytes then", NULL},                             \
      {"allocated_blocks", TH_TYPE_U64, false, "blocks that came to be", NULL},                    \
      {"allocated_bytes", TH_TYPE_U64, false, "their bytes, with growth in place", NULL},          \
      {"temporary_blocks", TH_TYPE_U64, false, "blocks that ended sooner than the rule", NULL},    \
      {"temporary_bytes", TH_TYPE_U64, false, "their bytes", NULL},                                \
      {"growth", TH_TYPE_F64, true, "live bytes gained per second since half time", NULL},         \
      {"first_ns", TH_TYPE_I64, true, "earliest birth", NULL},                                     \
      {"last_ns", TH_TYPE_I64, true, "latest birth", NULL}, {                                      \
    "age_ns", TH_TYPE_I64, true, "mean age of the live blocks", NULL                               \
  }
#define FIGURE_COUNT 12

/* Sets the figures of a row in the columns from `field` on. */
static bool set_figures(th_table *table, size_t field, size_t row, const th_result *result,
                        const th_summary *figures) {
  const uint64_t amounts[8] = {
      figures->live.blocks,      figures->live.bytes,      figures->at_peak.blocks,
      figures->at_peak.bytes,    figures->allocated.blocks, figures->allocated.bytes,
      figures->temporary.blocks, figures->temporary.bytes};
  for (size_t i = 0; i < 8; i++)
    TH_COLUMN(table, field + i, uint64_t)[row] = amounts[i];
  bool had_blocks = figures->last_ns != TH_NEVER;
  bool live = figures->live.blocks > 0;
  double half = (double)result->duration_ns / 2e9;
  bool grows = result->duration_ns >= 0;
  TH_COLUMN(table, field + 8, double)
  [row] = grows && half > 0 ? (double)figures->growth_bytes / half : 0;
  TH_COLUMN(table, field + 9, int64_t)[row] = had_blocks ? figures->first_ns : 0;
  TH_COLUMN(table, field + 10, int64_t)[row] = had_blocks ? figures->last_ns : 0;
  TH_COLUMN(table, field + 11, int64_t)
  [row] = live ? (int64_t)(figures->age_ns / (double)figures->live.blocks) : 0;
  return (grows || th_table_set_missing(table, field + 8, row)) &&
         (had_blocks || (th_table_set_missing(table, field + 9, row) &&
                         th_table_set_missing(table, field + 10, row))) &&
         (live || th_table_set_missing(table, field + 11, row));
}

static bool set_name(th_table *table, size_t field, size_t row, size_t index, th_row_namer namer,
                     void *context) {
  return namer ? namer(context, table, field, row, index)
               : th_table_set_missing(table, field, row);
}

/* The table when all went well; else drops it and gives NULL. */
static th_table *finished(th_table *table, bool done) {
  if (done)
    return table;
  th_table_drop(table);
  return NULL;
}

const th_schema th_stack_figures_schema = {
    .name = "StackFigures",
    .doc = "What the blocks of one call stack add up to.",
    .field_count = 2 + FIGURE_COUNT,
    .fields = {{"stack_id", TH_TYPE_U32, true, "number of the stack; None: without one", NULL},
               {"site", TH_TYPE_U32, false, "number by which its frames are asked for", NULL},
               FIGURE_FIELDS}};

th_table *th_rows_of_stacks(const th_grouping *grouping) {
  th_table *table = th_table_new(&th_stack_figures_schema, grouping->stacks.count, NULL);
  bool done = table != NULL;
  for (size_t i = 0; done && i < grouping->stacks.count; i++) {
    const th_stack_row *stack = &grouping->stacks.items[i];
    size_t row;
    if (!(done = th_table_add(table, &row)))
      break;
    TH_COLUMN(table, 0, uint32_t)[row] = stack->stack_id == TH_NO_STACK ? 0 : stack->stack_id;
    TH_COLUMN(table, 1, uint32_t)[row] = stack->site;
    done = (stack->stack_id != TH_NO_STACK || th_table_set_missing(table, 0, row)) &&
           set_figures(table, 2, row, grouping->result,
                       &grouping->result->sites.items[stack->site].figures);
  }
  return finished(table, done);
}

#define NAMED_SCHEMA(variable, row_name, text)                                                     \
  const th_schema variable = {                                                                     \
      .name = row_name,                                                                            \
      .doc = text,                                                                                 \
      .field_count = 1 + FIGURE_COUNT,                                                             \
      .fields = {{"name", TH_TYPE_TEXT, true, "its name", NULL}, FIGURE_FIELDS}}

NAMED_SCHEMA(th_function_figures_schema, "FunctionFigures",
             "What the blocks of all stacks with one function add up to.");
NAMED_SCHEMA(th_module_figures_schema, "ModuleFigures",
             "What the blocks of all stacks with one module add up to.");

th_table *th_rows_of_classes(const th_schema *schema, const th_result *result,
                             const th_summary *sums, size_t count, th_row_namer namer,
                             void *context) {
  th_table *table = th_table_new(schema, 0, NULL);
  bool done = table != NULL;
  for (size_t i = 0; done && i < count; i++) {
    size_t row;
    if (sums[i].last_ns == TH_NEVER)
      continue;
    done = th_table_add(table, &row) && set_name(table, 0, row, i, namer, context) &&
           set_figures(table, 1, row, result, &sums[i]);
  }
  return finished(table, done);
}

const th_schema th_heap_figures_schema = {
    .name = "HeapFigures",
    .doc = "What the blocks of one heap add up to.",
    .field_count = 2 + FIGURE_COUNT,
    .fields = {{"pid", TH_TYPE_U32, false, "process", NULL},
               {"heap", TH_TYPE_U64, false, "handle of the heap", NULL},
               FIGURE_FIELDS}};

th_table *th_rows_of_heaps(const th_result *result) {
  th_table *table = th_table_new(&th_heap_figures_schema, 0, NULL);
  bool done = table != NULL;
  for (size_t i = 0; done && i < result->heaps.count; i++) {
    const th_heap_row *heap = &result->heaps.items[i];
    size_t row;
    if (heap->figures.last_ns == TH_NEVER)
      continue;
    if (!(done = th_table_add(table, &row)))
      break;
    TH_COLUMN(table, 0, uint32_t)[row] = result->processes.items[heap->instance].pid;
    TH_COLUMN(table, 1, uint64_t)[row] = heap->handle;
    done = set_figures(table, 2, row, result, &heap->figures);
  }
  return finished(table, done);
}

const th_schema th_thread_figures_schema = {
    .name = "ThreadFigures",
    .doc = "What the blocks that one thread allocated add up to.",
    .field_count = 2 + FIGURE_COUNT,
    .fields = {{"pid", TH_TYPE_U32, false, "process", NULL},
               {"tid", TH_TYPE_U32, false, "thread", NULL},
               FIGURE_FIELDS}};

th_table *th_rows_of_threads(const th_result *result) {
  th_table *table = th_table_new(&th_thread_figures_schema, 0, NULL);
  bool done = table != NULL;
  for (size_t i = 0; done && i < result->threads.count; i++) {
    const th_thread_row *thread = &result->threads.items[i];
    size_t row;
    if (thread->figures.last_ns == TH_NEVER)
      continue;
    if (!(done = th_table_add(table, &row)))
      break;
    TH_COLUMN(table, 0, uint32_t)[row] = result->processes.items[thread->instance].pid;
    TH_COLUMN(table, 1, uint32_t)[row] = thread->tid;
    done = set_figures(table, 2, row, result, &thread->figures);
  }
  return finished(table, done);
}

#define PROCESS_HEAD 19
const th_schema th_process_figures_schema = {
    .name = "ProcessFigures",
    .doc = "What the blocks of one process add up to.",
    .field_count = PROCESS_HEAD + FIGURE_COUNT,
    .fields = {
        {"pid", TH_TYPE_U32, false, "process", NULL},
        {"name", TH_TYPE_TEXT, true, "name of its image; None: the trace does not say", NULL},
        {"end_ns", TH_TYPE_I64, true, "when it ended; None: not in the trace", NULL},
        {"peak_blocks", TH_TYPE_U64, false, "blocks live at its own peak", NULL},
        {"peak_bytes", TH_TYPE_U64, false, "most bytes that were live in it at once", NULL},
        {"peak_ns", TH_TYPE_I64, false, "first moment of that", NULL},
        {"allocations", TH_TYPE_U64, false, "blocks that came to be", NULL},
        {"total_allocated_bytes", TH_TYPE_U64, false, "their bytes, with growth in place", NULL},
        {"frees", TH_TYPE_U64, false, "blocks ended by Free or a moving ReAlloc", NULL},
        {"freed_bytes", TH_TYPE_U64, false, "their bytes, with shrinkage in place", NULL},
        {"reallocations", TH_TYPE_U64, false, "ReAlloc events, failed ones too", NULL},
        {"adopted_blocks", TH_TYPE_U64, false, "older blocks first seen in a ReAlloc", NULL},
        {"adopted_bytes", TH_TYPE_U64, false, "their bytes then", NULL},
        {"overwritten_blocks", TH_TYPE_U64, false, "blocks whose end was not seen", NULL},
        {"overwritten_bytes", TH_TYPE_U64, false, "their bytes", NULL},
        {"destroyed_blocks", TH_TYPE_U64, false, "blocks that went with their heap", NULL},
        {"destroyed_bytes", TH_TYPE_U64, false, "their bytes", NULL},
        {"heaps_created", TH_TYPE_U64, false, "Create events", NULL},
        {"heaps_destroyed", TH_TYPE_U64, false, "Destroy events", NULL},
        FIGURE_FIELDS}};

th_table *th_rows_of_processes(const th_result *result, th_row_namer namer, void *context) {
  th_table *table = th_table_new(&th_process_figures_schema, 0, NULL);
  bool done = table != NULL;
  for (size_t i = 0; done && i < result->processes.count; i++) {
    const th_process_row *process = &result->processes.items[i];
    const th_totals *totals = &process->totals;
    size_t row;
    if (process->figures.last_ns == TH_NEVER && !totals->heaps_created && !totals->heaps_destroyed)
      continue;
    if (!(done = th_table_add(table, &row)))
      break;
    TH_COLUMN(table, 0, uint32_t)[row] = process->pid;
    TH_COLUMN(table, 2, int64_t)[row] = process->ended ? process->end_ns : 0;
    TH_COLUMN(table, 5, int64_t)[row] = process->peak_ns;
    const uint64_t values[][2] = {{3, process->peak.blocks},
                                  {4, process->peak.bytes},
                                  {6, totals->allocations.blocks},
                                  {7, totals->allocations.bytes},
                                  {8, totals->frees.blocks},
                                  {9, totals->frees.bytes},
                                  {10, totals->reallocations},
                                  {11, totals->adopted.blocks},
                                  {12, totals->adopted.bytes},
                                  {13, totals->overwritten.blocks},
                                  {14, totals->overwritten.bytes},
                                  {15, totals->destroyed.blocks},
                                  {16, totals->destroyed.bytes},
                                  {17, totals->heaps_created},
                                  {18, totals->heaps_destroyed}};
    for (size_t k = 0; k < sizeof values / sizeof *values; k++)
      TH_COLUMN(table, values[k][0], uint64_t)[row] = values[k][1];
    done = (process->ended || th_table_set_missing(table, 2, row)) &&
           set_name(table, 1, row, i, namer, context) &&
           set_figures(table, PROCESS_HEAD, row, result, &process->figures);
  }
  return finished(table, done);
}

const th_schema th_size_class_schema = {
    .name = "SizeClass",
    .doc = "All blocks, the adopted ones included, whose last size lies between two bounds.",
    .field_count = 6,
    .fields = {{"min", TH_TYPE_U64, false, "smallest size, bytes", NULL},
               {"max", TH_TYPE_U64, false, "largest size, bytes", NULL},
               {"blocks", TH_TYPE_U64, false, "blocks of such a size", NULL},
               {"bytes", TH_TYPE_U64, false, "their bytes", NULL},
               {"live_blocks", TH_TYPE_U64, false, "those live at the end", NULL},
               {"live_bytes", TH_TYPE_U64, false, "their bytes", NULL}}};

th_table *th_rows_of_sizes(const th_result *result) {
  unsigned used = 0;
  for (unsigned i = 0; i < TH_SIZE_CLASSES; i++)
    if (result->sizes[i].all.blocks)
      used = i + 1;
  th_table *table = th_table_new(&th_size_class_schema, used, NULL);
  if (!table)
    return NULL;
  for (unsigned i = 0; i < used; i++) {
    const th_size_row *size = &result->sizes[i];
    const uint64_t values[6] = {th_size_class_min(i), th_size_class_max(i), size->all.blocks,
                                size->all.bytes,      size->live.blocks,    size->live.bytes};
    for (size_t field = 0; field < 6; field++)
      TH_COLUMN(table, field, uint64_t)[i] = values[field];
  }
  table->count = used;
  return table;
}

const th_schema th_lifetime_class_schema = {
    .name = "LifetimeClass",
    .doc = "Blocks ended by an event whose lifetime lies between two bounds.",
    .field_count = 4,
    .fields = {{"min_ns", TH_TYPE_I64, false, "shortest lifetime", NULL},
               {"max_ns", TH_TYPE_I64, true, "below this one; None: no bound", NULL},
               {"blocks", TH_TYPE_U64, false, "blocks that lived so long", NULL},
               {"bytes", TH_TYPE_U64, false, "their bytes", NULL}}};

th_table *th_rows_of_lifetimes(const th_result *result) {
  th_table *table = th_table_new(&th_lifetime_class_schema, TH_LIFETIME_CLASSES, NULL);
  bool done = table != NULL;
  for (unsigned i = 0; done && i < TH_LIFETIME_CLASSES; i++) {
    size_t row;
    if (!(done = th_table_add(table, &row)))
      break;
    bool last = i == TH_LIFETIME_CLASSES - 1;
    TH_COLUMN(table, 0, int64_t)[row] = i ? (int64_t)th_lifetime_class_ends[i - 1] : 0;
    TH_COLUMN(table, 1, int64_t)[row] = last ? 0 : (int64_t)th_lifetime_class_ends[i];
    TH_COLUMN(table, 2, uint64_t)[row] = result->lifetimes[i].blocks;
    TH_COLUMN(table, 3, uint64_t)[row] = result->lifetimes[i].bytes;
    done = !last || th_table_set_missing(table, 1, row);
  }
  return finished(table, done);
}

const th_schema th_timeline_point_schema = {
    .name = "TimelinePoint",
    .doc = "The moment of the largest running sum in a span of time.",
    .field_count = 3,
    .fields = {{"time_ns", TH_TYPE_I64, false, "when the span begins", NULL},
               {"live_bytes", TH_TYPE_U64, false, "most bytes live at once in it", NULL},
               {"live_blocks", TH_TYPE_U64, false, "blocks live then", NULL}}};

th_table *th_rows_of_timeline(const th_result *result) {
  th_table *table = th_table_new(&th_timeline_point_schema, result->timeline.count, NULL);
  if (!table)
    return NULL;
  for (size_t i = 0; i < result->timeline.count; i++) {
    TH_COLUMN(table, 0, int64_t)[i] = result->timeline.items[i].time_ns;
    TH_COLUMN(table, 1, uint64_t)[i] = result->timeline.items[i].running.bytes;
    TH_COLUMN(table, 2, uint64_t)[i] = result->timeline.items[i].running.blocks;
  }
  table->count = result->timeline.count;
  return table;
}

const th_schema th_heap_frame_schema = {
    .name = "HeapFrame",
    .doc = "An address of a process that occurs in stacks of its heap events.",
    .field_count = 4,
    .fields = {{"pid", TH_TYPE_U32, false, "process", NULL},
               {"address", TH_TYPE_U64, false, "return address", NULL},
               {"module", TH_TYPE_U32, true, "row of its module; None: nothing known was there",
                NULL},
               {"offset", TH_TYPE_U64, false, "from the module's base; the address without one",
                NULL}}};

th_table *th_rows_of_frames(const th_grouping *grouping) {
  th_table *table = th_table_new(&th_heap_frame_schema, grouping->frames.count, NULL);
  bool done = table != NULL;
  for (size_t i = 0; done && i < grouping->frames.count; i++) {
    const th_frame_row *frame = &grouping->frames.items[i];
    size_t row;
    if (!(done = th_table_add(table, &row)))
      break;
    bool known = frame->module != TH_NO_MODULE;
    TH_COLUMN(table, 0, uint32_t)[row] = grouping->result->processes.items[frame->instance].pid;
    TH_COLUMN(table, 1, uint64_t)[row] = frame->address;
    TH_COLUMN(table, 2, uint32_t)[row] = known ? frame->module : 0;
    TH_COLUMN(table, 3, uint64_t)[row] = frame->offset;
    done = known || th_table_set_missing(table, 2, row);
  }
  return finished(table, done);
}
