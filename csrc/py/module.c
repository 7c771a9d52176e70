/* The module's definition, and nothing else, so that a test build can define another around the
   same core. */
#include "py/core.h"

/* The slots below are newer than the limited API this is built for; their numbers are part of the
   stable ABI (object.h of CPython 3.12 and 3.13), and a slot that an older interpreter does not
   know is an error there. Hence two definitions, chosen by the interpreter that loads us. */
#define SLOT_MULTIPLE_INTERPRETERS 3
#define PER_INTERPRETER_GIL ((void *)2)

static PyModuleDef_Slot slots_311[] = {{Py_mod_exec, th_core_exec}, {0, NULL}};

static PyModuleDef_Slot slots_312[] = {{Py_mod_exec, th_core_exec},
                                       {SLOT_MULTIPLE_INTERPRETERS, PER_INTERPRETER_GIL},
                                       {0, NULL}};

#define CORE_DEFINITION(slots)                                                                     \
  {                                                                                                \
    PyModuleDef_HEAD_INIT, .m_name = "toolhelp._core",                                             \
    .m_doc = "The compiled core of toolhelp.", .m_size = sizeof(th_core_state),                    \
    .m_slots = (slots), .m_traverse = th_core_traverse, .m_clear = th_core_clear,                  \
    .m_free = th_core_free                                                                         \
  }

static struct PyModuleDef core_311 = CORE_DEFINITION(slots_311);
static struct PyModuleDef core_312 = CORE_DEFINITION(slots_312);

PyMODINIT_FUNC PyInit__core(void) {
  return PyModuleDef_Init(Py_Version >= 0x030C0000 ? &core_312 : &core_311);
}
