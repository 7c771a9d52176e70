#include "snapshot/retry.h"

#include "host/host.h"

void th_retry_start(th_retry *retry) {
  *retry = (th_retry){.started = th_host_now_ns(), .pause = TH_RETRY_FIRST_PAUSE_NS};
}

bool th_retry_again(th_retry *retry) {
  uint64_t spent = th_host_now_ns() - retry->started;
  if (++retry->attempts >= TH_RETRY_ATTEMPTS || spent >= TH_RETRY_DEADLINE_NS)
    return false;
  uint64_t left = TH_RETRY_DEADLINE_NS - spent;
  th_host_sleep_ns(retry->pause < left ? retry->pause : left);
  if (retry->pause < TH_RETRY_LONGEST_PAUSE_NS)
    retry->pause *= 2;
  return true;
}
