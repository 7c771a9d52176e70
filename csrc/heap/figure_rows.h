/* Results as tables. */
#ifndef TH_HEAP_FIGURE_ROWS_H
#define TH_HEAP_FIGURE_ROWS_H

#include "heap/grouping.h"
#include "table/table.h"

extern const th_schema th_stack_figures_schema;    /* stack_id, site, figures */
extern const th_schema th_function_figures_schema; /* name, figures */
extern const th_schema th_module_figures_schema;   /* name, figures */
extern const th_schema th_heap_figures_schema;     /* pid, heap, figures */
extern const th_schema th_thread_figures_schema;   /* pid, tid, figures */
extern const th_schema th_process_figures_schema;  /* pid, name, life, peak, totals, figures */
extern const th_schema th_size_class_schema;
extern const th_schema th_lifetime_class_schema;
extern const th_schema th_timeline_point_schema;
extern const th_schema th_heap_frame_schema;

/* Names of the rows of a table by the caller: sets the TEXT value of `row`; false when there is no
   memory. NULL: the values are missing. */
typedef bool (*th_row_namer)(void *context, th_table *table, size_t field, size_t row,
                             size_t index);

/* Each makes a table of the rows that have had a block; NULL: no memory. `index` of the namer is
   the class, or the place of the process in the result. */
th_table *th_rows_of_stacks(const th_grouping *grouping);
th_table *th_rows_of_classes(const th_schema *schema, const th_result *result,
                             const th_summary *sums, size_t count, th_row_namer namer,
                             void *context);
th_table *th_rows_of_heaps(const th_result *result);
th_table *th_rows_of_threads(const th_result *result);
th_table *th_rows_of_processes(const th_result *result, th_row_namer namer, void *context);
th_table *th_rows_of_sizes(const th_result *result);
th_table *th_rows_of_lifetimes(const th_result *result);
th_table *th_rows_of_timeline(const th_result *result);
/* Row i is frame i of the grouping. */
th_table *th_rows_of_frames(const th_grouping *grouping);

#endif
