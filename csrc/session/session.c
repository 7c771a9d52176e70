#include "session/session.h"

#include "base/cursor.h"
#include "base/vec.h"
#include "host/host.h"
#include "sys/privilege.h"

#define POINTER_SIZE ((unsigned)sizeof(void *))

struct th_session {
  th_mutex lock;
  th_session_state state;
  th_session_plan plan; /* its pointers lead into what follows */
  uint16_t *name, *file, *library;
  uint8_t guid[16];
  TH_VEC(uint32_t) pids;
  TH_VEC(uint16_t) hooks;
  th_handle library_handle;
  uint64_t handle;
  th_session_figures figures; /* once stopped */
};

static uint16_t *copy_text(const uint16_t *text, size_t units) {
  uint16_t *copy = th_mem_array(units + 1, sizeof *copy);
  if (copy) {
    memcpy(copy, text, units * sizeof *copy);
    copy[units] = 0;
  }
  return copy;
}

static size_t text_units(const uint16_t *text) {
  size_t units = 0;
  while (text[units])
    units++;
  return units;
}

/* One more than there are, for the process that a launch adds. */
static bool copy_lists(th_session *session, const uint32_t *pids, size_t pid_count,
                       const uint16_t *hooks, size_t hook_count) {
  if (!th_vec_reserve(&session->pids, pid_count + 1) ||
      !th_vec_reserve(&session->hooks, hook_count + 1))
    return false;
  if (pid_count)
    memcpy(session->pids.items, pids, pid_count * sizeof *pids);
  if (hook_count)
    memcpy(session->hooks.items, hooks, hook_count * sizeof *hooks);
  session->pids.count = pid_count;
  session->hooks.count = hook_count;
  session->plan.request.pids = session->pids.items;
  session->plan.request.pid_count = pid_count;
  session->plan.request.hooks = session->hooks.items;
  session->plan.request.hook_count = hook_count;
  return true;
}

/* Builds the block for nothing but its checks. A launch brings the first pid only later. */
static th_status check(const th_properties_request *request, th_failure *failure) {
  static const uint32_t some_pid = 4;
  th_properties_request whole = *request;
  uint8_t *block;
  size_t size;
  if (whole.extension && whole.pid_count == 0) {
    whole.pids = &some_pid;
    whole.pid_count = 1;
  }
  th_status status = th_properties_build(&whole, POINTER_SIZE, &block, &size, failure);
  if (status == TH_OK)
    th_mem_free(block);
  return status;
}

th_status th_session_new(const th_session_plan *plan, th_session **session, th_failure *failure) {
  const th_properties_request *request = &plan->request;
  th_status status = check(request, failure);
  if (status)
    return status;
  th_session *made = th_mem_zero(sizeof *made);
  if (!made)
    return th_fail_memory(failure);
  if (!th_mutex_init(&made->lock)) {
    th_mem_free(made);
    return th_fail_memory(failure);
  }
  made->plan = *plan;
  made->name = copy_text(request->name, request->name_units);
  made->plan.request.name = made->name;
  bool copied = made->name && copy_lists(made, request->pids, request->pid_count, request->hooks,
                                         request->hook_count);
  if (copied && request->file) {
    made->file = copy_text(request->file, request->file_units);
    made->plan.request.file = made->file;
    copied = made->file != NULL;
  }
  if (copied && plan->library) {
    made->library = copy_text(plan->library, text_units(plan->library));
    made->plan.library = made->library;
    copied = made->library != NULL;
  }
  if (request->guid) {
    memcpy(made->guid, request->guid, sizeof made->guid);
    made->plan.request.guid = made->guid;
  }
  if (!copied) {
    th_session_free(made);
    return th_fail_memory(failure);
  }
  *session = made;
  return TH_OK;
}

/* ----- the two backends -------------------------------------------------------------------- */

static const char *start_name(const th_session *session) {
  return session->plan.backend == TH_BACKEND_WPT ? "StartHeapTrace" : "StartTraceW";
}

static const char *update_name(const th_session *session) {
  return session->plan.backend == TH_BACKEND_WPT ? "UpdateHeapTrace" : "ControlTraceW";
}

static void stack_ids(const th_properties_request *request, th_sys_stack_id *ids) {
  for (size_t i = 0; i < request->hook_count; i++) {
    ids[i] = (th_sys_stack_id){.type = (uint8_t)request->hooks[i]};
    memcpy(ids[i].guid, th_heap_guid, sizeof ids[i].guid);
  }
}

/* Starts or updates with `block`; the Win32 code. */
static uint32_t call_backend(th_session *session, const th_properties_request *request,
                             uint8_t *block, uint64_t *handle) {
  if (session->plan.backend == TH_BACKEND_NATIVE)
    return request->update
               ? th_sys_control_trace(session->handle, NULL, block, TH_TRACE_UPDATE)
               : th_sys_start_trace(session->name, block, handle);
  th_sys_stack_id ids[TH_MAX_STACK_HOOKS];
  stack_ids(request, ids);
  uint32_t pids = (uint32_t)request->pid_count, stacks = (uint32_t)request->hook_count;
  return request->update ? th_sys_update_heap_trace(session->library_handle, session->name, block,
                                                    request->pids, pids, ids, stacks)
                         : th_sys_start_heap_trace(session->library_handle, session->name, block,
                                                   request->pids, pids, ids, stacks, handle);
}

/* Stacks need SeSystemProfilePrivilege enabled, not merely held: for the call alone. */
static th_status call_privileged(th_session *session, const th_properties_request *request,
                                 uint8_t *block, uint64_t *handle, const char *function,
                                 th_failure *failure) {
  bool wanted = request->hook_count != 0, before = false, ignored;
  uint32_t code;
  if (wanted && (code = th_sys_privilege(TH_PRIVILEGE_SYSTEM_PROFILE, true, &before)))
    return th_fail_system(failure, "AdjustTokenPrivileges", code);
  code = call_backend(session, request, block, handle);
  if (wanted && !before)
    (void)th_sys_privilege(TH_PRIVILEGE_SYSTEM_PROFILE, false, &ignored);
  return code ? th_fail_system(failure, function, code) : TH_OK;
}

static th_status unsupported(const char *function, th_failure *failure) {
  th_fail(failure, TH_UNSUPPORTED,
          "this system says that it worked and does nothing, as Wine does; trace sessions need "
          "Windows");
  failure->function = function;
  return TH_UNSUPPORTED;
}

static th_status load_library(th_session *session, th_failure *failure) {
  if (session->plan.backend != TH_BACKEND_WPT || session->library_handle)
    return TH_OK;
  if (!session->library)
    return th_fail(failure, TH_INVALID, "the wpt backend needs the path of KernelTraceControl.dll");
  uint32_t code = th_sys_heap_library_load(session->library, &session->library_handle);
  return code ? th_fail_system(failure, "LoadLibraryExW", code) : TH_OK;
}

/* ----- start -------------------------------------------------------------------------------- */

static th_status start_locked(th_session *session, uint32_t extra_pid, th_failure *failure) {
  th_properties_request *request = &session->plan.request;
  uint8_t *block = NULL;
  size_t size;
  if (session->state != TH_SESSION_NEW)
    return th_fail(failure, TH_INVALID, "a session starts once; make another");
  if (extra_pid) { /* its room was made before */
    session->pids.items[session->pids.count] = extra_pid;
    request->pid_count = session->pids.count + 1;
  }
  th_status status = load_library(session, failure);
  /* StartTraceW writes into the block: every start has a fresh one. */
  if (status == TH_OK)
    status = th_properties_build(request, POINTER_SIZE, &block, &size, failure);
  if (status == TH_OK)
    status = call_privileged(session, request, block, &session->handle, start_name(session),
                             failure);
  if (status == TH_OK && th_properties_untouched(block, size, POINTER_SIZE))
    status = unsupported(start_name(session), failure);
  if (status == TH_OK) {
    session->pids.count = request->pid_count;
    session->state = TH_SESSION_RUNNING;
  } else {
    request->pid_count = session->pids.count;
  }
  th_mem_free(block);
  return status;
}

th_status th_session_start(th_session *session, uint32_t extra_pid, th_failure *failure) {
  th_mutex_lock(&session->lock);
  th_status status = start_locked(session, extra_pid, failure);
  th_mutex_unlock(&session->lock);
  return status;
}

/* ----- update ------------------------------------------------------------------------------- */

static th_status not_running(th_session_state state, th_failure *failure) {
  return th_fail(failure, TH_INVALID, state == TH_SESSION_NEW ? "the session is not started yet"
                                                              : "the session is stopped");
}

static th_status update_locked(th_session *session, const uint32_t *pids, size_t pid_count,
                               const uint16_t *hooks, size_t hook_count, th_failure *failure) {
  th_properties_request request = session->plan.request;
  uint8_t *block = NULL;
  size_t size;
  if (session->state != TH_SESSION_RUNNING)
    return not_running(session->state, failure);
  request.pids = pids;
  request.pid_count = pid_count;
  request.hooks = hooks;
  request.hook_count = hook_count;
  request.update = true;
  /* Zero keeps what is; a mode of 0 alone would end real time. */
  request.buffer_kb = request.min_buffers = request.max_buffers = request.flush_seconds = 0;
  request.max_file = 0;
  request.stack_caching = false;
  th_status status = th_properties_build(&request, POINTER_SIZE, &block, &size, failure);
  if (status)
    return status;
  if (!th_vec_reserve(&session->pids, pid_count + 1) ||
      !th_vec_reserve(&session->hooks, hook_count + 1))
    status = th_fail_memory(failure);
  else
    status = call_privileged(session, &request, block, NULL, update_name(session), failure);
  if (status == TH_OK && !copy_lists(session, pids, pid_count, hooks, hook_count))
    status = th_fail_memory(failure);
  th_mem_free(block);
  return status;
}

th_status th_session_update(th_session *session, const uint32_t *pids, size_t pid_count,
                            const uint16_t *hooks, size_t hook_count, th_failure *failure) {
  th_mutex_lock(&session->lock);
  th_status status = update_locked(session, pids, pid_count, hooks, hook_count, failure);
  th_mutex_unlock(&session->lock);
  return status;
}

/* ----- query, flush, stop ------------------------------------------------------------------- */

static void read_figures(const uint8_t *block, th_session_figures *figures) {
  *figures = (th_session_figures){
      .buffer_kb = th_load_u32(block + TH_PROP_BUFFER_KB),
      .min_buffers = th_load_u32(block + TH_PROP_MIN_BUFFERS),
      .max_buffers = th_load_u32(block + TH_PROP_MAX_BUFFERS),
      .buffers = th_load_u32(block + TH_PROP_BUFFERS),
      .free_buffers = th_load_u32(block + TH_PROP_FREE),
      .buffers_written = th_load_u32(block + TH_PROP_WRITTEN),
      .events_lost = th_load_u32(block + TH_PROP_EVENTS_LOST),
      .log_buffers_lost = th_load_u32(block + TH_PROP_LOG_LOST),
      .live_buffers_lost = th_load_u32(block + TH_PROP_LIVE_LOST),
  };
}

/* ERROR_MORE_DATA: it worked, and a name did not fit. */
static uint32_t control(const th_session *session, uint8_t *block, uint32_t what) {
  uint32_t code = th_sys_control_trace(session->handle, NULL, block, what);
  return code == TH_ERROR_MORE_DATA ? 0 : code;
}

th_status th_session_query(th_session *session, th_session_figures *figures, th_failure *failure) {
  uint8_t block[TH_PROPERTIES_BLANK_SIZE];
  th_status status = TH_OK;
  th_mutex_lock(&session->lock);
  if (session->state == TH_SESSION_NEW) {
    status = not_running(session->state, failure);
  } else if (session->state == TH_SESSION_STOPPED) {
    *figures = session->figures;
  } else {
    th_properties_blank(block, POINTER_SIZE);
    uint32_t code = control(session, block, TH_TRACE_QUERY);
    if (code)
      status = th_fail_system(failure, "ControlTraceW", code);
    else
      read_figures(block, figures);
  }
  th_mutex_unlock(&session->lock);
  return status;
}

th_status th_session_flush(th_session *session, th_failure *failure) {
  uint8_t block[TH_PROPERTIES_BLANK_SIZE];
  th_status status = TH_OK;
  th_mutex_lock(&session->lock);
  if (session->state != TH_SESSION_RUNNING) {
    status = not_running(session->state, failure);
  } else {
    const th_properties_request *request = &session->plan.request;
    th_properties_blank(block, POINTER_SIZE);
    if (request->mode & TH_LOG_BUFFERING && request->file)
      th_properties_set_file(block, POINTER_SIZE, request->file, request->file_units);
    uint32_t code = control(session, block, TH_TRACE_FLUSH);
    if (code)
      status = th_fail_system(failure, "ControlTraceW", code);
  }
  th_mutex_unlock(&session->lock);
  return status;
}

static th_status stop_locked(th_session *session, th_failure *failure) {
  uint8_t block[TH_PROPERTIES_BLANK_SIZE];
  if (session->state != TH_SESSION_RUNNING)
    return TH_OK;
  th_properties_blank(block, POINTER_SIZE);
  uint32_t code = control(session, block, TH_TRACE_STOP);
  if (code == TH_ERROR_SESSION_NOT_FOUND) { /* somebody else was quicker */
    session->state = TH_SESSION_STOPPED;
    return TH_OK;
  }
  if (code)
    return th_fail_system(failure, "ControlTraceW", code);
  read_figures(block, &session->figures);
  session->state = TH_SESSION_STOPPED;
  return TH_OK;
}

th_status th_session_stop(th_session *session, th_failure *failure) {
  th_mutex_lock(&session->lock);
  th_status status = stop_locked(session, failure);
  th_mutex_unlock(&session->lock);
  return status;
}

th_session_state th_session_state_of(th_session *session) {
  th_mutex_lock(&session->lock);
  th_session_state state = session->state;
  th_mutex_unlock(&session->lock);
  return state;
}

const uint16_t *th_session_name(const th_session *session) { return session->name; }

void th_session_free(th_session *session) {
  th_failure ignored;
  if (!session)
    return;
  /* Once more when it failed: a session outlives the process that made it. */
  if (stop_locked(session, &ignored) != TH_OK)
    (void)stop_locked(session, &ignored);
  if (session->library_handle)
    th_sys_heap_library_free(session->library_handle);
  th_mutex_destroy(&session->lock);
  th_mem_free(session->name);
  th_mem_free(session->file);
  th_mem_free(session->library);
  th_vec_free(&session->pids);
  th_vec_free(&session->hooks);
  th_mem_free(session);
}

th_status th_session_stop_named(const uint16_t *name, th_failure *failure) {
  uint8_t block[TH_PROPERTIES_BLANK_SIZE];
  th_properties_blank(block, POINTER_SIZE);
  uint32_t code = th_sys_control_trace(0, name, block, TH_TRACE_STOP);
  if (code && code != TH_ERROR_MORE_DATA)
    return th_fail_system(failure, "ControlTraceW", code);
  if (th_properties_untouched(block, sizeof block, POINTER_SIZE))
    return unsupported("ControlTraceW", failure);
  return TH_OK;
}
