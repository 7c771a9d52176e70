#include "snapshot/modules.h"

#include "base/hash.h"
#include "base/text.h"
#include "snapshot/create.h"
#include "snapshot/identity.h"
#include "snapshot/rows.h"

#include <string.h>

/* What is asked of the process besides its list, opened when first needed and at most once. */
typedef struct target {
  uint32_t pid;
  th_handle process;
  bool own, tried;
  uint16_t machine, native; /* TH_MACHINE_UNKNOWN while not known */
} target;

/* A path that may be cut, asked for again. */
typedef struct long_path {
  uint16_t *text;
  uint32_t units, capacity;
} long_path;

static void open_target(target *of, uint32_t access) {
  if (of->tried)
    return;
  of->tried = true;
  if (of->own)
    of->process = TH_CURRENT_PROCESS;
  else if (th_sys_open_process(access, of->pid, &of->process) != 0 &&
           th_sys_open_process(TH_PROCESS_QUERY_LIMITED, of->pid, &of->process) != 0)
    of->process = TH_NO_HANDLE;
}

static void close_target(target *of) {
  if (of->process != TH_NO_HANDLE && !of->own)
    (void)th_sys_close(of->process);
}

static void ask_machine(target *of) {
  uint16_t machine, native;
  open_target(of, TH_PROCESS_QUERY | TH_PROCESS_VM_READ);
  if (of->process == TH_NO_HANDLE || th_identity_machine(of->process, &machine, &native) != 0)
    return;
  of->native = native;
  of->machine = machine;
}

/* A 32-bit process of a 64-bit system has the 64-bit ntdll and the wow64 DLLs above 4 GiB, and
   everything of its own below. */
static uint16_t module_machine(const target *of, uint64_t base) {
  bool narrow = of->machine == TH_MACHINE_X86 || of->machine == TH_MACHINE_ARM;
  return narrow && base > UINT32_MAX ? of->native : of->machine;
}

/* The whole path into `path`, whose buffer grows; false when it cannot be had. *memory tells a lack
   of memory apart. */
static bool resolve(target *of, uint64_t base, long_path *path, bool *memory) {
  open_target(of, TH_PROCESS_QUERY | TH_PROCESS_VM_READ);
  if (of->process == TH_NO_HANDLE)
    return false;
  for (uint32_t capacity = 2 * TH_MAX_PATH; capacity <= 2 * TH_LONGEST_PATH; capacity *= 2) {
    if (path->capacity < capacity) {
      uint16_t *text = th_mem_resize_array(path->text, capacity, sizeof *text);
      if (!text) {
        *memory = false;
        return false;
      }
      path->text = text;
      path->capacity = capacity;
    }
    /* It cuts silently: a full buffer means that there may be more. */
    uint32_t units;
    if (th_sys_module_path(of->process, base, path->text, path->capacity, &units) != 0)
      return false;
    if (units + 1 < path->capacity) {
      path->units = units;
      return true;
    }
  }
  return false;
}

/* `\\?\` in front of a path only says that it may be long. */
static void strip_prefix(const uint16_t **text, size_t *units) {
  static const uint16_t prefix[] = {'\\', '\\', '?', '\\'};
  if (*units > 4 && memcmp(*text, prefix, sizeof prefix) == 0) {
    *text += 4;
    *units -= 4;
  }
}

static const uint16_t *file_name(const uint16_t *path, size_t units, size_t *name_units) {
  size_t at = units;
  while (at && path[at - 1] != '\\' && path[at - 1] != '/')
    at--;
  *name_units = units - at;
  return path + at;
}

/* Whether field `field` of the module table knows this zero-terminated text as number `code`. */
TH_INLINE bool is_text(const th_table *table, size_t field, uint32_t code, const uint16_t *text,
                       size_t capacity) {
  size_t bytes;
  const uint8_t *known = th_intern_get(&table->columns[field].dictionary->strings, code, &bytes);
  size_t units = bytes / sizeof *text;
  return units < capacity && memcmp(text, known, bytes) == 0 && text[units] == 0;
}

static th_module_slot *slot_of(th_module_cache *cache, uint64_t base) {
  return &cache->slots[th_hash_u64(base) % (sizeof cache->slots / sizeof *cache->slots)];
}

TH_INLINE bool set_row(th_table *table, const target *of, const th_sys_module *module,
                       bool truncated, size_t *row) {
  if (!th_table_add(table, row))
    return false;
  TH_COLUMN(table, TH_MODULE_PID, uint32_t)[*row] = of->pid;
  TH_COLUMN(table, TH_MODULE_BASE, uint64_t)[*row] = module->base;
  TH_COLUMN(table, TH_MODULE_SIZE, uint32_t)[*row] = module->base_size;
  TH_COLUMN(table, TH_MODULE_PATH_TRUNCATED, uint8_t)[*row] = truncated;
  if (of->machine == TH_MACHINE_UNKNOWN)
    return th_table_set_missing(table, TH_MODULE_MACHINE, *row);
  TH_COLUMN(table, TH_MODULE_MACHINE, uint8_t)[*row] =
      (uint8_t)th_machine_label_of(module_machine(of, module->base));
  return true;
}

static bool add_module(th_table *table, target *of, long_path *scratch, th_module_cache *cache,
                       const th_sys_module *module) {
  size_t row;
  th_module_slot *slot = cache ? slot_of(cache, module->base) : NULL;
  if (slot && slot->used && slot->base == module->base &&
      is_text(table, TH_MODULE_PATH, slot->path, module->path, TH_MAX_PATH - 1) &&
      is_text(table, TH_MODULE_NAME, slot->name, module->name, TH_MAX_MODULE_NAME - 1)) {
    if (!set_row(table, of, module, false, &row))
      return false;
    TH_COLUMN(table, TH_MODULE_NAME, uint32_t)[row] = slot->name;
    TH_COLUMN(table, TH_MODULE_PATH, uint32_t)[row] = slot->path;
    return true;
  }
  const uint16_t *path = module->path, *name = module->name;
  size_t path_units = th_text_units(path, TH_MAX_PATH);
  size_t name_units = th_text_units(name, TH_MAX_MODULE_NAME);
  bool name_cut = name_units + 1 >= TH_MAX_MODULE_NAME;
  bool truncated = path_units + 1 >= TH_MAX_PATH || name_cut;
  bool memory = true;
  if (truncated && resolve(of, module->base, scratch, &memory)) {
    truncated = false;
    path = scratch->text;
    path_units = scratch->units;
    strip_prefix(&path, &path_units);
    if (name_cut)
      name = file_name(path, path_units, &name_units);
  }
  if (!memory || !set_row(table, of, module, truncated, &row) ||
      !th_table_set_text(table, TH_MODULE_NAME, row, name, name_units) ||
      !th_table_set_text(table, TH_MODULE_PATH, row, path, path_units))
    return false;
  if (slot)
    *slot = (th_module_slot){module->base, TH_COLUMN(table, TH_MODULE_NAME, uint32_t)[row],
                             TH_COLUMN(table, TH_MODULE_PATH, uint32_t)[row], true};
  return true;
}

static th_status walk(th_handle snapshot, target *of, th_module_cache *cache, th_table *table,
                      th_failure *failure) {
  th_status status = TH_OK;
  th_sys_module module;
  long_path scratch = {0};
  const char *function = "Module32FirstW";
  uint32_t code = th_sys_module_first(snapshot, &module);
  for (; th_step_of(code) == TH_STEP_ROW; code = th_sys_module_next(snapshot, &module)) {
    if (!add_module(table, of, &scratch, cache, &module)) {
      status = th_fail_memory(failure);
      goto done;
    }
    function = "Module32NextW";
  }
  if (th_step_of(code) == TH_STEP_FAILED)
    status = th_fail_process(failure, function, code, of->pid);

done:
  th_mem_free(scratch.text);
  return status;
}

/* Usual lengths of names and paths, bytes of UTF-16. */
#define USUAL_NAME 32u
#define USUAL_PATH 112u

th_table *th_snapshot_module_table(size_t capacity, size_t texts) {
  th_table *table = th_table_new(&th_module_schema, capacity, NULL);
  if (!table)
    return NULL;
  th_intern *names = &table->columns[TH_MODULE_NAME].dictionary->strings;
  th_intern *paths = &table->columns[TH_MODULE_PATH].dictionary->strings;
  if (texts > SIZE_MAX / USUAL_PATH || !th_intern_reserve(names, texts, texts * USUAL_NAME) ||
      !th_intern_reserve(paths, texts, texts * USUAL_PATH)) {
    th_table_drop(table);
    return NULL;
  }
  return table;
}

/* Every process has its own program as a module. One that is starting or exiting may have a list
   that is empty, for a moment (seen under Wine): no list, rather than one without modules. */
static th_status check_empty(uint32_t pid, th_failure *failure) {
  const th_reason reason = th_snapshot_reason(pid);
  if (reason != TH_REASON_STARTING && reason != TH_REASON_EXITING)
    return TH_OK;
  th_fail_process(failure, "Module32FirstW", TH_ERROR_NO_MORE_FILES, pid);
  failure->status = TH_PARTIAL;
  failure->reason = reason;
  failure->attempts = 1;
  return TH_PARTIAL;
}

th_status th_snapshot_modules(uint32_t pid, th_module_cache *cache, th_table *table,
                              th_failure *failure) {
  target of = {.pid = pid, .own = pid == th_sys_current_pid()};
  const size_t before = table->count;
  th_handle snapshot = TH_NO_HANDLE;
  th_status status =
      th_snapshot_create(TH_SNAP_MODULE | TH_SNAP_MODULE32, pid, &snapshot, failure);
  if (status != TH_OK)
    return status;
  ask_machine(&of);
  status = walk(snapshot, &of, cache, table, failure);
  if (status == TH_OK && table->count == before)
    status = check_empty(pid, failure);
  if (status != TH_OK)
    th_table_shrink(table, before);
  close_target(&of);
  (void)th_sys_close(snapshot);
  return status;
}
