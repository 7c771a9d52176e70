#include "base/status.h"

static const char *const status_names[TH_STATUS_COUNT] = {
#define TH_STATUS_NAME(name, text) #name,
    TH_STATUS_LIST(TH_STATUS_NAME)
#undef TH_STATUS_NAME
};

static const char *const status_texts[TH_STATUS_COUNT] = {
#define TH_STATUS_TEXT(name, text) text,
    TH_STATUS_LIST(TH_STATUS_TEXT)
#undef TH_STATUS_TEXT
};

const char *th_status_name(th_status status) {
  return (unsigned)status < TH_STATUS_COUNT ? status_names[status] : "UNKNOWN";
}

const char *th_status_text(th_status status) {
  return (unsigned)status < TH_STATUS_COUNT ? status_texts[status] : "unknown status";
}

const char *th_reason_name(th_reason reason) {
  switch (reason) {
  case TH_REASON_BITNESS: return "bitness";
  case TH_REASON_STARTING: return "starting";
  case TH_REASON_EXITING: return "exiting";
  case TH_REASON_UNKNOWN: return "unknown";
  default: return NULL;
  }
}

th_status th_fail(th_failure *failure, th_status status, const char *detail) {
  *failure = (th_failure){.status = status, .detail = detail};
  return status;
}

th_status th_fail_memory(th_failure *failure) { return th_fail(failure, TH_NO_MEMORY, NULL); }

th_status th_fail_system(th_failure *failure, const char *function, uint32_t code) {
  *failure = (th_failure){.status = TH_SYSTEM, .code = code, .function = function};
  return TH_SYSTEM;
}

th_status th_fail_process(th_failure *failure, const char *function, uint32_t code, uint32_t pid) {
  *failure = (th_failure){
      .status = TH_SYSTEM, .code = code, .function = function, .pid = pid, .has_pid = true};
  return TH_SYSTEM;
}

th_status th_fail_corrupt(th_failure *failure, uint64_t offset, const char *detail) {
  *failure = (th_failure){
      .status = TH_CORRUPT, .detail = detail, .offset = offset, .has_offset = true};
  return TH_CORRUPT;
}
