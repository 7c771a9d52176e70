/* Who owns blocks: processes, their heaps, their threads, and the pairs of the last two. */
#ifndef TH_HEAP_OWNER_TABLE_H
#define TH_HEAP_OWNER_TABLE_H

#include "base/vec.h"
#include "heap/block_map.h"
#include "heap/figures.h"
#include "heap/id_map.h"
#include "heap/realloc_pairing.h"

/* A process from its start to its end; a pid may have several, one after another. */
typedef struct th_instance {
  uint32_t pid;
  uint32_t first_heap; /* UINT32_MAX: none */
  bool ended;
  int64_t first_ns; /* of its heap events */
  int64_t end_ns;   /* when ended */
  th_amount running;
  th_amount peak; /* of `running` */
  int64_t peak_ns;
  uint64_t reallocations;
  uint64_t heaps_created, heaps_destroyed;
} th_instance;

typedef struct th_heap {
  uint64_t handle;
  uint32_t instance;
  uint32_t next; /* heap of the same instance; UINT32_MAX: none */
  bool created;  /* and not destroyed since */
  th_block_list blocks;
} th_heap;

/* A thread that allocates in a heap. Figures are kept of these pairs, which are few; those of a
   heap, a thread or a process are their sums. */
typedef struct th_owner {
  th_figures figures;
  th_amount adopted;     /* first seen in a ReAlloc in place */
  th_amount freed;       /* by Free and moving ReAlloc; bytes: with shrinkage in place */
  th_amount destroyed;   /* gone with their heap */
  th_amount overwritten; /* their address was given out again */
  uint64_t handle; /* of the heap */
  uint32_t instance;
  uint32_t heap;
  uint32_t thread;
} th_owner;

typedef struct th_heap_thread {
  uint32_t tid;
  uint32_t instance;
  uint32_t owner;  /* that it was last, of the heap `handle`; UINT32_MAX: none */
  uint64_t handle;
  th_pairing pairing;
} th_heap_thread;

#define TH_THREAD_CACHE 512
typedef struct th_thread_cache_entry {
  uint32_t pid, tid;
  uint32_t thread; /* + 1; 0: free */
} th_thread_cache_entry;

typedef struct th_owner_table {
  TH_VEC(th_instance) instances;
  TH_VEC(th_heap) heaps;
  TH_VEC(th_heap_thread) threads;
  TH_VEC(th_owner) owners;
  th_id_map instance_of_pid; /* (0, pid) -> the latest one */
  th_id_map heap_of_handle;  /* (instance, handle) */
  th_id_map thread_of_tid;   /* (instance, tid) */
  th_id_map owner_of_pair;   /* (thread, heap) */
  th_thread_cache_entry cache[TH_THREAD_CACHE];
} th_owner_table;

void th_owner_table_init(th_owner_table *table, uint64_t seed);
void th_owner_table_free(th_owner_table *table);

/* Each finds what is asked for or makes it. False: no memory. */
TH_NODISCARD bool th_owner_thread_slowly(th_owner_table *table, uint32_t pid, uint32_t tid,
                                         int64_t time_ns, th_thread_cache_entry *entry);
TH_INLINE TH_NODISCARD bool th_owner_thread(th_owner_table *table, uint32_t pid, uint32_t tid,
                                            int64_t time_ns, uint32_t *thread) {
  /* Windows gives out thread ids in steps of 4. */
  th_thread_cache_entry *entry = &table->cache[(tid >> 2 ^ pid) & (TH_THREAD_CACHE - 1)];
  if (TH_UNLIKELY(!entry->thread || entry->tid != tid || entry->pid != pid) &&
      !th_owner_thread_slowly(table, pid, tid, time_ns, entry))
    return false;
  *thread = entry->thread - 1;
  return true;
}
TH_NODISCARD bool th_owner_heap(th_owner_table *table, uint32_t instance, uint64_t handle,
                                uint32_t *heap);
TH_NODISCARD bool th_owner_slowly(th_owner_table *table, uint32_t thread, uint64_t handle,
                                  uint64_t now, uint32_t *owner);
/* A new owner keeps its figures from moment `now` on. */
TH_INLINE TH_NODISCARD bool th_owner_find(th_owner_table *table, uint32_t thread, uint64_t handle,
                                          uint64_t now, uint32_t *owner) {
  /* Threads seldom change their heap. */
  const th_heap_thread *row = &table->threads.items[thread];
  if (TH_LIKELY(row->owner != UINT32_MAX && row->handle == handle)) {
    *owner = row->owner;
    return true;
  }
  return th_owner_slowly(table, thread, handle, now, owner);
}

/* The running instance of a pid, or UINT32_MAX. */
uint32_t th_owner_running(const th_owner_table *table, uint32_t pid);
/* Later events of its pid are those of another process. */
void th_owner_end(th_owner_table *table, uint32_t instance, int64_t time_ns);

#endif
