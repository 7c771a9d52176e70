#include "snapshot/tree.h"

#include "base/hash.h"
#include "snapshot/rows.h"

typedef enum link {
  LINK_LIVE,
  LINK_UNVERIFIED,
  LINK_DEAD,
  LINK_REUSED,
  LINK_CYCLE,
  LINK_SELF
} link;
static const char *const links[] = {"live", "unverified", "dead", "reused", "cycle", "self", NULL};

const th_schema th_tree_schema = {
    .name = "TreeNode",
    .doc = "A process in the tree of processes.",
    .field_count = 9,
    .fields = {
        {.name = "pid", .type = TH_TYPE_U32, .doc = "process id"},
        {.name = "ppid", .type = TH_TYPE_U32, .doc = "id that was recorded as parent at creation"},
        {.name = "parent",
         .type = TH_TYPE_U32,
         .nullable = true,
         .doc = "id of the parent it is shown under; None for a root"},
        {.name = "name", .type = TH_TYPE_TEXT, .doc = "file name of the program"},
        {.name = "depth", .type = TH_TYPE_U32, .doc = "0 for a root"},
        {.name = "link",
         .type = TH_TYPE_LABEL,
         .labels = links,
         .doc = "what is known of the recorded parent: live (was created no later), unverified (one "
                "of the times is missing; accepted), dead (no such process any more), reused (its "
                "id belongs to a younger process), cycle (accepting it would close a ring), self"},
        {.name = "children", .type = TH_TYPE_U32, .doc = "number of processes directly under it"},
        {.name = "cycle",
         .type = TH_TYPE_U32,
         .nullable = true,
         .doc = "number of the ring of recorded parents it is in; None: of none"},
        {.name = "row", .type = TH_TYPE_U32, .doc = "its row in the table of processes"},
    }};

#define NONE UINT32_MAX

/* What is known of each row; all arrays have `count` items. */
typedef struct nodes {
  const th_table *processes;
  size_t first, count;
  uint32_t *parent;   /* row, or NONE */
  uint32_t *cycle;    /* number, or NONE */
  uint32_t *children; /* how many */
  uint32_t *starts;   /* where the children of a row begin in `order` */
  uint32_t *order;    /* rows by parent */
  uint32_t *scratch;
  uint8_t *link;
} nodes;

static uint32_t pid_at(const nodes *of, size_t row) {
  return TH_COLUMN(of->processes, TH_PROCESS_PID, uint32_t)[of->first + row];
}
static uint32_t ppid_at(const nodes *of, size_t row) {
  return TH_COLUMN(of->processes, TH_PROCESS_PPID, uint32_t)[of->first + row];
}

static bool time_at(const nodes *of, size_t row, int64_t *time) {
  if (of->processes->schema->field_count <= TH_PROCESS_CREATE_TIME ||
      !th_table_is_valid(of->processes, TH_PROCESS_CREATE_TIME, of->first + row))
    return false;
  *time = TH_COLUMN(of->processes, TH_PROCESS_CREATE_TIME, int64_t)[of->first + row];
  return true;
}

/* ===== links ====================================================================== */

/* Equal times are fine: a child can be created in the same tick. The order of ids says nothing. */
static link judge(const nodes *of, size_t child, size_t parent) {
  int64_t born, parent_born;
  if (!time_at(of, child, &born) || !time_at(of, parent, &parent_born))
    return LINK_UNVERIFIED;
  return parent_born <= born ? LINK_LIVE : LINK_REUSED;
}

static bool link_rows(nodes *of) {
  size_t size = 16;
  while (size < of->count * 2)
    size *= 2;
  const size_t mask = size - 1;
  uint32_t *slots = th_mem_zero_array(size, sizeof *slots); /* row + 1 */
  if (!slots)
    return false;
  for (size_t row = 0; row < of->count; row++) {
    size_t at = (size_t)th_hash_u64(pid_at(of, row)) & mask;
    while (slots[at] && pid_at(of, slots[at] - 1) != pid_at(of, row))
      at = (at + 1) & mask;
    if (!slots[at])
      slots[at] = (uint32_t)row + 1;
  }
  for (size_t row = 0; row < of->count; row++) {
    const uint32_t wanted = ppid_at(of, row);
    of->parent[row] = of->cycle[row] = NONE;
    if (wanted == pid_at(of, row)) {
      of->link[row] = LINK_SELF;
      continue;
    }
    size_t at = (size_t)th_hash_u64(wanted) & mask;
    while (slots[at] && pid_at(of, slots[at] - 1) != wanted)
      at = (at + 1) & mask;
    of->link[row] = slots[at] ? (uint8_t)judge(of, row, slots[at] - 1) : LINK_DEAD;
    if (of->link[row] == LINK_LIVE || of->link[row] == LINK_UNVERIFIED)
      of->parent[row] = slots[at] - 1;
  }
  th_mem_free(slots);
  return true;
}

/* ===== cycles ===================================================================== */

/* Every row has at most one parent, so that each walk up ends at a root, at a row that was walked
   before, or comes back to itself. A ring is cut above its first row, which was created first. */
static void cut_cycles(nodes *of) {
  uint32_t *walk = of->scratch; /* which walk met the row; 0: none yet */
  uint32_t number = 0;
  for (size_t row = 0; row < of->count; row++)
    walk[row] = 0;
  for (size_t row = 0; row < of->count; row++) {
    const uint32_t self = (uint32_t)row + 1;
    uint32_t at = (uint32_t)row;
    while (at != NONE && walk[at] == 0) {
      walk[at] = self;
      at = of->parent[at];
    }
    if (at == NONE || walk[at] != self)
      continue;
    uint32_t lowest = at, member = at;
    do {
      of->cycle[member] = number;
      lowest = member < lowest ? member : lowest;
      member = of->parent[member];
    } while (member != at);
    of->parent[lowest] = NONE;
    of->link[lowest] = LINK_CYCLE;
    number++;
  }
}

/* ===== order ====================================================================== */

static void sort_children(nodes *of) {
  uint32_t total = 0;
  for (size_t row = 0; row < of->count; row++)
    of->children[row] = 0;
  for (size_t row = 0; row < of->count; row++)
    if (of->parent[row] != NONE)
      of->children[of->parent[row]]++;
  for (size_t row = 0; row < of->count; row++) {
    of->starts[row] = total;
    of->scratch[row] = total;
    total += of->children[row];
  }
  for (size_t row = 0; row < of->count; row++)
    if (of->parent[row] != NONE)
      of->order[of->scratch[of->parent[row]]++] = (uint32_t)row;
}

static bool put(const nodes *of, th_table *tree, uint32_t row, uint32_t depth) {
  size_t at;
  if (!th_table_add(tree, &at))
    return false;
  const size_t source = of->first + row;
  TH_COLUMN(tree, TH_TREE_PID, uint32_t)[at] = pid_at(of, row);
  TH_COLUMN(tree, TH_TREE_PPID, uint32_t)[at] = ppid_at(of, row);
  TH_COLUMN(tree, TH_TREE_NAME, uint32_t)[at] =
      TH_COLUMN(of->processes, TH_PROCESS_NAME, uint32_t)[source];
  TH_COLUMN(tree, TH_TREE_DEPTH, uint32_t)[at] = depth;
  TH_COLUMN(tree, TH_TREE_LINK, uint8_t)[at] = of->link[row];
  TH_COLUMN(tree, TH_TREE_CHILDREN, uint32_t)[at] = of->children[row];
  TH_COLUMN(tree, TH_TREE_ROW, uint32_t)[at] = row;
  if (of->parent[row] != NONE)
    TH_COLUMN(tree, TH_TREE_PARENT, uint32_t)[at] = pid_at(of, of->parent[row]);
  else if (!th_table_set_missing(tree, TH_TREE_PARENT, at))
    return false;
  if (of->cycle[row] != NONE)
    TH_COLUMN(tree, TH_TREE_CYCLE, uint32_t)[at] = of->cycle[row];
  else if (!th_table_set_missing(tree, TH_TREE_CYCLE, at))
    return false;
  return true;
}

/* Down to the first child, along to the next, up when there is none: without a stack, since every
   row knows its parent and `scratch` its next child. */
static bool put_under(nodes *of, th_table *tree, uint32_t root) {
  uint32_t at = root, depth = 0;
  if (!put(of, tree, root, 0))
    return false;
  for (;;) {
    if (of->scratch[at] < of->starts[at] + of->children[at]) {
      at = of->order[of->scratch[at]++];
      if (!put(of, tree, at, ++depth))
        return false;
    } else if (at == root) {
      return true;
    } else {
      at = of->parent[at];
      depth--;
    }
  }
}

static bool put_all(nodes *of, th_table *tree) {
  for (size_t row = 0; row < of->count; row++)
    of->scratch[row] = of->starts[row];
  for (size_t row = 0; row < of->count; row++)
    if (of->parent[row] == NONE && !put_under(of, tree, (uint32_t)row))
      return false;
  return true;
}

th_status th_tree_build(const th_table *processes, size_t first, size_t count, th_table **tree,
                        th_failure *failure) {
  nodes of = {.processes = processes, .first = first, .count = count};
  th_table *made = NULL;
  bool room = false;
  if (count >= NONE)
    return th_fail(failure, TH_INVALID, "there are too many processes for a tree");
  uint32_t *numbers = th_mem_array(count, 6 * sizeof *numbers);
  of.link = th_mem_alloc(count);
  if (!numbers || !of.link)
    goto done;
  of.parent = numbers;
  of.cycle = numbers + count;
  of.children = numbers + 2 * count;
  of.starts = numbers + 3 * count;
  of.order = numbers + 4 * count;
  of.scratch = numbers + 5 * count;
  made = th_table_new(&th_tree_schema, count, processes->columns[TH_PROCESS_NAME].dictionary);
  if (!made || !link_rows(&of))
    goto done;
  cut_cycles(&of);
  sort_children(&of);
  room = put_all(&of, made);

done:
  th_mem_free(numbers);
  th_mem_free(of.link);
  if (!room) {
    th_table_drop(made);
    return th_fail_memory(failure);
  }
  *tree = made;
  return TH_OK;
}
