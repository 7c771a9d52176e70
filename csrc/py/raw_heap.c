/* Heap32First, Heap32Next and Toolhelp32ReadProcessMemory as Windows has them. */
#include "py/core.h"

#include "sys/sys.h"

#define U32(field, text) {.name = field, .type = TH_TYPE_U32, .doc = text}
#define U64(field, text) {.name = field, .type = TH_TYPE_U64, .doc = text}

static const th_schema heap_entry = {
    .name = "HEAPENTRY32",
    .doc = "A block of a heap, as Heap32First and Heap32Next give it.",
    .field_count = 9,
    .fields = {U64("dwSize", "size of the structure, bytes"), U64("hHandle", "handle of the block"),
               U64("dwAddress", "address of its start"), U64("dwBlockSize", "its size, bytes"),
               U32("dwFlags", "LF32_FIXED, LF32_FREE or LF32_MOVEABLE"),
               U32("dwLockCount", "always 0"),
               U32("dwResvd", "the place of the walk, which Heap32Next needs back"),
               U32("th32ProcessID", "process id"), U64("th32HeapID", "id of the heap")}};

static PyObject *row_of(th_core_state *state, const th_sys_heap_block *block) {
  const uint64_t values[] = {block->size,       block->handle,     block->address,
                             block->block_size, block->flags,      block->lock_count,
                             block->reserved,   block->pid,        block->heap_id};
  PyTypeObject *type = th_py_row_type(state, &heap_entry);
  PyObject *row = type ? PyStructSequence_New(type) : NULL;
  for (Py_ssize_t i = 0; row && i < (Py_ssize_t)(sizeof values / sizeof *values); i++) {
    PyObject *value = PyLong_FromUnsignedLongLong(values[i]);
    if (!value)
      Py_CLEAR(row);
    else
      PyStructSequence_SetItem(row, i, value);
  }
  return row;
}

/* None at the end of the list, an exception for any other code. */
static PyObject *end_or_raise(th_core_state *state, const char *function, uint32_t code,
                              uint32_t pid) {
  th_failure failure;
  if (code == TH_ERROR_NO_MORE_FILES)
    Py_RETURN_NONE;
  th_fail_process(&failure, function, code, pid ? pid : th_sys_current_pid());
  return th_py_raise(state, &failure);
}

/* Wine ends the process that enters these. */
static bool refuse_wine(th_core_state *state, const char *function) {
  th_failure failure;
  if (!th_sys_is_wine())
    return false;
  th_fail(&failure, TH_UNSUPPORTED, "Wine does not implement it");
  failure.function = function;
  th_py_raise(state, &failure);
  return true;
}

PyDoc_STRVAR(first_doc, "Heap32First(pid, heap_id, /)\n--\n\nThe first HEAPENTRY32, or None.");

static PyObject *heap_first(PyObject *module, PyObject *args) {
  th_core_state *state = th_core_state_of(module);
  PyObject *pid_object, *id_object;
  uint32_t pid, code;
  uint64_t heap_id;
  th_sys_heap_block block;
  if (!PyArg_ParseTuple(args, "OO:Heap32First", &pid_object, &id_object) ||
      th_py_u32(pid_object, "pid", &pid) < 0 || th_py_u64(id_object, "heap_id", &heap_id) < 0 ||
      refuse_wine(state, "Heap32First"))
    return NULL;
  Py_BEGIN_ALLOW_THREADS
  code = th_sys_heap_first(pid, heap_id, &block);
  Py_END_ALLOW_THREADS
  return code ? end_or_raise(state, "Heap32First", code, pid) : row_of(state, &block);
}

PyDoc_STRVAR(next_doc, "Heap32Next(entry, /)\n--\n\nThe HEAPENTRY32 after this one, or None.");

static PyObject *heap_next(PyObject *module, PyObject *entry) {
  th_core_state *state = th_core_state_of(module);
  PyTypeObject *type = th_py_row_type(state, &heap_entry);
  uint64_t values[9];
  uint32_t code;
  if (!type)
    return NULL;
  if (!PyObject_TypeCheck(entry, type))
    return PyErr_Format(PyExc_TypeError, "Heap32Next needs the HEAPENTRY32 before");
  for (size_t i = 0; i < 9; i++) {
    const bool wide = heap_entry.fields[i].type == TH_TYPE_U64;
    PyObject *value = PyTuple_GetItem(entry, (Py_ssize_t)i);
    uint32_t narrow = 0;
    if (!value || (wide ? th_py_u64(value, heap_entry.fields[i].name, &values[i])
                        : th_py_u32(value, heap_entry.fields[i].name, &narrow)) < 0)
      return NULL;
    if (!wide)
      values[i] = narrow;
  }
  if (refuse_wine(state, "Heap32Next"))
    return NULL;
  th_sys_heap_block block = {.size = values[0],
                             .handle = values[1],
                             .address = values[2],
                             .block_size = values[3],
                             .flags = (uint32_t)values[4],
                             .lock_count = (uint32_t)values[5],
                             .reserved = (uint32_t)values[6],
                             .pid = (uint32_t)values[7],
                             .heap_id = values[8]};
  Py_BEGIN_ALLOW_THREADS
  code = th_sys_heap_next(&block);
  Py_END_ALLOW_THREADS
  return code ? end_or_raise(state, "Heap32Next", code, block.pid) : row_of(state, &block);
}

PyDoc_STRVAR(read_doc, "Toolhelp32ReadProcessMemory(pid, address, size, /)\n--\n\nbytes.");

static PyObject *read_memory(PyObject *module, PyObject *args) {
  static const char function[] = "Toolhelp32ReadProcessMemory";
  th_core_state *state = th_core_state_of(module);
  PyObject *pid_object, *address_object;
  Py_ssize_t size;
  uint32_t pid, code;
  uint64_t address;
  size_t read = 0;
  if (!PyArg_ParseTuple(args, "OOn:Toolhelp32ReadProcessMemory", &pid_object, &address_object,
                        &size) ||
      th_py_u32(pid_object, "pid", &pid) < 0 || th_py_u64(address_object, "address", &address) < 0)
    return NULL;
  if (size < 0)
    return PyErr_Format(PyExc_ValueError, "size must not be negative");
  char *buffer = th_mem_alloc((size_t)size);
  if (!buffer)
    return PyErr_NoMemory();
  Py_BEGIN_ALLOW_THREADS
  code = th_sys_toolhelp_read_memory(pid, address, buffer, (size_t)size, &read);
  Py_END_ALLOW_THREADS
  PyObject *result = NULL;
  if (code == 0) {
    result = PyBytes_FromStringAndSize(buffer, (Py_ssize_t)read);
  } else {
    th_failure failure;
    th_fail_process(&failure, function, code, pid ? pid : th_sys_current_pid());
    th_py_raise(state, &failure);
  }
  th_mem_free(buffer);
  return result;
}

static PyMethodDef functions[] = {
    {"Heap32First", heap_first, METH_VARARGS, first_doc},
    {"Heap32Next", heap_next, METH_O, next_doc},
    {"Toolhelp32ReadProcessMemory", read_memory, METH_VARARGS, read_doc},
    {NULL, NULL, 0, NULL}};

int th_py_raw_heap_init(PyObject *module) {
  if (th_py_add_row_type(module, &heap_entry) < 0)
    return -1;
  return th_py_add_functions(module, functions);
}
