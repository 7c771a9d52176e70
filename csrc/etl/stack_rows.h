/* Stacks and their frames as tables. */
#ifndef TH_ETL_STACK_ROWS_H
#define TH_ETL_STACK_ROWS_H

#include "etl/stack_table.h"

enum { TH_STACK_COLUMN_ID, TH_STACK_COLUMN_FRAMES, TH_STACK_COLUMN_SAME_AS };
extern const th_schema th_stack_schema;
enum { TH_FRAME_ADDRESS, TH_FRAME_STACKS };
extern const th_schema th_frame_schema;

/* Row i is stack i. NULL: no memory. */
TH_NODISCARD th_table *th_stack_rows(const th_stack_table *stacks);
/* Every address that occurs in a stack, ascending. NULL: no memory. */
TH_NODISCARD th_table *th_frame_rows(const th_stack_table *stacks);
/* Stacks that are not the same as an earlier one and whose frames are known. */
size_t th_stack_distinct(const th_stack_table *stacks);

#endif
