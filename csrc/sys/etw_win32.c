#include "sys/etw.h"

#include <windows.h>
#include <evntrace.h>
/* After it: */
#include <evntcons.h>

#include <assert.h>
#include <string.h>

static_assert(sizeof(EVENT_TRACE_PROPERTIES) == TH_PROPERTIES_SIZE, "properties");
static_assert(offsetof(EVENT_TRACE_PROPERTIES, Wnode.Guid) == TH_WNODE_GUID, "properties");
static_assert(offsetof(EVENT_TRACE_PROPERTIES, Wnode.ClientContext) == TH_WNODE_CLOCK, "clock");
static_assert(offsetof(EVENT_TRACE_PROPERTIES, BufferSize) == TH_PROP_BUFFER_KB, "properties");
static_assert(offsetof(EVENT_TRACE_PROPERTIES, LogFileMode) == TH_PROP_MODE, "properties");
static_assert(offsetof(EVENT_TRACE_PROPERTIES, EnableFlags) == TH_PROP_ENABLE_FLAGS, "flags");
static_assert(offsetof(EVENT_TRACE_PROPERTIES, NumberOfBuffers) == TH_PROP_BUFFERS, "figures");
static_assert(offsetof(EVENT_TRACE_PROPERTIES, RealTimeBuffersLost) == TH_PROP_LIVE_LOST, "lost");
static_assert(offsetof(EVENT_TRACE_PROPERTIES, LogFileNameOffset) ==
                  (sizeof(void *) == 8 ? 0x70 : 0x6c),
              "properties");
static_assert(sizeof(th_sys_stack_id) == 24, "CLASSIC_EVENT_ID");
static_assert(ERROR_WMI_INSTANCE_NOT_FOUND == TH_ERROR_SESSION_NOT_FOUND, "code");
static_assert(ERROR_CTX_CLOSE_PENDING == TH_ERROR_CLOSE_PENDING, "code");

uint32_t th_sys_start_trace(const uint16_t *name, uint8_t *properties, uint64_t *session) {
  TRACEHANDLE handle = 0;
  ULONG code = StartTraceW(&handle, (LPCWSTR)name, (PEVENT_TRACE_PROPERTIES)properties);
  if (code == ERROR_SUCCESS)
    *session = handle;
  return code;
}

uint32_t th_sys_control_trace(uint64_t session, const uint16_t *name, uint8_t *properties,
                              uint32_t control) {
  return ControlTraceW((TRACEHANDLE)session, (LPCWSTR)name, (PEVENT_TRACE_PROPERTIES)properties,
                       control);
}

uint32_t th_sys_query_all_traces(uint8_t *const *blocks, uint32_t capacity, uint32_t *count) {
  ULONG found = *count;
  ULONG code = QueryAllTracesW((PEVENT_TRACE_PROPERTIES *)blocks, capacity, &found);
  if (code == ERROR_SUCCESS || code == ERROR_MORE_DATA)
    *count = found;
  return code;
}

/* --- KernelTraceControl.dll ---------------------------------------------------------------- */

typedef ULONG(WINAPI *start_heap_trace)(PTRACEHANDLE, PEVENT_TRACE_PROPERTIES, LPCWSTR,
                                        const ULONG *, ULONG, const th_sys_stack_id *, ULONG);
typedef ULONG(WINAPI *update_heap_trace)(PEVENT_TRACE_PROPERTIES, LPCWSTR, const ULONG *, ULONG,
                                         const th_sys_stack_id *, ULONG);

static FARPROC entry(th_handle library, const char *name) {
  return GetProcAddress((HMODULE)library, name);
}

uint32_t th_sys_heap_library_load(const uint16_t *path, th_handle *library) {
  HMODULE module = LoadLibraryExW((LPCWSTR)path, NULL,
                                  LOAD_LIBRARY_SEARCH_DLL_LOAD_DIR | LOAD_LIBRARY_SEARCH_SYSTEM32);
  if (!module)
    return GetLastError();
  if (!GetProcAddress(module, "StartHeapTrace") || !GetProcAddress(module, "UpdateHeapTrace")) {
    FreeLibrary(module);
    return ERROR_PROC_NOT_FOUND;
  }
  *library = (th_handle)module;
  return 0;
}

void th_sys_heap_library_free(th_handle library) { FreeLibrary((HMODULE)library); }

uint32_t th_sys_start_heap_trace(th_handle library, const uint16_t *name, uint8_t *properties,
                                 const uint32_t *pids, uint32_t pid_count,
                                 const th_sys_stack_id *stacks, uint32_t stack_count,
                                 uint64_t *session) {
  start_heap_trace call = (start_heap_trace)(void (*)(void))entry(library, "StartHeapTrace");
  TRACEHANDLE handle = 0;
  ULONG code = call(&handle, (PEVENT_TRACE_PROPERTIES)properties, (LPCWSTR)name,
                    (const ULONG *)pids, pid_count, stacks, stack_count);
  if (code == ERROR_SUCCESS)
    *session = handle;
  return code;
}

uint32_t th_sys_update_heap_trace(th_handle library, const uint16_t *name, uint8_t *properties,
                                  const uint32_t *pids, uint32_t pid_count,
                                  const th_sys_stack_id *stacks, uint32_t stack_count) {
  update_heap_trace call = (update_heap_trace)(void (*)(void))entry(library, "UpdateHeapTrace");
  return call((PEVENT_TRACE_PROPERTIES)properties, (LPCWSTR)name, (const ULONG *)pids, pid_count,
              stacks, stack_count);
}

/* --- consumption ---------------------------------------------------------------------------- */

static void WINAPI on_record(PEVENT_RECORD record) {
  const th_sys_consumer *consumer = record->UserContext;
  const EVENT_HEADER *header = &record->EventHeader;
  const ETW_BUFFER_CONTEXT *buffer = &record->BufferContext;
  uint16_t cpu; /* ProcessorNumber and Alignment share their place with the index */
  memcpy(&cpu, buffer, sizeof cpu);
  th_sys_record out = {
      .time = header->TimeStamp.QuadPart,
      .guid = (const uint8_t *)&header->ProviderId,
      .payload = record->UserData,
      .pid = header->ProcessId,
      .tid = header->ThreadId,
      .size = record->UserDataLength,
      .flags = header->Flags,
      .cpu = header->Flags & TH_RECORD_CPU_INDEX ? cpu : (uint16_t)(cpu & 0xff),
      .logger = buffer->LoggerId,
      .id = header->EventDescriptor.Id,
      .version = header->EventDescriptor.Version,
      .opcode = header->EventDescriptor.Opcode,
      .level = header->EventDescriptor.Level,
  };
  consumer->record(consumer->context, &out);
}

static ULONG WINAPI on_buffer(PEVENT_TRACE_LOGFILEW logfile) {
  const th_sys_consumer *consumer = logfile->Context;
  return consumer->buffer(consumer->context);
}

/* The clock type stands in what older headers call ReservedFlags. */
uint32_t th_sys_open_trace(const uint16_t *name, const th_sys_consumer *consumer, uint64_t *trace,
                           th_sys_trace_header *header) {
  EVENT_TRACE_LOGFILEW logfile;
  memset(&logfile, 0, sizeof logfile);
  logfile.LoggerName = (LPWSTR)name;
  logfile.ProcessTraceMode = PROCESS_TRACE_MODE_REAL_TIME | PROCESS_TRACE_MODE_EVENT_RECORD |
                             PROCESS_TRACE_MODE_RAW_TIMESTAMP;
  logfile.EventRecordCallback = on_record;
  logfile.BufferCallback = on_buffer;
  logfile.Context = (void *)consumer;
  SetLastError(ERROR_SUCCESS);
  TRACEHANDLE handle = OpenTraceW(&logfile);
  /* All ones; 32 bits of them from old 32-bit systems. */
  if (handle == (TRACEHANDLE)-1 || handle == (TRACEHANDLE)0xffffffffu) {
    DWORD code = GetLastError();
    return code ? code : ERROR_INVALID_HANDLE;
  }
  const TRACE_LOGFILE_HEADER *found = &logfile.LogfileHeader;
  *header = (th_sys_trace_header){
      .buffer_size = found->BufferSize,
      .os_build = found->ProviderVersion,
      .processors = found->NumberOfProcessors,
      .pointer_size = found->PointerSize,
      .cpu_mhz = found->CpuSpeedInMHz,
      .timer_resolution = found->TimerResolution,
      .clock = found->ReservedFlags,
      .os_major = found->VersionDetail.MajorVersion,
      .os_minor = found->VersionDetail.MinorVersion,
      .perf_frequency = (uint64_t)found->PerfFreq.QuadPart,
      .boot_time = found->BootTime.QuadPart,
      .start_time = found->StartTime.QuadPart,
  };
  *trace = handle;
  return 0;
}

uint32_t th_sys_process_trace(uint64_t trace) {
  TRACEHANDLE handle = (TRACEHANDLE)trace;
  return ProcessTrace(&handle, 1, NULL, NULL);
}

uint32_t th_sys_close_trace(uint64_t trace) { return CloseTrace((TRACEHANDLE)trace); }

uint32_t th_sys_raw_clock(uint32_t clock, int64_t *raw, uint64_t *frequency) {
  LARGE_INTEGER now, per_second;
  if (clock == TH_CLOCK_SYSTEM) {
    FILETIME time;
    GetSystemTimeAsFileTime(&time);
    *raw = (int64_t)((uint64_t)time.dwHighDateTime << 32 | time.dwLowDateTime);
    *frequency = 10000000;
    return 0;
  }
  if (clock != TH_CLOCK_QPC)
    return ERROR_NOT_SUPPORTED;
  if (!QueryPerformanceCounter(&now) || !QueryPerformanceFrequency(&per_second))
    return GetLastError();
  *raw = now.QuadPart;
  *frequency = (uint64_t)per_second.QuadPart;
  return 0;
}
