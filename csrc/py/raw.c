/* The Tool Help calls one to one: a snapshot object, and First and Next as Windows has them. */
#include "py/core.h"

#include "host/host.h"
#include "base/text.h"
#include "sys/sys.h"

/* ===== rows, with the names of tlhelp32.h ========================================= */

#define U32(field, text) {.name = field, .type = TH_TYPE_U32, .doc = text}
#define I32(field, text) {.name = field, .type = TH_TYPE_I32, .doc = text}
#define U64(field, text) {.name = field, .type = TH_TYPE_U64, .doc = text}
#define TEXT(field, text) {.name = field, .type = TH_TYPE_TEXT, .doc = text}

static const th_schema process_entry = {
    .name = "PROCESSENTRY32W",
    .doc = "A process, as Process32FirstW and Process32NextW give it.",
    .field_count = 10,
    .fields = {U32("dwSize", "size of the structure, bytes"), U32("cntUsage", "always 0"),
               U32("th32ProcessID", "process id"), U64("th32DefaultHeapID", "always 0"),
               U32("th32ModuleID", "always 0"), U32("cntThreads", "number of threads"),
               U32("th32ParentProcessID", "id of the process that created it"),
               I32("pcPriClassBase", "base priority of new threads"), U32("dwFlags", "always 0"),
               TEXT("szExeFile", "file name of the program")}};

static const th_schema thread_entry = {
    .name = "THREADENTRY32",
    .doc = "A thread, as Thread32First and Thread32Next give it.",
    .field_count = 7,
    .fields = {U32("dwSize", "size of the structure, bytes"), U32("cntUsage", "always 0"),
               U32("th32ThreadID", "thread id"), U32("th32OwnerProcessID", "process id"),
               I32("tpBasePri", "base priority"), I32("tpDeltaPri", "always 0"),
               U32("dwFlags", "always 0")}};

static const th_schema module_entry = {
    .name = "MODULEENTRY32W",
    .doc = "A module, as Module32FirstW and Module32NextW give it.",
    .field_count = 10,
    .fields = {U32("dwSize", "size of the structure, bytes"), U32("th32ModuleID", "always 1"),
               U32("th32ProcessID", "process id"), U32("GlblcntUsage", "load count, not meaningful"),
               U32("ProccntUsage", "load count, not meaningful"), U64("modBaseAddr", "base address"),
               U32("modBaseSize", "size of the image in memory, bytes"),
               U64("hModule", "handle of the module in its process"),
               TEXT("szModule", "file name"), TEXT("szExePath", "full path")}};

static const th_schema heap_list = {
    .name = "HEAPLIST32",
    .doc = "A heap, as Heap32ListFirst and Heap32ListNext give it.",
    .field_count = 4,
    .fields = {U64("dwSize", "size of the structure, bytes"), U32("th32ProcessID", "process id"),
               U64("th32HeapID", "id of the heap; not a handle"),
               U32("dwFlags", "HF32_DEFAULT for the default heap")}};

/* Values of one row, appended in the order of the schema. */
typedef struct row_builder {
  PyObject *row;
  Py_ssize_t next;
} row_builder;

static bool start(th_core_state *state, const th_schema *schema, row_builder *builder) {
  PyTypeObject *type = th_py_row_type(state, schema);
  *builder = (row_builder){.row = type ? PyStructSequence_New(type) : NULL};
  return builder->row != NULL;
}

/* Takes over `value`. After a failure nothing more is put, or made: no call into Python may be made
   while an exception is set. */
static void put(row_builder *builder, PyObject *value) {
  if (value)
    PyStructSequence_SetItem(builder->row, builder->next++, value);
  else
    Py_CLEAR(builder->row);
}

static void put_u(row_builder *builder, uint64_t value) {
  if (builder->row)
    put(builder, PyLong_FromUnsignedLongLong(value));
}
static void put_i(row_builder *builder, int32_t value) {
  if (builder->row)
    put(builder, PyLong_FromLong(value));
}
static void put_text(row_builder *builder, const uint16_t *text, size_t capacity) {
  if (builder->row)
    put(builder, th_py_text(text, th_text_units(text, capacity)));
}

static PyObject *process_row(th_core_state *state, const th_sys_process *entry) {
  row_builder builder;
  if (!start(state, &process_entry, &builder))
    return NULL;
  put_u(&builder, entry->size);
  put_u(&builder, entry->usage);
  put_u(&builder, entry->pid);
  put_u(&builder, entry->default_heap_id);
  put_u(&builder, entry->module_id);
  put_u(&builder, entry->threads);
  put_u(&builder, entry->parent_pid);
  put_i(&builder, entry->base_priority);
  put_u(&builder, entry->flags);
  put_text(&builder, entry->name, TH_MAX_PATH);
  return builder.row;
}

static PyObject *thread_row(th_core_state *state, const th_sys_thread *entry) {
  row_builder builder;
  if (!start(state, &thread_entry, &builder))
    return NULL;
  put_u(&builder, entry->size);
  put_u(&builder, entry->usage);
  put_u(&builder, entry->tid);
  put_u(&builder, entry->owner_pid);
  put_i(&builder, entry->base_priority);
  put_i(&builder, entry->delta_priority);
  put_u(&builder, entry->flags);
  return builder.row;
}

static PyObject *module_row(th_core_state *state, const th_sys_module *entry) {
  row_builder builder;
  if (!start(state, &module_entry, &builder))
    return NULL;
  put_u(&builder, entry->size);
  put_u(&builder, entry->module_id);
  put_u(&builder, entry->pid);
  put_u(&builder, entry->global_usage);
  put_u(&builder, entry->process_usage);
  put_u(&builder, entry->base);
  put_u(&builder, entry->base_size);
  put_u(&builder, entry->handle);
  put_text(&builder, entry->name, TH_MAX_MODULE_NAME);
  put_text(&builder, entry->path, TH_MAX_PATH);
  return builder.row;
}

static PyObject *heap_row(th_core_state *state, const th_sys_heap *entry) {
  row_builder builder;
  if (!start(state, &heap_list, &builder))
    return NULL;
  put_u(&builder, entry->size);
  put_u(&builder, entry->pid);
  put_u(&builder, entry->heap_id);
  put_u(&builder, entry->flags);
  return builder.row;
}

/* ===== the snapshot object ======================================================== */

typedef struct snapshot_object {
  PyObject ob_base;
  th_mutex lock; /* First and Next keep their place in the handle: one at a time */
  th_handle handle;
  bool open;
  uint32_t flags, pid;
} snapshot_object;

/* Calls are made with the lock held and the GIL released. */
#define WITH_HANDLE(self, call)                                                                    \
  do {                                                                                             \
    Py_BEGIN_ALLOW_THREADS                                                                         \
    th_mutex_lock(&(self)->lock);                                                                  \
    open = (self)->open;                                                                           \
    if (open)                                                                                      \
      code = (call);                                                                               \
    th_mutex_unlock(&(self)->lock);                                                                \
    Py_END_ALLOW_THREADS                                                                           \
  } while (0)

static PyObject *closed_error(void) {
  PyErr_SetString(PyExc_ValueError, "the snapshot is closed");
  return NULL;
}

static PyObject *raise_code(snapshot_object *self, const char *function, uint32_t code,
                            th_status status) {
  th_failure failure;
  if (self->flags & (TH_SNAP_MODULE | TH_SNAP_MODULE32 | TH_SNAP_HEAP_LIST))
    th_fail_process(&failure, function, code, self->pid ? self->pid : th_sys_current_pid());
  else
    th_fail_system(&failure, function, code);
  failure.status = status;
  failure.reason = TH_REASON_UNKNOWN; /* told for TH_PARTIAL alone */
  return th_py_raise(th_core_state_of_type(TH_TYPE(self)), &failure);
}

/* None at the end of the list, an exception for any other code. */
static PyObject *end_or_raise(snapshot_object *self, const char *function, uint32_t code) {
  if (code == TH_ERROR_NO_MORE_FILES)
    Py_RETURN_NONE;
  return raise_code(self, function, code, TH_SYSTEM);
}

#define STEP(method, call, row_type, function, to_row)                                             \
  static PyObject *method(snapshot_object *self, PyObject *ignored) {                              \
    (void)ignored;                                                                                 \
    row_type row;                                                                                  \
    uint32_t code = 0;                                                                             \
    bool open;                                                                                     \
    WITH_HANDLE(self, call(self->handle, &row));                                                   \
    if (!open)                                                                                     \
      return closed_error();                                                                       \
    if (code)                                                                                      \
      return end_or_raise(self, function, code);                                                   \
    return to_row(th_core_state_of_type(TH_TYPE(self)), &row);                                     \
  }
STEP(process_first, th_sys_process_first, th_sys_process, "Process32FirstW", process_row)
STEP(process_next, th_sys_process_next, th_sys_process, "Process32NextW", process_row)
STEP(thread_first, th_sys_thread_first, th_sys_thread, "Thread32First", thread_row)
STEP(thread_next, th_sys_thread_next, th_sys_thread, "Thread32Next", thread_row)
STEP(module_first, th_sys_module_first, th_sys_module, "Module32FirstW", module_row)
STEP(module_next, th_sys_module_next, th_sys_module, "Module32NextW", module_row)

/* Wine has Heap32ListFirst in half and kills the process in Heap32ListNext: neither is entered. */
static PyObject *no_heaps_here(snapshot_object *self, const char *function) {
  th_failure failure;
  th_fail(&failure, TH_UNSUPPORTED, "Wine does not implement it");
  failure.function = function;
  return th_py_raise(th_core_state_of_type(TH_TYPE(self)), &failure);
}
STEP(heap_list_first_call, th_sys_heap_list_first, th_sys_heap, "Heap32ListFirst", heap_row)
STEP(heap_list_next_call, th_sys_heap_list_next, th_sys_heap, "Heap32ListNext", heap_row)

static PyObject *heap_list_first(snapshot_object *self, PyObject *ignored) {
  return th_sys_is_wine() ? no_heaps_here(self, "Heap32ListFirst")
                          : heap_list_first_call(self, ignored);
}
static PyObject *heap_list_next(snapshot_object *self, PyObject *ignored) {
  return th_sys_is_wine() ? no_heaps_here(self, "Heap32ListNext")
                          : heap_list_next_call(self, ignored);
}

static uint32_t close_once(snapshot_object *self) {
  uint32_t code = 0;
  th_mutex_lock(&self->lock);
  if (self->open) {
    self->open = false;
    code = th_sys_close(self->handle);
  }
  th_mutex_unlock(&self->lock);
  return code;
}

PyDoc_STRVAR(close_doc, "close($self, /)\n--\n\nCloses the handle (CloseHandle); again: nothing.");

static PyObject *close_and_tell(snapshot_object *self, bool quiet) {
  uint32_t code;
  Py_BEGIN_ALLOW_THREADS
  code = close_once(self);
  Py_END_ALLOW_THREADS
  if (code && !quiet) {
    th_failure failure;
    th_fail_system(&failure, "CloseHandle", code);
    return th_py_raise(th_core_state_of_type(TH_TYPE(self)), &failure);
  }
  Py_RETURN_NONE;
}

static PyObject *snapshot_close(snapshot_object *self, PyObject *ignored) {
  (void)ignored;
  return close_and_tell(self, false);
}

static PyObject *snapshot_enter(PyObject *self, PyObject *ignored) {
  (void)ignored;
  return Py_NewRef(self);
}

static PyObject *snapshot_exit(snapshot_object *self, PyObject *args) {
  PyObject *kind = Py_None, *value, *traceback;
  if (!PyArg_ParseTuple(args, "|OOO:__exit__", &kind, &value, &traceback))
    return NULL;
  return close_and_tell(self, kind != Py_None); /* the failure on its way tells more */
}

static bool is_open(snapshot_object *self) {
  bool open;
  Py_BEGIN_ALLOW_THREADS
  th_mutex_lock(&self->lock);
  open = self->open;
  th_mutex_unlock(&self->lock);
  Py_END_ALLOW_THREADS
  return open;
}

static PyObject *snapshot_handle(snapshot_object *self, void *closure) {
  (void)closure;
  return is_open(self) ? PyLong_FromUnsignedLongLong(self->handle) : closed_error();
}

static PyObject *snapshot_closed(snapshot_object *self, void *closure) {
  (void)closure;
  return PyBool_FromLong(!is_open(self));
}

static void snapshot_dealloc(snapshot_object *self) {
  PyTypeObject *type = TH_TYPE(self);
  if (self->open) {
    PyObject *kind, *value, *traceback; /* the current exception stays as it is */
    PyErr_Fetch(&kind, &value, &traceback);
    char handle[32];
    PyOS_snprintf(handle, sizeof handle, "0x%llx", (unsigned long long)self->handle);
    if (PyErr_WarnFormat(PyExc_ResourceWarning, 1, "unclosed snapshot handle %s", handle) < 0)
      PyErr_WriteUnraisable(NULL);
    PyErr_Restore(kind, value, traceback);
    close_once(self);
  }
  th_mutex_destroy(&self->lock);
  PyObject_Free(self);
  Py_DECREF(type);
}

#define FIRST_DOC(function, row)                                                                   \
  function "($self, /)\n--\n\nThe first " row " of the snapshot, or None when there is none."
#define NEXT_DOC(function, row)                                                                    \
  function "($self, /)\n--\n\nThe next " row " of the snapshot, or None at the end."

static PyMethodDef snapshot_methods[] = {
    {"Process32First", (PyCFunction)process_first, METH_NOARGS,
     FIRST_DOC("Process32First", "PROCESSENTRY32W")},
    {"Process32Next", (PyCFunction)process_next, METH_NOARGS,
     NEXT_DOC("Process32Next", "PROCESSENTRY32W")},
    {"Thread32First", (PyCFunction)thread_first, METH_NOARGS,
     FIRST_DOC("Thread32First", "THREADENTRY32")},
    {"Thread32Next", (PyCFunction)thread_next, METH_NOARGS,
     NEXT_DOC("Thread32Next", "THREADENTRY32")},
    {"Module32First", (PyCFunction)module_first, METH_NOARGS,
     FIRST_DOC("Module32First", "MODULEENTRY32W")},
    {"Module32Next", (PyCFunction)module_next, METH_NOARGS,
     NEXT_DOC("Module32Next", "MODULEENTRY32W")},
    {"Heap32ListFirst", (PyCFunction)heap_list_first, METH_NOARGS,
     FIRST_DOC("Heap32ListFirst", "HEAPLIST32")},
    {"Heap32ListNext", (PyCFunction)heap_list_next, METH_NOARGS,
     NEXT_DOC("Heap32ListNext", "HEAPLIST32")},
    {"close", (PyCFunction)snapshot_close, METH_NOARGS, close_doc},
    {"__enter__", snapshot_enter, METH_NOARGS, NULL},
    {"__exit__", (PyCFunction)snapshot_exit, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef snapshot_properties[] = {
    {"handle", (getter)snapshot_handle, NULL, "The HANDLE as an int; ValueError once closed.", NULL},
    {"closed", (getter)snapshot_closed, NULL, "Whether the handle is closed.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

PyDoc_STRVAR(snapshot_doc, "A handle of CreateToolhelp32Snapshot, closed by close() or `with`.\n\n"
                           "Calls from several threads follow one another.");

static PyType_Slot snapshot_slots[] = {{Py_tp_doc, (void *)snapshot_doc},
                                       {Py_tp_dealloc, snapshot_dealloc},
                                       {Py_tp_methods, snapshot_methods},
                                       {Py_tp_getset, snapshot_properties},
                                       {0, NULL}};

static PyType_Spec snapshot_spec = {.name = "toolhelp.raw.SnapshotHandle",
                                    .basicsize = sizeof(snapshot_object),
                                    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE |
                                             Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                    .slots = snapshot_slots};

PyDoc_STRVAR(create_doc, "CreateToolhelp32Snapshot(flags, pid=0, /)\n--\n\n"
                         "A SnapshotHandle; one call, no retry. pid 0 is the caller.");

static PyObject *create_snapshot(PyObject *module, PyObject *args) {
  th_core_state *state = th_core_state_of(module);
  PyObject *flags_object, *pid_object = NULL;
  uint32_t flags, pid = 0, code;
  th_handle handle = TH_NO_HANDLE;
  if (!PyArg_ParseTuple(args, "O|O:CreateToolhelp32Snapshot", &flags_object, &pid_object) ||
      th_py_u32(flags_object, "flags", &flags) < 0 ||
      (pid_object && th_py_u32(pid_object, "pid", &pid) < 0))
    return NULL;
  snapshot_object *self = PyObject_New(snapshot_object, state->raw_snapshot_type);
  if (!self)
    return NULL;
  self->open = false;
  if (!th_mutex_init(&self->lock)) {
    PyObject_Free(self);
    Py_DECREF(state->raw_snapshot_type);
    return PyErr_NoMemory();
  }
  self->flags = flags;
  self->pid = pid;
  Py_BEGIN_ALLOW_THREADS
  code = th_sys_create_snapshot(flags, pid, &handle);
  Py_END_ALLOW_THREADS
  if (code) {
    raise_code(self, "CreateToolhelp32Snapshot", code,
               code == TH_ERROR_BAD_LENGTH     ? TH_RACE
               : code == TH_ERROR_PARTIAL_COPY ? TH_PARTIAL
                                               : TH_SYSTEM);
    Py_DECREF(self);
    return NULL;
  }
  self->handle = handle;
  self->open = true;
  return (PyObject *)self;
}

static PyMethodDef functions[] = {
    {"CreateToolhelp32Snapshot", create_snapshot, METH_VARARGS, create_doc}, {NULL, NULL, 0, NULL}};

int th_py_raw_init(PyObject *module) {
  th_core_state *state = th_core_state_of(module);
  state->raw_snapshot_type =
      (PyTypeObject *)PyType_FromModuleAndSpec(module, &snapshot_spec, NULL);
  if (!state->raw_snapshot_type ||
      PyModule_AddObjectRef(module, "SnapshotHandle", (PyObject *)state->raw_snapshot_type) < 0)
    return -1;
  if (th_py_add_row_type(module, &process_entry) < 0 ||
      th_py_add_row_type(module, &thread_entry) < 0 ||
      th_py_add_row_type(module, &module_entry) < 0 || th_py_add_row_type(module, &heap_list) < 0)
    return -1;
  return th_py_add_functions(module, functions);
}
