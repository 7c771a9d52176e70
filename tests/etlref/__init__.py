"""A slow, obvious reader of .etl files, written from the description of the format alone.

It exists to be compared with the C reader: same bytes in, same rows and same counters out. Nothing
here is fast, nothing is shared with the C code, and files made by `etlmaker` are synthetic: they
show that both readers understand the format alike, not that Windows writes it so.

    decode(data: bytes) -> Result          raises Corrupt(offset): not a trace at all

What follows is the agreement on every choice that the format leaves open.

1. When is it not a trace (Corrupt; everything else gives a partial result)
---------------------------------------------------------------------------
| condition                                                                      | offset |
| ------------------------------------------------------------------------------ | ------ |
| fewer than 0x48 bytes; first BufferSize < 0x48 or > 64 MiB (MAX_BUFFER)         | 0      |
| first event is not kind SYSTEM32/64 with hook 0x0000, or its Size is below      | 0x48   |
|   0x20 + extension + 0x110 (32) / 0x118 (64), or it ends behind the valid end   |        |
|   (section 3) of the first buffer                                              |        |
| clock 3 with CpuSpeedInMHz 0; any other clock but 2 with PerfFreq <= 0          | 0x48   |
The first buffer is never unpacked (its COMPRESSED flag is ignored); its BufferType is not checked.
Clock: ReservedFlags 2 = "system", 3 = "cycles", every other value = "qpc".
pointer_size: the field if it is 4 or 8, else by the kind of the first event.

2. Walking the buffers (R = bytes from here to the end of the file)
-------------------------------------------------------------------
| met                                   | counted                                      | then |
| ------------------------------------- | -------------------------------------------- | ---- |
| R = 0                                 | -                                            | end  |
| all R bytes are zero (preallocated)   | -                                            | end  |
| R < 0x48                              | truncated; bytes_skipped += R                | end  |
| BufferSize < 0x48 (0 too) or > MAX    | buffers_skipped += 1; bytes_skipped += R     | end  |
| BufferSize > R, not packed            | buffers += 1; truncated; events read up to R | end  |
| BufferSize > R, packed                | buffers += 1; compressed_buffers += 1;       | end  |
|                                       | truncated; buffers_skipped += 1;             |      |
|                                       | bytes_skipped += R                           |      |
| packed, and SavedOffset < 0x48 or     | buffers += 1; compressed_buffers += 1;       | next |
| > MAX, or no format fills it exactly  | buffers_skipped += 1;                        |      |
|                                       | bytes_skipped += BufferSize - 0x48           |      |
| anything else                         | buffers += 1 (packed: compressed_buffers     | next |
|                                       | too)                                         |      |
A first buffer (header) longer than the file counts as "BufferSize > R, not packed".
Packed = BufferFlag 0x40. Format: low 16 bits of the first buffer's State if LogFileMode has
0x04000000 and they are 2, 3 or 4, otherwise 3; when that fails the others in the order 3, 2, 4.
A format succeeds when the output is full, exactly: a literal or match past the end of the output,
a distance before its start, a bad code or missing input is failure; input left over is not.
SavedOffset = 0x48 succeeds with no bytes. LZNT1: bits 12-14 of a chunk header other than 3, a
distance before the chunk's start, more than 4096 bytes from one chunk, or a token cut by the end of
the chunk are failure; short chunks are not padded. XPRESS-Huffman: code lengths must fill the code
space exactly; an end mark is not needed; length byte 255 is followed by a u16 that must be >= 15
and counts the whole length less 3; bits past the input read as zero, and using one is failure; a
block starts where the output has come to (a match may run past the 64 KiB of its block).
Sequence gap: neighbours in the sorted list of distinct sequence numbers (all counted buffers, the
header too) more than 1 apart: sequence_gaps += 1 each. Informational.

3. Walking the events of a buffer
---------------------------------
limit = BufferSize, or R if cut, or SavedOffset if packed. Valid end = Offset (0x30) if within
[0x48, limit]; else SavedOffset if >= 0x48, else CurrentOffset if >= 0x48, both cut to limit; else
0x48. From p = 0x48, with E = end - p:
| met                                           | counted                                  | then  |
| --------------------------------------------- | ---------------------------------------- | ----- |
| E < 4                                         | -                                        | end   |
| dword 0xFFFFFFFF                              | -                                        | end   |
| all E bytes zero                              | -                                        | end   |
| E < 8, buffer cut by the end of the file      | bytes_skipped += E (truncated is set)    | end   |
| E < 8 otherwise                               | bad_events += 1; bytes_skipped += E      | end   |
| byte 3 is neither 0xC0 nor 0x90               | bad_events += 1; bytes_skipped += E      | end   |
| byte 3 = 0xC0, kind (byte 2) not in the table | unknown_headers += 1; bytes_skipped += E | end   |
| Size < header bytes of the kind (0 too)       | bad_events += 1; bytes_skipped += E      | end   |
| Size > E, buffer cut by the end of the file   | bytes_skipped += E                       | end   |
| Size > E otherwise                            | bad_events += 1; bytes_skipped += E      | end   |
| anything else                                 | events += 1, by header, by hook          | next  |
The rows are tried in this order; the kind is looked at before the Size. Next p = p + Size rounded
up to 8. Header bytes: 1/2 0x20, 3/4 0x18, 10/20 0x30, 11/21 0x48, 16/17 0x10, 18/19 0x50; TIMED 12,
ERROR 13, WNODE 14 and MESSAGE (byte 3 = 0x90) 8, with Size at +0. Hook keys "ggoo" in lower-case
hex, for kinds 1-4, 16 and 17 only.
An event that was counted but whose inside is wrong: bad_events += 1 and it is otherwise ignored
(no heap event, process, ... comes of it), the walk goes on. That is: header extension (Version bits
0x8000 and 0x0700, kinds 1-4, 16, 17) past Size; an extended item (EVENT_HEADER Flags & 1) with
item size < 8, past Size, or DataSize > item size - 8; MESSAGE options past Size; a payload shorter
than the minimum of section 5-7. One event adds at most 1.
Version is the low byte for kinds 1-4, 16, 17, the u16 for FULL/INSTANCE, the u8 for EVENT_HEADER.

4. Order, time, pid, tid
------------------------
Order: all events by (raw time, SequenceNumber of the buffer (signed), file offset of the buffer,
position in it). That is what a k-way merge of the (LoggerId, cpu) streams gives as long as streams
are ordered; `unordered_streams` counts streams (buffers by sequence, then offset) that have an
inversion.
Events without a time stamp (TIMED, ERROR, WNODE, MESSAGE without option 8) take the raw time of the
event before them in their stream, T0 if none.
cpu: ProcessorIndex & 0x7FF with BufferFlag 0x20, else its low byte.
T0 = TimeStamp of the first event. time_ns = floor((t - T0) * 10**9 / PerfFreq) for qpc,
(t - T0) * 100 for system, floor((t - T0) * 1000 / MHz) for cycles; exact, signed, t - T0 not
wrapped, then cut to the range of int64.
pid/tid: PERFINFO, TIMED, ERROR, WNODE, MESSAGE without option 0x20: None. 0xFFFFFFFF: None as well.
Class: for kinds 1-4, 16, 17 by group (hook 0x030A is Image op 10, other group 3 is Process, 5
Thread, 0x14 Image, 0x10 Heap, 0x18 StackWalk); for FULL and EVENT_HEADER by GUID (opcode: Type,
Opcode); INSTANCE and the rest have no class.
Pointer size by kind (1, 3, 10, 16, 18 -> 4; 2, 4, 17, 19, 20 -> 8). FULL events only: the payload's
width may differ. If the length fits the header's width exactly take that; else if it fits the other
exactly take the other; else the header's. Fits exactly: heap: length = the minimum for the version;
thread: length = minimum, or what follows it is UTF-16 text whose only NUL is its end; process and
image: fixed part and SID fit, then the strings of that version, each ended by NUL, reach the end
exactly (v4: name, command line and two more; v5: 8 bytes more); DbgID: the name's NUL is the last
byte; stacks never: always the header's width.

5. Heap events (class Heap, any kind of header)
-----------------------------------------------
Tuple: (time_ns, cpu, pid, tid, kind, heap, address, size, old_address, old_size, source, stack);
None where a kind has no such field.
| op | kind     | from the payload                                 | minimum 64/32 by version      |
| -- | -------- | ------------------------------------------------ | ----------------------------- |
| 32 | create   | heap                                             | < 3: 12/8; >= 3: 36/20        |
| 33 | alloc    | heap, size, address, source                      | 28/16                         |
| 34 | realloc  | heap, address (new), old_address, size, old_size, | 44/24                        |
|    |          |   source                                         |                               |
| 35 | destroy  | heap                                             | 8/4                           |
| 36 | free     | heap, address, source                            | 20/12                         |
| 37 | expand   | heap, size = CommittedSize, address              | < 3: 52/28; >= 3: 60/32       |
| 38 | snapshot | heap | < 2: 36/20; 2: 56/36; >= 3: 64/40 |
| 42 | contract | heap, size = DeCommittedSize, address            | as expand                     |
| 43 lock, 44 unlock, 45 validate, 46 walk: heap               | 8/4                           |
Every other opcode n: kind "op<n>" (decimal), heap = first pointer if the payload holds one, else
None; never bad. Heap ranges (group 2) are not heap events. `unattributed` counts heap events with
pid None.

6. Stacks (class StackWalk: 32 stack, 37 key kernel, 38 key user, 35 and 36 definition)
---------------------------------------------------------------------------------------
Minimum: 32: 16; 37/38: 16 + pointer; 35/36: pointer. KeyCreate (34) has no effect and is never bad.
`stacks_seen` = valid events of op 32, 37, 38. Zero frames are dropped everywhere before anything
else. Kernel address: 8-byte frame with bit 63; 4-byte frame >= 0x80000000 if the file's
pointer_size is 4, never in an 8-byte file. A part of op 32 is a kernel part if its last frame is a
kernel address, else (no frames too) a user part; 37 is a kernel part, 38 a user part.
In merged order, for each part (t, pid, tid from its payload), W = 1 s:
  * own event: the latest heap event before it in the order with raw time t, same pid and tid; if
    there is none, the latest heap event with raw time t whose tid is None and that has the part's
    cpu; if none, the latest such of any cpu. Only if part.time_ns - event.time_ns <= W.
  * kernel part: appended to its own event, which then waits on (pid, tid).
  * user part: appended to every event that waits on (pid, tid) and is not older than W (all waits
    of that thread end, in any case), and to its own event if that did not wait.
  A part appended to at least one event is `stacks_joined` += 1, otherwise `stacks_unmatched` += 1.
The stack of an event is its parts in the order of appending, joined; no frame at all = None.
`stacks_missing` = alloc and realloc events with stack None; stack_coverage = 1 - missing / all
(None when there are none). Synthetic files put a stack either <= 60 ms or >= 2 s behind its event,
so any W between is equal on them.
Keys: two tables, kernel (uses by 37) and user (38). A definition belongs to the kernel table if its
last frame is a kernel address, else to the user table. It gives its frames to all uses of that key
in that table since the key's previous definition (order of section 4), and these are then cleared.
`unresolved_keys` = uses (joined or not) that never got a definition; they contribute no frames.
Extended items with stacks (types 5, 6, 0x11, 0x12) are not joined to heap events.

7. Processes, threads, modules (lists in the order of the first event of each row)
----------------------------------------------------------------------------------
Events of one class and key (pid; tid; (pid, base)) fold into rows. "Open" = the latest row of the
key that has no end yet.
| process, thread op | image op | with an open row              | without                       |
| ------------------ | -------- | ----------------------------- | ----------------------------- |
| 1 start            | 10       | its end = this time; new row  | new row, start = this time    |
| 3, 4 DCStart/DCEnd | 3, 4     | completes it                  | new row, start None, end None |
| 2 end              | 2        | completes it, end = this time | new row, start None, end this |
Other ops (process 11, 39, ...) change nothing and are never bad. Completing: a field that is None
or "" takes the new value, others stay. exit_status only from op 2. Process op 1 and op 2 give all
open modules of that pid unload_ns = this time (threads are not touched).
Process: v0 pid ptr 0, ppid ptr 8/4, SID at 16/8; v1, v2 fixed part 24/20; v3 32/24; v4 and later
36/28; then SID block, name (ANSI, NUL), from v2 on the command line (UTF-16, NUL). wow64 from v4 on
(Flags & 2), else None. SID block as described for the format: first u32 zero -> look for a
plausible SID (byte 0 = 1, byte 1 <= 15, bytes 2-5 zero, all inside) behind 2 pointers, else 4 bytes
long; not zero -> 2 pointers + 8 + 4 x count (byte 0 = 1 and byte 1 = count <= 15, else bad). Bad:
fixed part or SID block past the end.
Thread: v2 (minimum 68/40) and later (72/44): pid, tid, start_address = Win32StartAddr (48/28).
v0 and v1 change nothing.
Image: v0 base, size, name (pid of the header; None gives pid 0); v1 base, size, pid, name; v2 and
later fixed part 56/44 with checksum and time stamp. path = the NT path as written. Bad: fixed part
past the end.
Strings: without a NUL they run to the end of the payload and are not bad; an odd last byte is
dropped. UTF-16 keeps lone surrogates. ANSI: UTF-8 if valid as a whole, else Latin-1.
DbgID (ImageID op 36, FULL or EVENT_HEADER): goes to the latest row of (pid, base) whose first event
has a raw time <= its own (real files put it directly before its Image event, same raw time), else
to the first row of that key, once all events are known; first one wins. Minimum 32/28.
pdb_guid: 32 upper-case hex digits, fields in text order. ImageID op 0 (minimum 24/16) fills a
`timestamp` that is None or 0, same choice of row. Other ImageID ops change nothing.
SysConfigEx op 35: `volumes` gets (NT path, DOS path).

8. Info and quality
-------------------
`finished` = EndTime != 0 and BuffersWritten != 0. start, end: ISO 8601 UTC with seven digits and
"Z"; end None if EndTime is 0; None too outside the years 1601-9999. duration_ns = (EndTime -
StartTime) * 100 if EndTime >= StartTime and EndTime != 0, else the largest time_ns of all events,
at least 0. events_lost, buffers_lost: the logfile header's. `lost_flags` = buffers with BufferFlag
2 or 4; `lost_events` = events of class Lost_Event with opcode 32, 33, 34.
counts.stacks = stacks_seen. `file.perf_freq`, `file.clock_type` and `quality.finished` are extras
for tests; `messages` (sentences) are not meant to be compared.
complete = finished, and not truncated, and all of events_lost, buffers_lost, buffers_skipped,
bytes_skipped, unknown_headers, bad_events, lost_flags, lost_events are 0.
"""

from .model import Corrupt, Result
from .reader import decode

__all__ = ["Corrupt", "Result", "decode"]
