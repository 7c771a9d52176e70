/* Distinct stacks, numbered from 0 in the order of their first use; each is kept once.

   A stack is put together part by part (a kernel and a user part as a rule, or one alone). Until
   its event is handed out it is a th_stack_ref; then it gets a number. Where a part is a stack key,
   whose frames come much later, the number stands for the parts; once the trace has ended it may
   turn out to be the same stack as another number, and `same_as` says so. */
#ifndef TH_ETL_STACK_TABLE_H
#define TH_ETL_STACK_TABLE_H

#include "etl/stack_frames.h"
#include "etl/stack_keys.h"
#include "table/table.h"

/* No stack (UINT32_MAX), a list of frames, or (high bit) a list of parts. */
typedef uint32_t th_stack_ref;
#define TH_NO_STACK_REF UINT32_MAX

/* One part: a list of frames, or (high bit) a generation of a key. */
typedef uint32_t th_stack_part;

typedef struct th_stack_item {
  uint32_t frames;  /* number of the list; TH_NO_FRAMES: waits for keys, or they never came */
  uint32_t same_as; /* the lowest number with these frames, itself as a rule */
} th_stack_item;

typedef struct th_stack_table {
  th_stack_frames frames;
  th_stack_keys keys;
  th_intern recipes;              /* lists of parts */
  TH_VEC(th_stack_item) items;    /* by stack number */
  TH_VEC(uint32_t) of_frames;     /* stack number + 1 by list of frames; 0: none yet */
  TH_VEC(uint32_t) of_recipes;    /* the same by recipe */
  TH_VEC(uint32_t) waiting;       /* recipe of every stack that waits for keys ... */
  TH_VEC(uint32_t) waiting_items; /* ... and its number */
} th_stack_table;

/* Adds frames to the end of a stack; `hash` as for th_stack_frames_put. False: no memory. */
TH_NODISCARD bool th_stack_table_append(th_stack_table *table, th_stack_ref *stack,
                                        const uint8_t *frames, size_t count, unsigned frame_size,
                                        const uint64_t *hash);
/* Adds the present generation of a key. */
TH_NODISCARD bool th_stack_table_append_part(th_stack_table *table, th_stack_ref *stack,
                                             th_stack_part part);
TH_INLINE th_stack_part th_stack_part_of_generation(uint32_t generation) {
  return generation | UINT32_C(0x80000000);
}
/* The number of a stack that is complete; TH_NO_STACK for none. */
TH_NODISCARD bool th_stack_table_number_new(th_stack_table *table, th_stack_ref stack,
                                            uint32_t *number);
TH_INLINE TH_NODISCARD bool th_stack_table_number(th_stack_table *table, th_stack_ref stack,
                                                  uint32_t *number) {
  if (TH_LIKELY(stack < table->of_frames.count && table->of_frames.items[stack])) {
    *number = table->of_frames.items[stack] - 1;
    return true;
  }
  return th_stack_table_number_new(table, stack, number);
}
/* Resolves what waits, once, at the end of the trace. */
TH_NODISCARD bool th_stack_table_finish(th_stack_table *table);

TH_INLINE size_t th_stack_table_count(const th_stack_table *table) { return table->items.count; }
/* The lowest number with the same frames; final after `finish`. */
TH_INLINE uint32_t th_stack_table_same_as(const th_stack_table *table, uint32_t number) {
  return table->items.items[number].same_as;
}
/* Frames of a number, innermost first; NULL and 0 for one whose keys were never defined. */
TH_INLINE const uint64_t *th_stack_table_frames(const th_stack_table *table, uint32_t number,
                                                size_t *count) {
  uint32_t frames = table->items.items[number].frames;
  if (frames != TH_NO_FRAMES)
    return th_stack_frames_get(&table->frames, frames, count);
  *count = 0;
  return NULL;
}
void th_stack_table_free(th_stack_table *table);

#endif
