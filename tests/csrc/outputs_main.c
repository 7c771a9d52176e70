/* Functions of the snapshot core leave their outputs untouched when they fail: every system call and
   every allocation failing in turn, seen from C. Exit code 1 with a sentence if one does not. */
#include "fake_state.h"

#include "snapshot/create.h"
#include "snapshot/modules.h"
#include "snapshot/rows.h"
#include "snapshot/system.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MANY 10000u
#define OTHER 900u

static unsigned failures;

static void expect(bool holds, const char *what, uint32_t nth) {
  if (holds)
    return;
  fprintf(stderr, "wrong: %s (the %u-th failing)\n", what, (unsigned)nth);
  exit(1);
}

/* What is to fail: the nth call of any name with `code`, or the nth allocation (code 0). */
static void plan(uint32_t nth, uint32_t code, bool persist) {
  fake_reset();
  fake_add_default();
  fake_lock();
  fake_process *process = fake_find_process(fake_world_to_change(), OTHER);
  fake_text path = {fake_memory_of(NULL, 801 * sizeof(uint16_t)), 800};
  for (size_t i = 0; i < 800; i++)
    path.units[i] = 'x';
  path.units[800] = 0;
  fake_add_module(process, &(fake_module){0x20000, 1, fake_copy_text(path.units, 5), path});
  fake.fail_in = code ? 0 : nth;
  fake.fail_on = persist;
  fake_unlock();
  if (code)
    fake_plan_failure("*", FAKE_NO_PID, nth, persist ? FAKE_EVER : 1, code);
}

static void nothing_kept(uint32_t nth, uint64_t blocks) {
  expect(fake.handle_count == 0, "a handle is open", nth);
  expect(fake.fault_count == 0, "a handle was misused", nth);
  expect(fake.live_blocks == blocks, "memory was kept", nth);
}

/* Each runs one operation; false when nothing failed any more. */
static bool system_snapshot(uint32_t nth, uint32_t code, bool persist) {
  th_table *const untouched = (th_table *)(uintptr_t)0x5a5a5a50u;
  th_table *processes = untouched, *threads = untouched;
  th_system_request request = {.processes = true, .threads = true};
  th_failure failure;
  plan(nth, code, persist);
  if (th_snapshot_system(&request, &processes, &threads, &failure) == TH_OK) {
    expect(processes->count == 4 && threads->count == 8, "a snapshot is short", nth);
    th_table_drop(processes);
    th_table_drop(threads);
    nothing_kept(nth, 0);
    return false;
  }
  expect(processes == untouched && threads == untouched, "outputs were touched", nth);
  nothing_kept(nth, 0);
  return true;
}

static bool create(uint32_t nth, uint32_t code, bool persist) {
  th_handle handle = 0x5a5a5a50u;
  th_failure failure;
  plan(nth, code, persist);
  if (th_snapshot_create(TH_SNAP_MODULE, OTHER, &handle, &failure) == TH_OK) {
    (void)th_sys_close(handle);
    nothing_kept(nth, 0);
    return false;
  }
  expect(handle == 0x5a5a5a50u, "outputs were touched", nth);
  nothing_kept(nth, 0);
  return true;
}

static bool modules(uint32_t nth, uint32_t code, bool persist) {
  th_failure failure;
  fake_reset();
  fake_add_default();
  th_table *table = th_table_new(&th_module_schema, 1, NULL);
  th_table *same = th_table_new(&th_module_schema, 1, NULL);
  uint32_t own = th_sys_current_pid();
  if (!table || !same || th_snapshot_modules(own, NULL, table, &failure) != TH_OK ||
      th_snapshot_modules(own, NULL, same, &failure) != TH_OK)
    expect(false, "the first modules", nth);
  size_t before = table->count;
  plan(nth, code, persist);
  bool failed = th_snapshot_modules(OTHER, NULL, table, &failure) != TH_OK;
  fake_lock();
  fake.fail_in = 0;
  fake_unlock();
  if (failed)
    expect(table->count == before, "rows were left", nth);
  else
    expect(table->count == before + 2, "modules are missing", nth);
  expect(before == same->count && th_table_equal(table, 0, same, 0, before), "rows changed", nth);
  if (failed) { /* and it can be filled as if nothing had been */
    plan(MANY, 5, false);
    expect(th_snapshot_modules(OTHER, NULL, table, &failure) == TH_OK, "a second time", nth);
    expect(table->count == before + 2, "rows after a second time", nth);
    expect(th_table_is_valid(table, TH_MODULE_MACHINE, before), "values left missing", nth);
  }
  th_table_drop(table);
  th_table_drop(same);
  nothing_kept(nth, 0);
  return failed;
}

/* Calls whose failure is put up with make gaps: so many in a row that work mean that it is over. */
#define ENOUGH 12u

static void sweep(bool (*run)(uint32_t, uint32_t, bool), uint32_t code) {
  for (int persist = 0; persist < 2; persist++) {
    uint32_t worked = 0;
    for (uint32_t nth = 1; worked < ENOUGH; nth++) {
      if (run(nth, code, persist)) {
        worked = 0;
        failures++;
      } else {
        worked++;
      }
    }
  }
}

int main(void) {
  static const uint32_t codes[] = {0, 5, 6, 8, 24, 87, 120, 299};
  fake_start();
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    sweep(system_snapshot, codes[i]);
    sweep(modules, codes[i]);
    sweep(create, codes[i]);
  }
  printf("%u failures, all as they should be\n", failures);
  return 0;
}
