/* The figures of a group of blocks - a stack, a heap, a thread, a size class - and the moments at
   which every group's figures must be kept although only one group changes at a time. */
#ifndef TH_HEAP_FIGURES_H
#define TH_HEAP_FIGURES_H

#include "base/compiler.h"

typedef struct th_amount {
  uint64_t blocks;
  uint64_t bytes;
} th_amount;

TH_INLINE void th_amount_add(th_amount *amount, uint64_t blocks, uint64_t bytes) {
  amount->blocks += blocks;
  amount->bytes += bytes;
}
TH_INLINE void th_amount_take(th_amount *amount, uint64_t blocks, uint64_t bytes) {
  amount->blocks -= blocks;
  amount->bytes -= bytes;
}

/* Moments are numbered. At the peak and at half time the figures of all groups are wanted, but
   touching every group then would cost too much: a group that first changes after such a moment
   keeps its value of before the change, which is its value at that moment. */
typedef struct th_moments {
  uint64_t now;  /* number of the latest moment */
  uint64_t peak; /* that of the latest peak */
  uint64_t half; /* that of half time; 0: not reached */
} th_moments;

#define TH_NEVER INT64_MIN

typedef struct th_figures {
  th_amount running;   /* live, in processes that run */
  th_amount allocated; /* came to be */
  th_amount temporary; /* ended soon after */
  uint64_t moment;     /* up to which at_peak and half_bytes are kept */
  int64_t last_ns;     /* latest birth; TH_NEVER: no block so far */
  th_amount at_peak;
  th_amount exited;    /* live when their process ended */
  double exited_age;   /* sum of their ages then, ns */
  uint64_t half_bytes; /* live at half time */
  int64_t first_ns;    /* earliest birth */
} th_figures;

/* To be called before every change of `running` or `exited`. */
TH_INLINE void th_figures_keep(th_figures *figures, const th_moments *moments) {
  if (figures->moment == moments->now)
    return;
  if (figures->moment < moments->peak)
    figures->at_peak = figures->running;
  if (figures->moment < moments->half)
    figures->half_bytes = figures->running.bytes + figures->exited.bytes;
  figures->moment = moments->now;
}

#endif
