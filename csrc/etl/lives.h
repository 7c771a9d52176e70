/* Rows that live from one event to another: processes, threads and modules, by a key that is used
   again. The rules are the same for all three:

     start          ends the open row of the key and begins a new one
     rundown        (start or end) completes the open row; without one begins a row of unknown start
     end            completes and ends the open row; without one begins a row of unknown start */
#ifndef TH_ETL_LIVES_H
#define TH_ETL_LIVES_H

#include "base/intern.h"
#include "etl/process_event.h"

#define TH_UNKNOWN_TIME INT64_MIN

typedef struct th_span {
  int64_t start_ns, end_ns; /* TH_UNKNOWN_TIME: before the trace, or not known; not ended */
  int64_t first_time;       /* raw, of its first event */
  uint32_t before;          /* chain of the caller's; row + 1 or 0 */
  uint32_t next;            /* the next row of the same key, + 1, or 0 */
} th_span;

typedef struct th_lives {
  th_intern keys;
  TH_VEC(uint32_t) latest; /* by key number: row + 1, or 0 */
  TH_VEC(uint32_t) first;  /* likewise */
  TH_VEC(th_span) spans;   /* by row */
} th_lives;

/* When something happened. */
typedef struct th_moment {
  int64_t raw, ns;
} th_moment;

/* Takes an event of a key; *row is the row it belongs to, *made whether that is new, and *ended the
   row + 1 that a start ended, or 0. False: no memory. */
TH_NODISCARD bool th_lives_event(th_lives *lives, const void *key, size_t key_size, th_life life,
                                 th_moment when, uint32_t *row, bool *made, uint32_t *ended);
/* The number of a key, for `first`. False: no memory. */
TH_NODISCARD bool th_lives_key(th_lives *lives, const void *key, size_t key_size,
                               uint32_t *number);
void th_lives_free(th_lives *lives);

#endif
