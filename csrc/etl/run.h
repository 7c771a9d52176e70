/* A run: the events of one buffer, in order, ready to be merged with others. */
#ifndef TH_ETL_RUN_H
#define TH_ETL_RUN_H

#include "etl/buffer.h"
#include "etl/walk.h"

typedef struct th_run {
  th_buffer buffer;
  th_walked_list events;
  size_t at;           /* the event that is next */
  uint32_t entry;      /* of the index */
  struct th_run *next; /* in whatever list it is */
} th_run;

/* Puts the events in order of (time, place). */
void th_run_sort(th_run *run);
/* What it holds of memory. */
size_t th_run_held(const th_run *run);
void th_run_free(th_run *run); /* NULL is fine */

#endif
