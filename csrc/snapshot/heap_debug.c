#include "snapshot/heap_debug.h"

#include "base/cursor.h"

#define MOST_HEAPS 65536u

/* Flags of RTL_HEAP_ENTRY. */
#define ENTRY_BUSY 0x0001u
#define ENTRY_SEGMENT 0x0002u
#define ENTRY_UNCOMMITTED 0x1000u
#define ENTRY_LARGE 0x4000u
#define ENTRY_LFH 0x8000u

/* Places of fields, by pointer size. */
typedef struct layout {
  size_t header, heaps, process_heap;     /* of the buffer */
  size_t first_heap;                      /* of RTL_PROCESS_HEAPS */
  size_t flags, overhead, committed;      /* of RTL_HEAP_INFORMATION */
  size_t entry_count, entries, stride_v1; /* ... */
  size_t entry_flags, entry_committed, entry_first, entry_size; /* of RTL_HEAP_ENTRY */
} layout;

static const layout layout_64 = {TH_DEBUG_HEADER_64, 0x70, 0x98, 8,    0x08, 0x0c, 0x18,
                                 0x24,               0x50, 0x58, 0x08, 0x10, 0x18, 0x20};
static const layout layout_32 = {TH_DEBUG_HEADER_32, 0x38, 0x4c, 4,    0x04, 0x08, 0x10,
                                 0x18,               0x3c, 0x40, 0x04, 0x08, 0x0c, 0x10};
#define V2_MORE 8u /* HeapTag */

static const layout *layout_of(const th_debug_view *view) {
  return view->pointer_size == 8 ? &layout_64 : &layout_32;
}

/* The offset of the `size` bytes a pointer names; false when they are not all in the buffer. */
static bool inside(const th_debug_view *view, uint64_t pointer, uint64_t size, size_t *offset) {
  if (pointer < view->address || pointer - view->address > view->size)
    return false;
  uint64_t at = pointer - view->address;
  if (size > view->size - at)
    return false;
  *offset = (size_t)at;
  return true;
}

static uint64_t pointer_at(const th_debug_view *view, size_t at) {
  return th_load_ptr(view->bytes + at, view->pointer_size);
}

typedef enum fit { FIT_NOT, FIT_POSSIBLE, FIT_WHOLE } fit;

/* How well the heaps make sense when they are `stride` bytes apart: not at all, or with heaps that
   have no entries, or whole, each with entries (every heap has some when they are asked for). */
static fit fit_of(const th_debug_view *view, size_t at, uint32_t count, size_t stride) {
  const layout *of = layout_of(view);
  bool has_default = view->process_heap == 0, whole = true;
  if (count > (view->size - at) / stride)
    return FIT_NOT;
  for (uint32_t i = 0; i < count; i++) {
    size_t heap = at + i * stride, ignored;
    uint64_t base = pointer_at(view, heap);
    uint64_t entries = pointer_at(view, heap + of->entries);
    uint32_t entry_count = th_load_u32(view->bytes + heap + of->entry_count);
    uint64_t bytes = (uint64_t)entry_count * of->entry_size;
    /* A heap begins on a page. */
    if (base == 0 || base % 4096 != 0 || (entries && !inside(view, entries, bytes, &ignored)))
      return FIT_NOT;
    whole = whole && entries && entry_count;
    has_default = has_default || base == view->process_heap;
  }
  return !has_default ? FIT_NOT : whole ? FIT_WHOLE : FIT_POSSIBLE;
}

th_debug_answer th_debug_open(th_debug_view *view, uint32_t build) {
  const layout *of = layout_of(view);
  size_t at;
  if (view->size < of->header)
    return TH_DEBUG_DAMAGED;
  uint64_t heaps = pointer_at(view, of->heaps);
  if (heaps == 0)
    return TH_DEBUG_NO_HEAPS;
  if (!inside(view, heaps, of->first_heap, &at))
    return TH_DEBUG_DAMAGED;
  uint32_t count = th_load_u32(view->bytes + at);
  view->process_heap = pointer_at(view, of->process_heap);
  if (count > MOST_HEAPS)
    return TH_DEBUG_DAMAGED;
  if (count == 0)
    return TH_DEBUG_NO_HEAPS;
  const bool v2_first = build > TH_DEBUG_LAST_V1_BUILD;
  const size_t v1 = of->stride_v1, v2 = of->stride_v1 + V2_MORE;
  const size_t first = v2_first ? v2 : v1, second = v2_first ? v1 : v2;
  at += of->first_heap;
  const fit fit_first = fit_of(view, at, count, first);
  const fit fit_second = fit_of(view, at, count, second);
  if (fit_first == FIT_NOT && fit_second == FIT_NOT)
    return TH_DEBUG_DAMAGED;
  view->stride = fit_first >= fit_second ? first : second;
  view->heaps_at = at;
  view->heap_count = count;
  return TH_DEBUG_OK;
}

void th_debug_heap_at(const th_debug_view *view, uint32_t index, th_debug_heap *heap) {
  const layout *of = layout_of(view);
  const size_t at = view->heaps_at + index * view->stride;
  const uint8_t *bytes = view->bytes + at;
  const uint64_t entries = pointer_at(view, at + of->entries);
  heap->base = pointer_at(view, at);
  heap->flags = th_load_u32(bytes + of->flags);
  heap->overhead = th_load_u16(bytes + of->overhead);
  heap->committed = pointer_at(view, at + of->committed);
  heap->entry_count = entries ? th_load_u32(bytes + of->entry_count) : 0;
  heap->entries_at = entries ? (size_t)(entries - view->address) : 0;
}

static th_block_kind kind_of(uint16_t flags) {
  return flags & ENTRY_SEGMENT       ? TH_KIND_REGION
         : flags & ENTRY_UNCOMMITTED ? TH_KIND_UNCOMMITTED
         : !(flags & ENTRY_BUSY)     ? TH_KIND_FREE
         : flags & ENTRY_LARGE       ? TH_KIND_LARGE
         : flags & ENTRY_LFH         ? TH_KIND_LFH
                                     : TH_KIND_BUSY;
}

bool th_debug_walk(const th_debug_view *view, const th_debug_heap *heap, th_block_sink sink,
                   void *context) {
  const layout *of = layout_of(view);
  uint64_t next = heap->base; /* sums wrap around at 64 bits: hostile sizes only give odd numbers */
  for (uint32_t i = 0; i < heap->entry_count; i++) {
    const size_t at = heap->entries_at + (size_t)i * of->entry_size;
    const uint16_t flags = th_load_u16(view->bytes + at + of->entry_flags);
    th_block block = {.size = pointer_at(view, at), .flags = flags, .kind = kind_of(flags)};
    if (block.kind == TH_KIND_REGION) {
      /* A segment says where its first block begins; blocks follow one another from there. */
      block.committed = pointer_at(view, at + of->entry_committed);
      next = pointer_at(view, at + of->entry_first);
      block.address = next;
    } else {
      block.busy = block.kind != TH_KIND_FREE && block.kind != TH_KIND_UNCOMMITTED;
      block.address = next + (block.kind == TH_KIND_UNCOMMITTED ? 0 : heap->overhead);
      next += block.size;
    }
    if (!sink(context, &block))
      return false;
  }
  return true;
}
