/* Who started whom, as far as that can be known. */
#ifndef TH_SNAPSHOT_TREE_H
#define TH_SNAPSHOT_TREE_H

#include "table/table.h"

enum {
  TH_TREE_PID,
  TH_TREE_PPID,
  TH_TREE_PARENT,
  TH_TREE_NAME,
  TH_TREE_DEPTH,
  TH_TREE_LINK,
  TH_TREE_CHILDREN,
  TH_TREE_CYCLE,
  TH_TREE_ROW
};
extern const th_schema th_tree_schema;

/* Makes a table of th_tree_schema of rows [first, first + count) of a process table (with or
   without identity): one row per process, parents before their children, children and roots in
   the order of the process table. It needs memory and time in proportion to the rows, whatever the
   parents are said to be. */
th_status th_tree_build(const th_table *processes, size_t first, size_t count, th_table **tree,
                        th_failure *failure);

#endif
