/* The shortest loop over a heap there is, in a DLL of its own: what heap_blocks is measured against. */
#include <windows.h>

__declspec(dllexport) unsigned long long bare_heap_walk(void *heap) {
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
