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
  uint32_t before;          /* chain of the caller's; row + 1 or 0 */
} th_span;

typedef struct th_lives {
  th_intern keys;
  TH_VEC(uint32_t) latest; /* by key number: row + 1, or 0 */
  TH_VEC(th_span) spans;   /* by row */
} th_lives;

/* Takes an event of a key; *row is the row it belongs to, *made whether that is new, and *ended the
   row + 1 that a start ended, or 0. False: no memory. */
TH_NODISCARD bool th_lives_event(th_lives *lives, const void *key, size_t key_size, th_life life,
                                 int64_t time_ns, uint32_t *row, bool *made, uint32_t *ended);
/* The latest row of a key. False: it has none (then, without memory, too). */
bool th_lives_find(th_lives *lives, const void *key, size_t key_size, uint32_t *row);
void th_lives_free(th_lives *lives);

#endif
