/* How long a call that lost a race is tried again: bounded by count and by time. */
#ifndef TH_SNAPSHOT_RETRY_H
#define TH_SNAPSHOT_RETRY_H

#include "base/compiler.h"

#define TH_RETRY_ATTEMPTS 64u
#define TH_RETRY_DEADLINE_NS UINT64_C(250000000)
#define TH_RETRY_FIRST_PAUSE_NS UINT64_C(1000000)
#define TH_RETRY_LONGEST_PAUSE_NS UINT64_C(16000000)

typedef struct th_retry {
  uint64_t started, pause;
  uint32_t attempts; /* calls made so far */
} th_retry;

void th_retry_start(th_retry *retry);
/* After a failed call: pauses and says true when it may be made again, else false. */
bool th_retry_again(th_retry *retry);

#endif
