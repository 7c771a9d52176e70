/* Lock, planned failures, handles and the faults that tests ask for. */
#include "fake_etw.h"
#include "fake_state.h"

#include "host/host.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FIRST_HANDLE 0x100u
#define START_OF_CLOCK UINT64_C(1000000000)
#define DEFAULT_PID 4242u
#define MAX_PLANS 64

typedef struct plan {
  char name[48];
  uint32_t pid, nth, times, code;
  uint32_t seen;
} plan;

fake_state fake;
static th_mutex lock;
static bool started;
static plan plans[MAX_PLANS];
static size_t plan_count;
static th_handle next_handle = FIRST_HANDLE;

void *fake_memory_of(void *old, size_t size) {
  void *block = realloc(old, size ? size : 1);
  if (!block)
    abort();
  return block;
}

void fake_start(void) {
  if (started)
    return;
  started = true;
  if (!th_mutex_init(&lock))
    abort();
  fake.world = fake_memory_of(NULL, sizeof *fake.world);
  *fake.world = (fake_world){.references = 1};
  fake_reset();
  fake_add_default();
  fake_session_reset();
}

void fake_lock(void) { th_mutex_lock(&lock); }
void fake_unlock(void) { th_mutex_unlock(&lock); }

void fake_reset(void) {
  fake_lock();
  fake_drop_world(fake.world);
  fake.world = fake_memory_of(NULL, sizeof *fake.world);
  *fake.world = (fake_world){.references = 1};
  fake.own_pid = DEFAULT_PID;
  fake.own_machine = TH_MACHINE_UNKNOWN;
  fake.native_machine = TH_MACHINE_X64;
  fake.wine = false;
  fake.now = START_OF_CLOCK;
  fake.build = 22631;
  fake.may_debug = fake.debugs = false;
  fake.debug_layout = 0;
  fake.debug_cut = 0;
  fake.heap_locked = 0;
  fake.sleeps = fake.allocations = fake.fail_in = 0;
  fake.fail_on = false;
  fake.fault_count = 0;
  plan_count = 0;
  for (fake_call *call = fake.calls; call; call = call->next)
    call->count = 0;
  fake_unlock();
}

void fake_fault(const char *format, ...) {
  if (fake.fault_count == FAKE_MAX_FAULTS)
    return;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(fake.faults[fake.fault_count++], sizeof *fake.faults, format, arguments);
  va_end(arguments);
}

/* ----- calls ----- */

static uint32_t planned(const char *name, uint32_t pid) {
  uint32_t code = 0;
  for (size_t i = 0; i < plan_count; i++) {
    plan *of = &plans[i];
    if ((strcmp(of->name, "*") != 0 && strcmp(of->name, name) != 0) ||
        (of->pid != FAKE_NO_PID && of->pid != pid))
      continue;
    of->seen++;
    if (of->seen >= of->nth && (of->times == FAKE_EVER || of->seen - of->nth < of->times) && !code)
      code = of->code;
  }
  return code;
}

void fake_plan_failure(const char *name, uint32_t pid, uint32_t nth, uint32_t times,
                       uint32_t code) {
  fake_lock();
  size_t kept = 0; /* plans that are spent make room */
  for (size_t i = 0; i < plan_count; i++)
    if (plans[i].times == FAKE_EVER || plans[i].seen + 1 < plans[i].nth + plans[i].times)
      plans[kept++] = plans[i];
  plan_count = kept;
  if (plan_count < MAX_PLANS) {
    plan *of = &plans[plan_count++];
    *of = (plan){.pid = pid, .nth = nth, .times = times, .code = code};
    snprintf(of->name, sizeof of->name, "%s", name);
  } else {
    fake_fault("more than %d planned failures", MAX_PLANS);
  }
  fake_unlock();
}

static void count_call(fake_call *call) {
  fake_lock();
  void (*hook)(const char *) = fake.hook;
  if (hook) {
    fake_unlock();
    hook(call->name);
    fake_lock();
  }
  if (!call->listed) {
    call->listed = true;
    call->next = fake.calls;
    fake.calls = call;
  }
  call->count++;
}

uint32_t fake_begin(fake_call *call, uint32_t pid) {
  count_call(call);
  return planned(call->name, pid ? pid : fake.own_pid);
}

uint32_t fake_begin_handle(fake_call *call, th_handle value, fake_kind kind, fake_handle **handle) {
  count_call(call);
  fake_handle *found = fake_find_handle(value);
  if (!found || found->kind != kind) {
    fake_fault("%s: 0x%zx is %s", call->name, (size_t)value,
               found ? "a handle of another kind" : "not an open handle");
    return TH_ERROR_INVALID_HANDLE;
  }
  *handle = found;
  return planned(call->name, found->pid);
}

void fake_end(void) { fake_unlock(); }

/* ----- handles ----- */

fake_handle *fake_open(fake_kind kind, uint32_t pid) {
  if (fake.handle_count == fake.handle_room) {
    fake.handle_room = fake.handle_room ? 2 * fake.handle_room : 16;
    fake.handles = fake_memory_of(fake.handles, fake.handle_room * sizeof *fake.handles);
  }
  fake_handle *handle = fake_memory_of(NULL, sizeof *handle);
  *handle = (fake_handle){.value = next_handle, .kind = kind, .pid = pid, .world = fake.world};
  fake.world->references++;
  next_handle += 4; /* as Windows counts them */
  fake.handles[fake.handle_count++] = handle;
  return handle;
}

fake_handle *fake_find_handle(th_handle value) {
  for (size_t i = fake.handle_count; i-- > 0;)
    if (fake.handles[i]->value == value)
      return fake.handles[i];
  return NULL;
}

fake_process *fake_process_of(th_handle value) {
  if (value == TH_CURRENT_PROCESS)
    return fake_find_process(fake.world, fake.own_pid);
  fake_handle *handle = fake_find_handle(value);
  if (!handle || handle->kind != FAKE_PROCESS) {
    fake_fault("0x%zx is not an open process", (size_t)value);
    return NULL;
  }
  fake_process *now = fake_find_process(fake.world, handle->pid);
  return now ? now : fake_find_process(handle->world, handle->pid);
}

uint32_t th_sys_close(th_handle value) {
  FAKE_CALL(call, "CloseHandle");
  uint32_t code = fake_begin(&call, FAKE_NO_PID);
  /* A handle that Windows refuses to close is lost all the same: it is gone in both cases. */
  size_t i = 0;
  while (i < fake.handle_count && fake.handles[i]->value != value)
    i++;
  if (i == fake.handle_count) {
    fake_fault("CloseHandle: 0x%zx is not open (closed twice?)", (size_t)value);
    code = TH_ERROR_INVALID_HANDLE;
  } else {
    fake_drop_world(fake.handles[i]->world);
    free(fake.handles[i]);
    fake.handles[i] = fake.handles[--fake.handle_count];
  }
  fake_end();
  return code;
}
