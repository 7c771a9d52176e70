/* The test build's definition of `toolhelp._core`: the core, and then what controls the fake. */
#include "fake_control.h"
#include "fake_state.h"

/* Newer than the limited API; see csrc/py/module.c. */
#define SLOT_MULTIPLE_INTERPRETERS 3
#define PER_INTERPRETER_GIL ((void *)2)

static PyModuleDef_Slot slots_311[] = {
    {Py_mod_exec, th_core_exec}, {Py_mod_exec, fake_control_exec}, {0, NULL}};

static PyModuleDef_Slot slots_312[] = {{Py_mod_exec, th_core_exec},
                                       {Py_mod_exec, fake_control_exec},
                                       {SLOT_MULTIPLE_INTERPRETERS, PER_INTERPRETER_GIL},
                                       {0, NULL}};

#define CORE_DEFINITION(slots)                                                                     \
  {                                                                                                \
    PyModuleDef_HEAD_INIT, .m_name = "toolhelp._core",                                             \
    .m_doc = "The compiled core of toolhelp over a scripted system.",                              \
    .m_size = sizeof(th_core_state), .m_slots = (slots), .m_traverse = th_core_traverse,           \
    .m_clear = th_core_clear, .m_free = th_core_free                                               \
  }

static struct PyModuleDef core_311 = CORE_DEFINITION(slots_311);
static struct PyModuleDef core_312 = CORE_DEFINITION(slots_312);

PyMODINIT_FUNC PyInit__core(void) {
  fake_start();
  return PyModuleDef_Init(Py_Version >= 0x030C0000 ? &core_312 : &core_311);
}
