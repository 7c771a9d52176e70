/* Sites: a stack in a process. The same frames may mean other modules in another process, so each
   process has figures of its own for them. */
#ifndef TH_HEAP_SITE_TABLE_H
#define TH_HEAP_SITE_TABLE_H

#include "base/vec.h"
#include "heap/figures.h"
#include "heap/id_map.h"

/* Two cache lines, of which the first has what every event changes. */
typedef struct th_site {
  th_figures figures;
  uint32_t stack_id; /* TH_NO_STACK: without one */
  uint32_t instance;
} th_site;

#define TH_SITE_BITS 8
#define TH_SITE_SEGMENT (UINT32_C(1) << TH_SITE_BITS)

typedef struct th_site_segment {
  th_site *sites; /* aligned to a cache line, inside `memory` */
  void *memory;
} th_site_segment;

/* Beside the number of a site its process, so that the site itself need not be looked at. */
typedef struct th_first_site {
  uint32_t site; /* + 1; 0: none */
  uint32_t instance;
} th_first_site;

typedef struct th_site_table {
  TH_VEC(th_site_segment) segments; /* sites never move */
  uint32_t count;
  TH_VEC(th_first_site) of_stack; /* by stack id + 1 */
  th_id_map others;          /* (instance, stack id) where the first site is of another process */
} th_site_table;

TH_INLINE th_site *th_site_at(const th_site_table *table, uint32_t site) {
  return &table->segments.items[site >> TH_SITE_BITS].sites[site & (TH_SITE_SEGMENT - 1)];
}

/* Finds or makes the site; a new one keeps its figures from moment `now` on. False: no memory. */
TH_NODISCARD bool th_site_find_slowly(th_site_table *table, uint32_t instance, uint32_t stack_id,
                                      uint64_t now, uint32_t *site);
TH_INLINE TH_NODISCARD bool th_site_find(th_site_table *table, uint32_t instance,
                                         uint32_t stack_id, uint64_t now, uint32_t *site) {
  uint32_t stack = stack_id + 1; /* TH_NO_STACK + 1 is 0 */
  if (TH_LIKELY(stack < table->of_stack.count)) {
    th_first_site first = table->of_stack.items[stack];
    if (TH_LIKELY(first.site && first.instance == instance)) {
      *site = first.site - 1;
      return true;
    }
  }
  return th_site_find_slowly(table, instance, stack_id, now, site);
}
void th_site_table_free(th_site_table *table);

#endif
