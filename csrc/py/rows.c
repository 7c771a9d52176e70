#include "py/core.h"

int th_py_add_row_type(PyObject *module, const th_schema *schema) {
  th_core_state *state = th_core_state_of(module);
  if (state->row_type_count == TH_MAX_ROW_TYPES) {
    PyErr_SetString(PyExc_SystemError, "too many row types");
    return -1;
  }
  char name[64];
  PyOS_snprintf(name, sizeof name, "toolhelp.%s", schema->name);
  PyStructSequence_Field fields[TH_MAX_FIELDS + 1];
  for (size_t i = 0; i < schema->field_count; i++)
    fields[i] = (PyStructSequence_Field){schema->fields[i].name, schema->fields[i].doc};
  fields[schema->field_count] = (PyStructSequence_Field){NULL, NULL};
  PyStructSequence_Desc description = {.name = name,
                                       .doc = schema->doc,
                                       .fields = fields,
                                       .n_in_sequence = (int)schema->field_count};
  PyTypeObject *type = PyStructSequence_NewType(&description);
  if (!type)
    return -1;
  state->row_types[state->row_type_count++] = (th_row_type){.schema = schema, .type = type};
  return PyModule_AddObjectRef(module, schema->name, (PyObject *)type);
}

PyTypeObject *th_py_row_type(const th_core_state *state, const th_schema *schema) {
  for (size_t i = 0; i < state->row_type_count; i++)
    if (state->row_types[i].schema == schema)
      return state->row_types[i].type;
  PyErr_Format(PyExc_SystemError, "no row type for %s", schema->name);
  return NULL;
}
