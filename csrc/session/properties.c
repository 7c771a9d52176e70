#include "session/properties.h"

#include "base/cursor.h"
#include "base/mem.h"

#define WNODE_TRACED_GUID 0x00020000u

/* EnableFlags that are no flags: u16 offset of the extension, u8 0xff ("its length stands in the
   block"), u8 0x80 ("an extension"). */
#define EXTENSION_MARK 0x80ff0000u
#define EXTENSION_REACH 0xffffu

enum { ITEM_PIDS = 2, ITEM_STACK_HOOKS = 3, ITEM_STACK_CACHING = 5 };
#define ITEM_HEAD_WORDS 1u /* an item, and the block, begin with u16 length in DWORDs, u16 */
#define MAX_WORDS 0xffffu

const uint8_t th_heap_guid[16] = {0xab, 0x62, 0x29, 0x22, 0x80, 0x61, 0x88, 0x4b,
                                  0xa8, 0x25, 0x34, 0x6b, 0x75, 0xf2, 0xa2, 0x4a};
const uint8_t th_stack_guid[16] = {0x46, 0xfe, 0xf2, 0xde, 0xd6, 0x7b, 0x80, 0x4b,
                                   0xbd, 0x94, 0xf5, 0x7f, 0xe2, 0x0d, 0x0c, 0xe3};

static void put_u16(uint8_t *at, uint32_t value) {
  uint16_t narrow = (uint16_t)value;
  memcpy(at, &narrow, sizeof narrow);
}

static void put_u32(uint8_t *at, uint32_t value) { memcpy(at, &value, sizeof value); }

static size_t file_offset_at(unsigned pointer_size) { return pointer_size == 8 ? 0x70 : 0x6c; }
static size_t name_offset_at(unsigned pointer_size) { return pointer_size == 8 ? 0x74 : 0x70; }

static bool has_zero(const uint16_t *text, size_t units) {
  for (size_t i = 0; i < units; i++)
    if (text[i] == 0)
      return true;
  return false;
}

static bool has_back_slash(const uint16_t *text, size_t units) {
  for (size_t i = 0; i < units; i++)
    if (text[i] == '\\')
      return true;
  return false;
}

/* How many %d there are, or -1 when a % stands before anything else. */
static int count_numbers(const uint16_t *text, size_t units) {
  int count = 0;
  for (size_t i = 0; i < units; i++)
    if (text[i] == '%') {
      if (i + 1 == units || text[i + 1] != 'd')
        return -1;
      count++;
    }
  return count;
}

/* What is wrong with the request; NULL: nothing. */
static const char *check_names(const th_properties_request *request) {
  if (request->name_units == 0 || request->name_units > TH_MAX_SESSION_NAME)
    return "a session name has 1 to 1024 characters";
  if (has_zero(request->name, request->name_units))
    return "a session name has no zero character";
  if (has_back_slash(request->name, request->name_units))
    return "a session name has no back slash";
  if (!request->file)
    return NULL;
  if (request->file_units == 0 || request->file_units > TH_MAX_SESSION_NAME)
    return "the path of a log file has 1 to 1024 characters";
  if (has_zero(request->file, request->file_units))
    return "the path of a log file has no zero character";
  if (request->mode & TH_LOG_NEW_FILE && count_numbers(request->file, request->file_units) != 1)
    return "a log that goes on in new files needs exactly one %d in its path";
  return NULL;
}

static const char *check_mode(const th_properties_request *request) {
  uint32_t mode = request->mode;
  if (request->clock < TH_CLOCK_QPC || request->clock > TH_CLOCK_CYCLES)
    return "the clock is 1 (QPC), 2 (system time) or 3 (processor cycles)";
  if (request->update)
    return NULL;
  if (!request->file && !(mode & (TH_LOG_REAL_TIME | TH_LOG_BUFFERING)))
    return "a session needs a log file, real time or buffering";
  if ((mode & TH_LOG_SEQUENTIAL) && (mode & TH_LOG_CIRCULAR))
    return "a log is sequential or circular, not both";
  if (mode & TH_LOG_BUFFERING &&
      mode & (TH_LOG_SEQUENTIAL | TH_LOG_CIRCULAR | TH_LOG_NEW_FILE | TH_LOG_REAL_TIME))
    return "a session that keeps its buffers in memory has no file mode and no real time";
  if (mode & (TH_LOG_CIRCULAR | TH_LOG_NEW_FILE | TH_LOG_PREALLOCATE) && request->max_file == 0)
    return "a circular, preallocated or continued log needs a largest size";
  if (mode & TH_LOG_REAL_TIME && mode & (TH_LOG_PRIVATE | TH_LOG_APPEND))
    return "real time goes neither with a private session nor with appending";
  if (mode & TH_LOG_PRIVATE)
    return "a private session cannot trace the heaps of a process";
  return NULL;
}

static const char *check_buffers(const th_properties_request *request) {
  if (request->buffer_kb > TH_MAX_BUFFER_KB)
    return "a buffer has at most 16384 KB";
  if (request->max_buffers && request->max_buffers < request->min_buffers)
    return "the largest number of buffers is below the smallest";
  return NULL;
}

static const char *check_extension(const th_properties_request *request) {
  if (request->enable_flags && request->extension)
    return "kernel flags and process ids do not go together";
  if (request->hook_count > TH_MAX_STACK_HOOKS)
    return "stacks can be asked for at most 256 kinds of events";
  if (!request->extension)
    return NULL;
  if (request->pid_count == 0)
    return "a heap session needs at least one process id";
  if (request->pid_count > MAX_WORDS - ITEM_HEAD_WORDS)
    return "a heap session takes at most 65534 process ids";
  return NULL;
}

static size_t extension_words(const th_properties_request *request) {
  size_t words = ITEM_HEAD_WORDS + ITEM_HEAD_WORDS + request->pid_count;
  if (request->hook_count)
    words += ITEM_HEAD_WORDS + request->hook_count;
  if (request->stack_caching)
    words += ITEM_HEAD_WORDS + 2;
  return words;
}

static uint8_t *put_item(uint8_t *at, size_t data_words, uint32_t type) {
  put_u16(at, (uint32_t)(data_words + ITEM_HEAD_WORDS));
  put_u16(at + 2, type);
  return at + 4;
}

static void put_extension(uint8_t *at, const th_properties_request *request, size_t words) {
  uint32_t items = 1u + (request->hook_count != 0) + request->stack_caching;
  put_u16(at, (uint32_t)words);
  put_u16(at + 2, items);
  at = put_item(at + 4, request->pid_count, ITEM_PIDS);
  memcpy(at, request->pids, request->pid_count * 4);
  at += request->pid_count * 4;
  if (request->hook_count) {
    at = put_item(at, request->hook_count, ITEM_STACK_HOOKS);
    for (size_t i = 0; i < request->hook_count; i++, at += 4)
      put_u32(at, request->hooks[i]);
  }
  if (request->stack_caching) {
    at = put_item(at, 2, ITEM_STACK_CACHING);
    put_u32(at, request->cache_size);
    put_u32(at + 4, request->cache_buckets);
  }
}

th_status th_properties_build(const th_properties_request *request, unsigned pointer_size,
                              uint8_t **block, size_t *size, th_failure *failure) {
  const char *wrong = check_names(request);
  if (!wrong)
    wrong = check_mode(request);
  if (!wrong)
    wrong = check_buffers(request);
  if (!wrong)
    wrong = check_extension(request);
  size_t words = request->extension ? extension_words(request) : 0;
  if (!wrong && words > MAX_WORDS)
    wrong = "too many process ids and stack hooks together";
  if (wrong)
    return th_fail(failure, TH_INVALID, wrong);

  /* Structure, session name (which StartTraceW writes itself), log file, extension. Names are
     within their ceilings, so nothing here comes near an overflow or the extension's reach. */
  size_t name_at = TH_PROPERTIES_SIZE;
  size_t file_at = name_at + 2 * (request->name_units + 1);
  /* A session that keeps its buffers in memory is given its file when it is flushed. */
  bool file = request->file && !request->update && !(request->mode & TH_LOG_BUFFERING);
  size_t end = file_at + (file ? 2 * (request->file_units + 1) : 0);
  size_t extension_at = (end + 3) & ~(size_t)3;
  size_t whole = extension_at + 4 * words;
  uint8_t *made = th_mem_zero(whole);
  if (!made)
    return th_fail_memory(failure);

  put_u32(made + TH_WNODE_SIZE, (uint32_t)whole);
  memcpy(made + TH_WNODE_GUID, request->guid ? request->guid : th_heap_guid, 16);
  put_u32(made + TH_WNODE_CLOCK, request->clock);
  put_u32(made + TH_WNODE_FLAGS, WNODE_TRACED_GUID);
  put_u32(made + TH_PROP_BUFFER_KB, request->buffer_kb);
  put_u32(made + TH_PROP_MIN_BUFFERS, request->min_buffers);
  put_u32(made + TH_PROP_MAX_BUFFERS, request->max_buffers);
  put_u32(made + TH_PROP_MAX_FILE, request->max_file);
  put_u32(made + TH_PROP_MODE,
          request->update ? request->mode & TH_LOG_REAL_TIME : request->mode);
  put_u32(made + TH_PROP_FLUSH, request->flush_seconds);
  put_u32(made + TH_PROP_ENABLE_FLAGS,
          words ? EXTENSION_MARK | (uint32_t)extension_at : request->enable_flags);
  put_u32(made + name_offset_at(pointer_size), (uint32_t)name_at);
  if (file) {
    put_u32(made + file_offset_at(pointer_size), (uint32_t)file_at);
    memcpy(made + file_at, request->file, 2 * request->file_units);
  }
  if (words)
    put_extension(made + extension_at, request, words);
  *block = made;
  *size = whole;
  return TH_OK;
}

void th_properties_blank(uint8_t block[TH_PROPERTIES_BLANK_SIZE], unsigned pointer_size) {
  memset(block, 0, TH_PROPERTIES_BLANK_SIZE);
  put_u32(block + TH_WNODE_SIZE, TH_PROPERTIES_BLANK_SIZE);
  put_u32(block + TH_WNODE_FLAGS, WNODE_TRACED_GUID);
  put_u32(block + name_offset_at(pointer_size), TH_PROPERTIES_SIZE);
  put_u32(block + file_offset_at(pointer_size),
          TH_PROPERTIES_SIZE + 2 * (TH_MAX_SESSION_NAME + 1));
}

void th_properties_set_file(uint8_t block[TH_PROPERTIES_BLANK_SIZE], unsigned pointer_size,
                            const uint16_t *file, size_t units) {
  if (units <= TH_MAX_SESSION_NAME)
    memcpy(block + th_load_u32(block + file_offset_at(pointer_size)), file, 2 * units);
}

const uint8_t *th_properties_text(const uint8_t *block, size_t size, bool log_file,
                                  unsigned pointer_size, size_t *units) {
  size_t at = log_file ? file_offset_at(pointer_size) : name_offset_at(pointer_size);
  size_t offset = th_load_u32(block + at), count = 0;
  *units = 0;
  if (offset < TH_PROPERTIES_SIZE || offset >= size)
    return NULL;
  while (offset + 2 * count + 2 <= size && th_load_u16(block + offset + 2 * count) != 0)
    count++;
  *units = count;
  return count ? block + offset : NULL;
}

bool th_properties_untouched(const uint8_t *block, size_t size, unsigned pointer_size) {
  size_t units;
  return th_load_u64(block + TH_WNODE_CONTEXT) == 0 && th_load_u32(block + TH_PROP_BUFFERS) == 0 &&
         !th_properties_text(block, size, false, pointer_size, &units);
}
