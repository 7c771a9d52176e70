#include "snapshot/error_rows.h"

#include "sys/sys.h"

typedef enum reason_word {
  WORD_BITNESS,
  WORD_STARTING,
  WORD_EXITING,
  WORD_UNKNOWN,
  WORD_DENIED,
  WORD_GONE,
  WORD_RACE,
  WORD_TIMEOUT,
  WORD_REFUSED,
  WORD_UNSUPPORTED,
  WORD_FAILED
} reason_word;

static const char *const words[] = {"bitness", "starting", "exiting",     "unknown",
                                    "denied",  "gone",     "race",        "timeout",
                                    "refused", "unsupported", "failed",   NULL};

const th_schema th_error_schema = {
    .name = "Error",
    .doc = "A process of which something could not be had.",
    .field_count = 5,
    .fields = {
        {.name = "pid", .type = TH_TYPE_U32, .doc = "id of the process"},
        {.name = "function", .type = TH_TYPE_TEXT, .doc = "the call that failed"},
        {.name = "winerror", .type = TH_TYPE_U32, .doc = "its Win32 code; 0 when it was not made"},
        {.name = "reason",
         .type = TH_TYPE_LABEL,
         .labels = words,
         .doc = "bitness, starting, exiting, unknown (of code 299, or of an empty list); denied, gone "
                "(no such process), race, timeout, refused (injection not allowed, or suspended), "
                "unsupported, failed"},
        {.name = "attempts", .type = TH_TYPE_U32, .doc = "how often it was tried; 0: not counted"},
    }};

static reason_word word_of(const th_failure *failure) {
  switch (failure->reason) {
  case TH_REASON_BITNESS: return WORD_BITNESS;
  case TH_REASON_STARTING: return WORD_STARTING;
  case TH_REASON_EXITING: return WORD_EXITING;
  case TH_REASON_UNKNOWN: return WORD_UNKNOWN;
  case TH_REASON_NONE: break;
  }
  switch (failure->status) {
  case TH_RACE: return WORD_RACE;
  case TH_TIMEOUT: return WORD_TIMEOUT;
  case TH_REFUSED: return WORD_REFUSED;
  case TH_UNSUPPORTED: return WORD_UNSUPPORTED;
  default: break;
  }
  switch (failure->code) {
  case TH_ERROR_ACCESS_DENIED: return WORD_DENIED;
  case TH_ERROR_INVALID_PARAMETER: return WORD_GONE;
  case TH_ERROR_CALL_NOT_IMPLEMENTED: return WORD_UNSUPPORTED;
  default: return WORD_FAILED;
  }
}

bool th_error_add(th_table *table, uint32_t pid, const th_failure *failure) {
  size_t row;
  if (!th_table_add(table, &row))
    return false;
  TH_COLUMN(table, TH_ERROR_PID, uint32_t)[row] = pid;
  TH_COLUMN(table, TH_ERROR_WINERROR, uint32_t)[row] = failure->code;
  TH_COLUMN(table, TH_ERROR_REASON, uint8_t)[row] = (uint8_t)word_of(failure);
  TH_COLUMN(table, TH_ERROR_ATTEMPTS, uint32_t)[row] = failure->attempts;
  return th_table_set_ascii(table, TH_ERROR_FUNCTION, row,
                            failure->function ? failure->function : "");
}
