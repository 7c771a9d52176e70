/* The sites of a result by stack, function and module. */
#ifndef TH_HEAP_GROUPING_H
#define TH_HEAP_GROUPING_H

#include "etl/module_model.h"
#include "etl/stack_table.h"
#include "heap/result.h"

/* An address in a process, once it is known which module held it. */
typedef struct th_frame_row {
  uint64_t address;
  uint32_t instance;
  uint32_t module; /* row in the module model; TH_NO_MODULE: nothing known was there */
  uint64_t offset; /* from the module's base; the address without one */
  uint32_t next;   /* the same address at a time of another module; UINT32_MAX: none */
} th_frame_row;

/* A stack: sites whose frames are the same addresses in the same modules. */
typedef struct th_stack_row {
  uint32_t stack_id; /* the lowest number; TH_NO_STACK: blocks without one */
  uint32_t site;     /* the first of them, which now holds the figures of all */
  uint32_t next;     /* the same addresses in other modules; UINT32_MAX: none */
} th_stack_row;

typedef struct th_grouping {
  th_result *result; /* borrowed */
  TH_VEC(th_frame_row) frames;
  TH_VEC(uint32_t) site_frames; /* numbers of frames, site by site, innermost first */
  TH_VEC(size_t) site_ends;     /* where the frames of a site end in it */
  TH_VEC(th_stack_row) stacks;
} th_grouping;

/* Resolves every frame and joins the sites of equal stacks, whose figures go to the first one.
   Sites that never had a block make no stack. */
th_status th_grouping_make(th_result *result, const th_stack_table *stacks,
                           const th_module_model *modules, th_grouping *grouping,
                           th_failure *failure);
void th_grouping_free(th_grouping *grouping);

TH_INLINE const uint32_t *th_grouping_frames(const th_grouping *grouping, uint32_t site,
                                             size_t *count) {
  size_t first = site ? grouping->site_ends.items[site - 1] : 0;
  *count = grouping->site_ends.items[site] - first;
  return grouping->site_frames.items + first;
}

/* Figures of classes of frames. `classes` has a class below `class_count` for every frame, or
   UINT32_MAX for a frame to leave out. `sums` has one place per class, cleared by the caller.
   Inclusive: of all stacks with a frame of the class, each stack once. False: no memory. */
TH_NODISCARD bool th_grouping_inclusive(const th_grouping *grouping, const uint32_t *classes,
                                        uint32_t class_count, th_summary *sums);
/* Own: each stack goes to the class of its innermost frame that is not left out. */
void th_grouping_own(const th_grouping *grouping, const uint32_t *classes, th_summary *sums);
/* Sets the bit of every site with a frame whose class is not UINT32_MAX. */
void th_grouping_mark_sites(const th_grouping *grouping, const uint32_t *classes, uint8_t *bits);

#endif
