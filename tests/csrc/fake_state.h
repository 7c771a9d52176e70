/* The system that tests script: what exists in it, which calls fail, what was called, what is open.

   Everything is behind one lock, as tests walk it from several threads. A call of csrc/sys/sys.h is
   played like this, in a file per area (fake_toolhelp.c, fake_process.c ...):

     uint32_t th_sys_something(uint32_t pid, ...) {
       FAKE_CALL(call, "SomethingW");
       uint32_t code = fake_begin(&call, pid);   // counts it, runs the hook, locks; planned failure
       if (code == 0) { ... }                    // outputs are written only here
       fake_end();                               // unlocks
       return code;
     }

   A call takes part in fake_fail(), fake_calls() and fake_hook() by its name, with nothing else to
   register. The fake's own memory never comes from base/mem.h, so that it is not counted. */
#ifndef TH_TESTS_FAKE_STATE_H
#define TH_TESTS_FAKE_STATE_H

#include "sys/sys.h"

/* ----- what exists ----- */

typedef struct fake_text {
  uint16_t *units; /* zero-terminated */
  size_t count;
} fake_text;

typedef struct fake_module {
  uint64_t base;
  uint32_t size;
  fake_text name, path; /* whole; the entries of a snapshot cut them */
} fake_module;

typedef struct fake_block {
  uint64_t address, size;
  uint32_t flags, lock_count;
} fake_block;

typedef struct fake_heap {
  uint64_t id;
  uint32_t flags;
  size_t block_count, block_room;
  fake_block *blocks;
} fake_heap;

typedef struct fake_memory {
  uint64_t address;
  size_t size;
  uint8_t *bytes;
} fake_memory;

typedef struct fake_process {
  uint32_t pid, parent_pid, num_threads, exit_code, open_error;
  int32_t base_priority;
  uint16_t machine; /* what IsWow64Process2 says: 0 for a native process */
  bool loader_ready;
  uint64_t create_time; /* 100 ns units since 1601 */
  bool suspended;       /* all of its threads */
  bool no_heap_list;    /* its heap query succeeds with nothing, as of frozen processes */
  uint16_t own_machine; /* what GetProcessInformation says of it; 0: the call fails */
  fake_text name, path; /* path: of the program, for queries that give it */
  size_t module_count, module_room, heap_count, heap_room, memory_count, memory_room;
  fake_module *modules;
  fake_heap *heaps;
  fake_memory *memory;
} fake_process;

typedef struct fake_thread {
  uint32_t tid, pid;
  int32_t base_priority;
} fake_thread;

/* Snapshots hold the world they were taken of; it is copied when the script changes meanwhile. */
typedef struct fake_world {
  long references;
  size_t last_found;
  size_t process_count, process_room, thread_count, thread_room;
  fake_process *processes;
  fake_thread *threads;
} fake_world;

fake_process *fake_find_process(fake_world *world, uint32_t pid);
fake_heap *fake_find_heap(fake_process *process, uint64_t id);
/* The world that the script changes, with the lock held: nobody else holds it. */
fake_world *fake_world_to_change(void);
fake_process *fake_add_process(fake_world *world, uint32_t pid);
void fake_add_thread(fake_world *world, const fake_thread *thread);
/* Each takes over the texts and bytes it is given. */
void fake_add_module(fake_process *process, const fake_module *module);
void fake_add_heap(fake_process *process, uint64_t id, uint32_t flags);
void fake_add_block(fake_heap *heap, const fake_block *block);
void fake_add_memory(fake_process *process, const fake_memory *memory);
void fake_remove_process(fake_world *world, uint32_t pid);
void fake_free_text(fake_text *text);
fake_text fake_copy_text(const uint16_t *units, size_t count);
void fake_drop_world(fake_world *world);
/* realloc() that ends the test run instead of failing. */
void *fake_memory_of(void *old, size_t size);

/* ----- handles ----- */

typedef enum fake_kind { FAKE_SNAPSHOT, FAKE_PROCESS, FAKE_OTHER } fake_kind;

typedef struct fake_handle {
  th_handle value;
  fake_kind kind;
  uint32_t flags, pid, access;
  fake_world *world;
  size_t next_process, next_thread, next_module, next_heap;
} fake_handle;

/* With the lock held. A new handle of the live world; its value was never used before. */
fake_handle *fake_open(fake_kind kind, uint32_t pid);
fake_handle *fake_find_handle(th_handle value);
/* The process behind a process handle: as it is now, or as it last was. */
fake_process *fake_process_of(th_handle value);
/* Notes a misuse: printf-like. Tests ask for all of them at their end. */
void fake_fault(const char *format, ...);

/* ----- calls ----- */

typedef struct fake_call {
  const char *name;
  uint64_t count;
  struct fake_call *next;
  bool listed;
} fake_call;

#define FAKE_CALL(variable, text) static fake_call variable = {text, 0, NULL, false}
#define FAKE_NO_PID UINT32_MAX

/* Counts the call, runs the hook and takes the lock. The code it is to fail with, else 0. pid 0 is
   the caller, FAKE_NO_PID none. */
uint32_t fake_begin(fake_call *call, uint32_t pid);
/* The same for a call on a handle, which must be open and of this kind: else code 6 and a fault.
   *handle is set when the result is 0. */
uint32_t fake_begin_handle(fake_call *call, th_handle value, fake_kind kind, fake_handle **handle);
void fake_end(void);

#define FAKE_EVER UINT32_MAX
/* From now on, the calls `nth`, `nth` + 1 ... (`times` of them) of this name ("*": any call) and pid
   (FAKE_NO_PID: any) fail with `code`. */
void fake_plan_failure(const char *name, uint32_t pid, uint32_t nth, uint32_t times, uint32_t code);

/* ----- everything ----- */

#define FAKE_MAX_FAULTS 64

typedef struct fake_state {
  fake_world *world;
  uint32_t own_pid;
  uint16_t own_machine, native_machine;
  bool wine;
  uint32_t build;
  bool may_debug, debugs;    /* SeDebugPrivilege is held, is enabled */
  unsigned debug_layout;     /* of heap queries: 1, 2, or 0 for the one of the build */
  size_t debug_cut;          /* bytes that are missing at the end of query buffers */
  uint64_t heap_locked;      /* the heap of this process that is locked, or 0 */
  size_t handle_count, handle_room;
  fake_handle **handles;
  fake_call *calls; /* all that were ever made */
  size_t fault_count;
  char faults[FAKE_MAX_FAULTS][160];
  uint64_t now, sleeps; /* the clock */
  /* The allocator: the n-th from now fails (0: none does). */
  uint64_t allocations, live_blocks, fail_in;
  bool fail_on;
  /* Called before each call, without the lock. */
  void (*hook)(const char *name);
} fake_state;

/* Whether this thread has locked a heap. */
extern _Thread_local bool fake_holds_heap;

/* To be touched between fake_lock and fake_unlock alone. */
extern fake_state fake;

/* Once, before anything else: with the small machine of fake_default.c. */
void fake_start(void);
void fake_lock(void);
void fake_unlock(void);
/* An empty system, nothing planned, all counters at 0; blocks and handles that live go on to. */
void fake_reset(void);
/* A handful of processes, of which the caller is one (fake_default.c). */
void fake_add_default(void);

#endif
