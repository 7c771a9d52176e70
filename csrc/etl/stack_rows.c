#include "etl/stack_rows.h"

#include <stdlib.h>
#include <string.h>

const th_schema th_stack_schema = {
    .name = "Stack",
    .doc = "One call stack; row i is the stack that stack_id i names.",
    .field_count = 3,
    .fields =
        {
            {"stack_id", TH_TYPE_U32, false, "its number", NULL},
            {"frames", TH_TYPE_ADDRESSES, true,
             "return addresses, innermost first; None: the trace never says what they were", NULL},
            {"same_as", TH_TYPE_U32, true,
             "the lower number of a stack with the same frames; None as a rule", NULL},
        },
};

const th_schema th_frame_schema = {
    .name = "Frame",
    .doc = "One address that occurs in call stacks.",
    .field_count = 2,
    .fields =
        {
            {"address", TH_TYPE_U64, false, "the address", NULL},
            {"stacks", TH_TYPE_U32, false, "distinct stacks that it occurs in", NULL},
        },
};

static bool is_original(const th_stack_table *stacks, uint32_t number) {
  return stacks->items.items[number].frames != TH_NO_FRAMES &&
         th_stack_table_same_as(stacks, number) == number;
}

size_t th_stack_distinct(const th_stack_table *stacks) {
  size_t count = 0;
  for (size_t i = 0; i < th_stack_table_count(stacks); i++)
    count += is_original(stacks, (uint32_t)i);
  return count;
}

th_table *th_stack_rows(const th_stack_table *stacks) {
  size_t count = th_stack_table_count(stacks);
  th_table *rows = th_table_new(&th_stack_schema, count, NULL);
  if (!rows)
    return NULL;
  for (size_t row = 0; row < count; row++) {
    size_t frame_count;
    const uint64_t *frames = th_stack_table_frames(stacks, (uint32_t)row, &frame_count);
    uint32_t same_as = th_stack_table_same_as(stacks, (uint32_t)row);
    TH_COLUMN(rows, TH_STACK_COLUMN_ID, uint32_t)[row] = (uint32_t)row;
    TH_COLUMN(rows, TH_STACK_COLUMN_SAME_AS, uint32_t)[row] = same_as;
    if (!th_table_set_pool(rows, TH_STACK_COLUMN_FRAMES, row, frames, frame_count * sizeof *frames) ||
        (!frames && !th_table_set_missing(rows, TH_STACK_COLUMN_FRAMES, row)) ||
        (same_as == row && !th_table_set_missing(rows, TH_STACK_COLUMN_SAME_AS, row))) {
      th_table_drop(rows);
      return NULL;
    }
  }
  rows->count = count;
  return rows;
}

static int compare(const void *left, const void *right) {
  uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
  return a < b ? -1 : a > b;
}

/* Copies what differs from its neighbour, of sorted addresses; returns how many. */
static size_t keep_distinct(uint64_t *sorted, size_t count) {
  size_t kept = 0;
  for (size_t i = 0; i < count; i++)
    if (!kept || sorted[i] != sorted[kept - 1])
      sorted[kept++] = sorted[i];
  return kept;
}

/* The addresses of all stacks, each once per stack. */
static bool collect(const th_stack_table *stacks, uint64_t **all, size_t *all_count) {
  TH_VEC(uint64_t) found = {0};
  for (size_t i = 0; i < th_stack_table_count(stacks); i++) {
    size_t count;
    const uint64_t *frames = th_stack_table_frames(stacks, (uint32_t)i, &count);
    if (!count || !is_original(stacks, (uint32_t)i))
      continue;
    if (!th_vec_reserve(&found, found.count + count)) {
      th_vec_free(&found);
      return false;
    }
    uint64_t *own = found.items + found.count;
    memcpy(own, frames, count * sizeof *frames);
    qsort(own, count, sizeof *own, compare);
    found.count += keep_distinct(own, count);
  }
  if (found.count)
    qsort(found.items, found.count, sizeof *found.items, compare);
  *all = found.items;
  *all_count = found.count;
  return true;
}

th_table *th_frame_rows(const th_stack_table *stacks) {
  uint64_t *all;
  size_t count;
  th_table *rows = NULL;
  if (!collect(stacks, &all, &count))
    return NULL;
  size_t distinct = 0;
  for (size_t i = 0; i < count; i++)
    distinct += i == 0 || all[i] != all[i - 1];
  rows = th_table_new(&th_frame_schema, distinct, NULL);
  if (rows) {
    uint64_t *addresses = TH_COLUMN(rows, TH_FRAME_ADDRESS, uint64_t);
    uint32_t *occurs = TH_COLUMN(rows, TH_FRAME_STACKS, uint32_t);
    for (size_t i = 0; i < count; i++) {
      if (i == 0 || all[i] != all[i - 1])
        addresses[rows->count++] = all[i];
      occurs[rows->count - 1]++;
    }
  }
  th_mem_free(all);
  return rows;
}
