/* What heap_blocks is measured against, in a DLL of its own: the shortest loops over a heap there
   are. One only counts; one keeps the entries as they are; one keeps their fields packed. Those that
   keep are told how many there will be. */
#include <windows.h>

typedef struct packed {
  void *address;
  DWORD size;
  WORD flags;
  BYTE overhead, region;
} packed;

__declspec(dllexport) unsigned long long bare_heap_count(void *heap) {
  PROCESS_HEAP_ENTRY entry;
  unsigned long long count = 0;
  entry.lpData = NULL;
  if (!HeapLock(heap))
    return 0;
  while (HeapWalk(heap, &entry))
    count++;
  HeapUnlock(heap);
  return count;
}

#define KEEP(name, type, value)                                                                    \
  __declspec(dllexport) unsigned long long name(void *heap, unsigned long long most) {             \
    PROCESS_HEAP_ENTRY entry;                                                                      \
    unsigned long long count = 0;                                                                  \
    type *all = VirtualAlloc(NULL, most * sizeof *all, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);  \
    entry.lpData = NULL;                                                                           \
    if (!all || !HeapLock(heap))                                                                   \
      return 0;                                                                                    \
    while (count < most && HeapWalk(heap, &entry))                                                 \
      all[count++] = value;                                                                        \
    HeapUnlock(heap);                                                                              \
    VirtualFree(all, 0, MEM_RELEASE);                                                              \
    return count;                                                                                  \
  }

KEEP(bare_heap_keep, PROCESS_HEAP_ENTRY, entry)
KEEP(bare_heap_pack, packed,
     ((packed){entry.lpData, entry.cbData, entry.wFlags, entry.cbOverhead, entry.iRegionIndex}))
