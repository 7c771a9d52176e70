/* The snapshot core over the fake system, from several threads at once: for helgrind, ThreadSanitizer
   and memcheck, which can follow plain C but not an interpreter.

   Each thread takes snapshots while the script changes under it, and shares one finished table with
   the others: its references, its rows, its Arrow export. Exit code 1 with a sentence if what is
   read is wrong. */
#include "fake_state.h"

#include "host/host.h"
#include "snapshot/modules.h"
#include "snapshot/rows.h"
#include "snapshot/system.h"
#include "table/arrow.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define OTHER 900u

static int rounds = 60;
static th_table *shared;

static void wrong(const char *what) {
  fprintf(stderr, "wrong: %s\n", what);
  exit(1);
}

static void expect(bool holds, const char *what) {
  if (!holds)
    wrong(what);
}

static fake_text text_of(const char *ascii) {
  uint16_t units[64];
  size_t count = strlen(ascii);
  for (size_t i = 0; i < count; i++)
    units[i] = (uint8_t)ascii[i];
  return fake_copy_text(units, count);
}

/* Replaces the process that snapshots look at, with `modules` modules. */
static void change_script(uint32_t modules) {
  fake_lock();
  fake_world *world = fake_world_to_change();
  fake_remove_process(world, OTHER);
  fake_process *process = fake_add_process(world, OTHER);
  process->parent_pid = 4;
  process->name = text_of("other.exe");
  process->num_threads = modules;
  for (uint32_t i = 0; i < modules; i++) {
    fake_module module = {0x10000u + i, 4096u, text_of("m.dll"), text_of("C:\\m.dll")};
    fake_add_module(process, &module);
    fake_add_thread(world, &(fake_thread){5000u + i, OTHER, 8});
  }
  fake_unlock();
}

static void take_system_snapshot(void) {
  th_table *processes = NULL, *threads = NULL;
  th_failure failure;
  th_system_request request = {.processes = true, .threads = true};
  if (th_snapshot_system(&request, &processes, &threads, &failure) != TH_OK) {
    expect(failure.status == TH_RACE || failure.status == TH_SYSTEM, "failure of a snapshot");
    expect(!processes && !threads, "outputs of a failed snapshot");
    return;
  }
  /* Both come from one copy of the lists, so they agree. */
  uint32_t told = 0, seen = 0;
  for (size_t i = 0; i < processes->count; i++)
    if (TH_COLUMN(processes, TH_PROCESS_PID, uint32_t)[i] == OTHER)
      told = TH_COLUMN(processes, TH_PROCESS_NUM_THREADS, uint32_t)[i];
  for (size_t i = 0; i < threads->count; i++)
    seen += TH_COLUMN(threads, TH_THREAD_OWNER_PID, uint32_t)[i] == OTHER;
  expect(told == seen, "threads of one snapshot");
  th_table_drop(processes);
  th_table_drop(threads);
}

static void take_modules(void) {
  th_failure failure;
  th_table *table = th_table_new(&th_module_schema, 1, NULL);
  expect(table != NULL, "room for a table");
  if (th_snapshot_modules(OTHER, NULL, table, &failure) != TH_OK)
    expect(table->count == 0, "outputs of failed modules");
  for (size_t i = 0; i < table->count; i++)
    expect(TH_COLUMN(table, TH_MODULE_BASE, uint64_t)[i] == 0x10000u + i, "bases of modules");
  th_table_drop(table);
}

static void use_shared_table(void) {
  ArrowArrayStream stream;
  ArrowArray array;
  th_table_take(shared);
  expect(th_arrow_stream(shared, 0, shared->count, &stream), "an Arrow stream");
  expect(stream.get_next(&stream, &array) == 0, "an Arrow array");
  expect(array.length == (int64_t)shared->count, "length of an Arrow array");
  stream.release(&stream);
  array.release(&array);
  expect(th_table_equal(shared, 0, shared, 0, shared->count), "a table equals itself");
  th_table_drop(shared);
}

static void body(void *argument) {
  unsigned seed = *(const unsigned *)argument;
  for (int i = 0; i < rounds; i++) {
    seed = seed * 1103515245u + 12345u;
    switch (seed >> 16 & 7u) {
    case 0: change_script(seed >> 20 & 15u); break;
    case 1: fake_plan_failure("CreateToolhelp32Snapshot", FAKE_NO_PID, 1, 1, 24); break;
    case 2:
    case 3: take_modules(); break;
    case 4: use_shared_table(); break;
    default: take_system_snapshot(); break;
    }
  }
}

int main(int count, char **words) {
  th_thread threads[THREADS];
  unsigned seeds[THREADS];
  th_failure failure;
  if (count > 1)
    rounds = atoi(words[1]);
  fake_start();
  change_script(10);
  shared = th_table_new(&th_module_schema, 1, NULL);
  expect(shared && th_snapshot_modules(OTHER, NULL, shared, &failure) == TH_OK, "the first modules");
  for (unsigned i = 0; i < THREADS; i++) {
    seeds[i] = i + 1;
    expect(th_thread_start(&threads[i], body, &seeds[i]), "a thread");
  }
  for (unsigned i = 0; i < THREADS; i++)
    th_thread_join(&threads[i]);
  th_table_drop(shared);
  expect(fake.handle_count == 0, "all handles closed");
  expect(fake.live_blocks == 0, "all memory freed");
  for (size_t i = 0; i < fake.fault_count; i++)
    fprintf(stderr, "%s\n", fake.faults[i]);
  expect(fake.fault_count == 0, "no misuse of handles");
  puts("all as it should be");
  return 0;
}
