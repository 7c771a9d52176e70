#include "snapshot/scan.h"

#include "base/hash.h"
#include "host/host.h"
#include "snapshot/error_rows.h"
#include "snapshot/identity.h"
#include "snapshot/merge.h"
#include "snapshot/modules.h"
#include "snapshot/rows.h"
#include "snapshot/system.h"
#include "sys/sys.h"

#include <string.h>

/* Each process costs a few waits for the system; more threads than this only wait for each other. */
#define MOST_WORKERS 16u

/* The tables a worker fills. */
enum { PART_MODULES, PART_HEAPS, PART_SIZES, PART_COUNT };
static const th_schema *const part_schemas[PART_COUNT] = {&th_module_schema, &th_heap_schema,
                                                          &th_heap_sizes_schema};

/* A process to ask, and where its answers are. */
typedef struct item {
  uint32_t pid, worker;
  bool in_system;
  size_t row; /* in the process table, when in_system */
  size_t first[PART_COUNT], count[PART_COUNT];
  size_t first_failure, failure_count;
  th_identity identity;
  uint32_t path; /* number in the worker's `paths` when identity.has_path */
} item;

struct scanner;

typedef struct worker {
  struct scanner *scanner;
  uint32_t number;
  th_thread thread;
  th_table *parts[PART_COUNT];
  TH_VEC(th_failure) failures;
  th_intern paths;
  uint16_t *path;
  th_module_cache *cache;
} worker;

typedef struct scanner {
  const th_scan_request *request;
  TH_VEC(item) items;
  th_mutex lock; /* of what follows */
  size_t next;
  bool no_memory;
} scanner;

/* ===== one process ================================================================ */

/* Keeps a failure of a process. False: there was no memory, now or in what failed. */
static bool keep(worker *self, th_status status, const th_failure *failure) {
  if (status == TH_OK)
    return true;
  return status != TH_NO_MEMORY && th_vec_push(&self->failures, *failure);
}

static bool ask_identity(worker *self, item *of) {
  th_failure failure;
  th_status status =
      th_identity_of(of->pid, self->path, TH_LONGEST_PATH + 1, &of->identity, &failure);
  if (of->identity.has_path &&
      !th_intern_put(&self->paths, self->path, of->identity.path_units * sizeof *self->path,
                     &of->path))
    return false;
  return keep(self, status, &failure);
}

static bool ask_modules(worker *self, item *of) {
  th_failure failure;
  th_status status =
      of->pid == 0 /* Windows would take it for the caller */
          ? th_fail_process(&failure, "CreateToolhelp32Snapshot", TH_ERROR_INVALID_PARAMETER, 0)
          : th_snapshot_modules(of->pid, self->cache, self->parts[PART_MODULES], &failure);
  return keep(self, status, &failure);
}

static bool ask_heaps(worker *self, item *of) {
  const th_scan_request *request = self->scanner->request;
  th_failure failure;
  th_status status =
      request->heap_sizes
          ? th_heap_totals_of(of->pid, &request->access, self->parts[PART_HEAPS], NULL,
                              self->parts[PART_SIZES], &failure)
          : th_heaps(of->pid, &request->access, self->parts[PART_HEAPS], &failure);
  return keep(self, status, &failure);
}

/* False: no memory. */
static bool ask(worker *self, item *of) {
  const th_scan_request *request = self->scanner->request;
  of->worker = self->number;
  of->first_failure = self->failures.count;
  for (size_t part = 0; part < PART_COUNT; part++)
    of->first[part] = self->parts[part] ? self->parts[part]->count : 0;
  bool room = true;
  if (!of->in_system) {
    th_failure failure;
    room = keep(self,
                th_fail_process(&failure, "CreateToolhelp32Snapshot", TH_ERROR_INVALID_PARAMETER,
                                of->pid),
                &failure);
  } else {
    room = (!request->identity || ask_identity(self, of)) &&
           (!request->modules || ask_modules(self, of)) && (!request->heaps || ask_heaps(self, of));
  }
  of->failure_count = self->failures.count - of->first_failure;
  for (size_t part = 0; part < PART_COUNT; part++)
    of->count[part] = self->parts[part] ? self->parts[part]->count - of->first[part] : 0;
  return room;
}

static void work(void *argument) {
  worker *self = argument;
  scanner *of = self->scanner;
  for (;;) {
    th_mutex_lock(&of->lock);
    size_t index = of->no_memory ? of->items.count : of->next++;
    th_mutex_unlock(&of->lock);
    if (index >= of->items.count)
      return;
    if (!ask(self, &of->items.items[index])) {
      th_mutex_lock(&of->lock);
      of->no_memory = true;
      th_mutex_unlock(&of->lock);
    }
  }
}

/* ===== which processes ============================================================ */

/* Ids to rows: open addressing over a power of two of slots; of equal ids the first row counts. */
typedef struct pid_rows {
  size_t *slots; /* row + 1 */
  size_t mask;
} pid_rows;

static bool make_rows(const th_table *processes, pid_rows *rows) {
  size_t size = 16;
  while (size < processes->count * 2)
    size *= 2;
  rows->slots = th_mem_zero_array(size, sizeof *rows->slots);
  rows->mask = size - 1;
  return rows->slots != NULL;
}

/* The slot of `pid`: taken when it was met, else free. */
static size_t *find_row(const pid_rows *rows, const uint32_t *pids, uint32_t pid) {
  size_t at = (size_t)th_hash_u64(pid) & rows->mask;
  while (rows->slots[at] && pids[rows->slots[at] - 1] != pid)
    at = (at + 1) & rows->mask;
  return &rows->slots[at];
}

static bool list_all(scanner *of, const th_table *processes, pid_rows *rows) {
  const uint32_t *pids = TH_COLUMN(processes, TH_PROCESS_PID, uint32_t);
  for (size_t row = 0; row < processes->count; row++) {
    size_t *slot = find_row(rows, pids, pids[row]);
    if (*slot)
      continue; /* listed twice: asked once */
    *slot = row + 1;
    if (of->request->all &&
        !th_vec_push(&of->items, ((item){.pid = pids[row], .in_system = true, .row = row})))
      return false;
  }
  return true;
}

static bool list_chosen(scanner *of, const th_table *processes, const pid_rows *rows) {
  const uint32_t *pids = TH_COLUMN(processes, TH_PROCESS_PID, uint32_t);
  for (size_t i = 0; i < of->request->pid_count; i++) {
    const uint32_t pid = of->request->pids[i];
    const size_t *slot = find_row(rows, pids, pid);
    item made = {.pid = pid, .in_system = *slot != 0, .row = *slot ? *slot - 1 : 0};
    if (!th_vec_push(&of->items, made))
      return false;
  }
  return true;
}

static bool list_items(scanner *of, const th_table *processes) {
  pid_rows rows;
  if (!make_rows(processes, &rows))
    return false;
  bool room = list_all(of, processes, &rows) &&
              (of->request->all || list_chosen(of, processes, &rows));
  th_mem_free(rows.slots);
  return room;
}

/* ===== workers ==================================================================== */

static bool wanted(const th_scan_request *request, size_t part) {
  return part == PART_MODULES ? request->modules
         : part == PART_HEAPS ? request->heaps
                              : request->heaps && request->heap_sizes;
}

/* Room for what usual processes have, so that tables seldom grow; pages that stay empty cost little. */
static size_t usual_rows(const scanner *of) {
  return of->items.count < 1024 ? of->items.count * 128 + 16 : 128 * 1024;
}

/* Most modules of a process are those of others, too. */
static th_table *make_part(const scanner *of, size_t part) {
  const size_t rows = usual_rows(of);
  return part == PART_MODULES ? th_snapshot_module_table(rows, 64 + rows / 8)
                              : th_table_new(part_schemas[part], rows, NULL);
}

static bool make_worker(worker *self, scanner *of, uint32_t number) {
  self->scanner = of;
  self->number = number;
  for (size_t part = 0; part < PART_COUNT; part++)
    if (wanted(of->request, part) && !(self->parts[part] = make_part(of, part)))
      return false;
  if (of->request->modules && !(self->cache = th_mem_zero(sizeof *self->cache)))
    return false;
  return !of->request->identity ||
         (self->path = th_mem_array(TH_LONGEST_PATH + 1, sizeof *self->path)) != NULL;
}

static void free_worker(worker *self) {
  for (size_t part = 0; part < PART_COUNT; part++)
    th_table_drop(self->parts[part]);
  th_vec_free(&self->failures);
  th_intern_free(&self->paths);
  th_mem_free(self->path);
  th_mem_free(self->cache);
}

/* The caller's thread works, too, and takes over what threads that could not be started would do. */
static void run_workers(worker *workers, unsigned count) {
  unsigned started = 1;
  while (started < count && th_thread_start(&workers[started].thread, work, &workers[started]))
    started++;
  work(&workers[0]);
  for (unsigned i = 1; i < started; i++)
    th_thread_join(&workers[i].thread);
}

static unsigned choose_workers(const th_scan_request *request, size_t items) {
  unsigned count = request->workers ? request->workers : th_host_processors();
  if (count > MOST_WORKERS)
    count = MOST_WORKERS;
  return count < items ? count : items ? (unsigned)items : 1;
}

/* ===== results, in the order of the items ========================================= */

static bool collect_part(const scanner *of, worker *workers, unsigned count, size_t part,
                         th_table **out) {
  size_t rows = 0;
  bool room = true;
  if (count == 1) { /* one worker met them in order */
    *out = workers[0].parts[part];
    workers[0].parts[part] = NULL;
    return true;
  }
  for (unsigned i = 0; i < count; i++)
    rows += workers[i].parts[part]->count;
  th_table *made = th_table_new(part_schemas[part], rows, NULL);
  th_merge_map *maps = th_mem_zero_array(count, sizeof *maps);
  room = made && maps;
  for (size_t i = 0; room && i < of->items.count; i++) {
    const item *from = &of->items.items[i];
    room = th_merge_rows(made, workers[from->worker].parts[part], from->first[part],
                         from->count[part], &maps[from->worker]);
  }
  for (unsigned i = 0; maps && i < count; i++)
    th_merge_map_free(&maps[i]);
  th_mem_free(maps);
  if (!room) {
    th_table_drop(made);
    return false;
  }
  *out = made;
  return true;
}

static bool collect_errors(const scanner *of, const worker *workers, th_scan *scan) {
  scan->errors = th_table_new(&th_error_schema, 64, NULL);
  if (!scan->errors)
    return false;
  for (size_t i = 0; i < of->items.count; i++) {
    const item *from = &of->items.items[i];
    const th_failure *failures = workers[from->worker].failures.items + from->first_failure;
    for (size_t j = 0; j < from->failure_count; j++) {
      if (!th_error_add(scan->errors, from->pid, &failures[j]))
        return false;
      if (scan->failed || (of->request->all && (from->pid == 0 || from->pid == 4)))
        continue;
      scan->failed = true;
      scan->first_failure = failures[j];
    }
  }
  return true;
}

/* The process table with the columns of identity; rows nobody asked about have none. */
static bool collect_identity(const scanner *of, const worker *workers, th_scan *scan) {
  static const uint16_t nothing[1] = {0};
  const th_table *plain = scan->processes;
  th_table *made = th_table_new(&th_identified_process_schema, plain->count, NULL);
  if (!made)
    return false;
  bool room = true;
  made->count = plain->count;
  for (size_t field = 0; field < plain->schema->field_count; field++) {
    th_column *to = &made->columns[field];
    const th_column *from = &plain->columns[field];
    const size_t width = th_types[plain->schema->fields[field].type].width;
    if (plain->count)
      memcpy(to->data, from->data, plain->count * width);
    if (from->dictionary) {
      th_dictionary_take(from->dictionary);
      th_dictionary_drop(to->dictionary);
      to->dictionary = from->dictionary;
    }
  }
  /* Missing until known; a missing text is still a number of the dictionary. */
  for (size_t row = 0; room && row < made->count; row++)
    room = th_table_set_text(made, TH_PROCESS_PATH, row, nothing, 0) &&
           th_table_set_missing(made, TH_PROCESS_PATH, row) &&
           th_table_set_missing(made, TH_PROCESS_CREATE_TIME, row) &&
           th_table_set_missing(made, TH_PROCESS_MACHINE, row);
  for (size_t i = 0; room && i < of->items.count; i++) {
    const item *from = &of->items.items[i];
    const th_identity *known = &from->identity;
    if (!from->in_system)
      continue;
    if (known->has_time) {
      TH_COLUMN(made, TH_PROCESS_CREATE_TIME, int64_t)[from->row] = known->create_time;
      th_table_set_known(made, TH_PROCESS_CREATE_TIME, from->row);
    }
    if (known->has_machine) {
      TH_COLUMN(made, TH_PROCESS_MACHINE, uint8_t)[from->row] =
          (uint8_t)th_machine_label_of(known->machine);
      th_table_set_known(made, TH_PROCESS_MACHINE, from->row);
    }
    if (known->has_path) {
      size_t bytes;
      const uint8_t *path = th_intern_get(&workers[from->worker].paths, from->path, &bytes);
      room = th_table_set_text(made, TH_PROCESS_PATH, from->row, (const uint16_t *)(const void *)path,
                               bytes / sizeof(uint16_t));
      th_table_set_known(made, TH_PROCESS_PATH, from->row);
    }
  }
  if (!room) {
    th_table_drop(made);
    return false;
  }
  th_table_drop(scan->processes);
  scan->processes = made;
  return true;
}

static bool collect(const scanner *of, worker *workers, unsigned count, th_scan *scan) {
  const th_scan_request *request = of->request;
  return (!request->identity || collect_identity(of, workers, scan)) &&
         collect_errors(of, workers, scan) &&
         (!request->modules || collect_part(of, workers, count, PART_MODULES, &scan->modules)) &&
         (!request->heaps || collect_part(of, workers, count, PART_HEAPS, &scan->heaps)) &&
         (!wanted(request, PART_SIZES) ||
          collect_part(of, workers, count, PART_SIZES, &scan->heap_sizes));
}

static void drop_scan(th_scan *scan) {
  th_table_drop(scan->processes);
  th_table_drop(scan->threads);
  th_table_drop(scan->modules);
  th_table_drop(scan->heaps);
  th_table_drop(scan->heap_sizes);
  th_table_drop(scan->errors);
}

th_status th_scan_run(const th_scan_request *request, th_scan *scan, th_failure *failure) {
  const th_system_request system = {.processes = true, .threads = true};
  const bool asks = request->identity || request->modules || request->heaps;
  scanner of = {.request = request};
  th_scan made = {0};
  worker *workers = NULL;
  unsigned count = 0;
  bool locked = false, room = true;
  th_status status = th_snapshot_system(&system, &made.processes, &made.threads, failure);
  if (status != TH_OK)
    return status;
  room = locked = th_mutex_init(&of.lock);
  if (room && (asks || !request->all))
    room = list_items(&of, made.processes);
  if (room) {
    count = choose_workers(request, of.items.count);
    workers = th_mem_zero_array(count, sizeof *workers);
    room = workers != NULL;
  }
  for (unsigned i = 0; room && i < count; i++)
    room = make_worker(&workers[i], &of, i);
  if (room) {
    run_workers(workers, count);
    room = !of.no_memory && collect(&of, workers, count, &made);
  }
  for (unsigned i = 0; workers && i < count; i++)
    free_worker(&workers[i]);
  th_mem_free(workers);
  if (locked)
    th_mutex_destroy(&of.lock);
  th_vec_free(&of.items);
  if (!room) {
    drop_scan(&made);
    return th_fail_memory(failure);
  }
  *scan = made;
  return TH_OK;
}
