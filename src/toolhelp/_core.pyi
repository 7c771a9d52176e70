from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final, Generic, Literal, SupportsIndex, TypeAlias, TypeVar, final, overload

from _typeshed import structseq
from typing_extensions import Buffer

_Row = TypeVar("_Row", covariant=True)

@final
class Column(Sequence[Any], Buffer):
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: SupportsIndex, /) -> Any: ...
    @overload
    def __getitem__(self, key: slice, /) -> Column: ...
    def __iter__(self) -> Iterator[Any]: ...
    def index(self, value: object, start: int = 0, stop: int = ..., /) -> int: ...
    def count(self, value: object, /) -> int: ...
    def __copy__(self) -> Column: ...
    def __deepcopy__(self, memo: object, /) -> Column: ...
    def __buffer__(self, flags: int, /) -> memoryview: ...
    @property
    def codes(self) -> Column: ...
    @property
    def dictionary(self) -> tuple[str, ...]: ...
    @property
    def valid(self) -> memoryview | None: ...
    def to_numpy(self, numpy: Any = None, /) -> Any: ...

@final
class Table(Sequence[_Row], Generic[_Row]):
    __hash__: None  # type: ignore[assignment]
    def __len__(self) -> int: ...
    @overload
    def __getitem__(self, key: SupportsIndex, /) -> _Row: ...
    @overload
    def __getitem__(self, key: slice, /) -> Table[_Row]: ...
    @overload
    def __getitem__(self, key: str, /) -> Column: ...
    def __iter__(self) -> Iterator[_Row]: ...
    def index(self, value: object, start: int = 0, stop: int = ..., /) -> int: ...
    def count(self, value: object, /) -> int: ...
    def __copy__(self) -> Table[_Row]: ...
    def __deepcopy__(self, memo: object, /) -> Table[_Row]: ...
    def __eq__(self, value: object, /) -> bool: ...
    @property
    def columns(self) -> tuple[str, ...]: ...
    @property
    def schema(self) -> dict[str, str]: ...
    @property
    def replaced_text(self) -> int: ...
    def take(self, indices: Iterable[int], /) -> Table[_Row]: ...
    def to_dict(self) -> dict[str, list[Any]]: ...
    def to_numpy(self) -> dict[str, Any]: ...
    def __arrow_c_schema__(self) -> object: ...
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

@final
class Process(structseq[Any], tuple[int, int, str, int, int]):
    __match_args__: Final = ("pid", "ppid", "name", "num_threads", "base_priority")
    pid: Final[int]
    ppid: Final[int]
    name: Final[str]
    num_threads: Final[int]
    base_priority: Final[int]

@final
class Thread(structseq[Any], tuple[int, int, int]):
    __match_args__: Final = ("tid", "owner_pid", "base_priority")
    tid: Final[int]
    owner_pid: Final[int]
    base_priority: Final[int]

@final
class Module(structseq[Any], tuple[int, int, int, str, str, bool, str | None]):
    __match_args__: Final = ("pid", "base", "size", "name", "path", "path_truncated", "machine")
    pid: Final[int]
    base: Final[int]
    size: Final[int]
    name: Final[str]
    path: Final[str]
    path_truncated: Final[bool]
    machine: Final[str | None]

@final
class IdentifiedProcess(
    structseq[Any], tuple[int, int, str, int, int, int | None, str | None, str | None]
):
    __match_args__: Final = (
        "pid",
        "ppid",
        "name",
        "num_threads",
        "base_priority",
        "create_time",
        "path",
        "machine",
    )
    pid: Final[int]
    ppid: Final[int]
    name: Final[str]
    num_threads: Final[int]
    base_priority: Final[int]
    create_time: Final[int | None]
    path: Final[str | None]
    machine: Final[str | None]

@final
class Heap(structseq[Any], tuple[int, int, int, bool]):
    __match_args__: Final = (
        "pid",
        "heap_id",
        "flags",
        "is_default",
    )
    pid: Final[int]
    heap_id: Final[int]
    flags: Final[int]
    is_default: Final[bool]

@final
class HeapBlock(structseq[Any], tuple[int, int, int, str, int, int, bool]):
    __match_args__: Final = (
        "heap_id",
        "address",
        "size",
        "kind",
        "flags",
        "lock_count",
        "approximate",
    )
    heap_id: Final[int]
    address: Final[int]
    size: Final[int]
    kind: Final[str]
    flags: Final[int]
    lock_count: Final[int]
    approximate: Final[bool]

@final
class HeapSummary(structseq[Any], tuple[int, int, bool, int, int, int, int, int, int, int, int]):
    __match_args__: Final = (
        "pid",
        "heap_id",
        "is_default",
        "committed",
        "uncommitted",
        "busy",
        "free",
        "largest_free",
        "busy_blocks",
        "free_blocks",
        "regions",
    )
    pid: Final[int]
    heap_id: Final[int]
    is_default: Final[bool]
    committed: Final[int]
    uncommitted: Final[int]
    busy: Final[int]
    free: Final[int]
    largest_free: Final[int]
    busy_blocks: Final[int]
    free_blocks: Final[int]
    regions: Final[int]

@final
class HeapSizes(structseq[Any], tuple[int, int, int, int, int]):
    __match_args__: Final = (
        "pid",
        "heap_id",
        "size_class",
        "blocks",
        "bytes",
    )
    pid: Final[int]
    heap_id: Final[int]
    size_class: Final[int]
    blocks: Final[int]
    bytes: Final[int]

@final
class Error(structseq[Any], tuple[int, str, int, str, int]):
    __match_args__: Final = (
        "pid",
        "function",
        "winerror",
        "reason",
        "attempts",
    )
    pid: Final[int]
    function: Final[str]
    winerror: Final[int]
    reason: Final[str]
    attempts: Final[int]

@final
class TreeNode(structseq[Any], tuple[int, int, int | None, str, int, str, int, int | None, int]):
    __match_args__: Final = (
        "pid",
        "ppid",
        "parent",
        "name",
        "depth",
        "link",
        "children",
        "cycle",
        "row",
    )
    pid: Final[int]
    ppid: Final[int]
    parent: Final[int | None]
    name: Final[str]
    depth: Final[int]
    link: Final[str]
    children: Final[int]
    cycle: Final[int | None]
    row: Final[int]

@final
class PROCESSENTRY32W(structseq[Any], tuple[int, int, int, int, int, int, int, int, int, str]):
    __match_args__: Final = (
        "dwSize",
        "cntUsage",
        "th32ProcessID",
        "th32DefaultHeapID",
        "th32ModuleID",
        "cntThreads",
        "th32ParentProcessID",
        "pcPriClassBase",
        "dwFlags",
        "szExeFile",
    )
    dwSize: Final[int]
    cntUsage: Final[int]
    th32ProcessID: Final[int]
    th32DefaultHeapID: Final[int]
    th32ModuleID: Final[int]
    cntThreads: Final[int]
    th32ParentProcessID: Final[int]
    pcPriClassBase: Final[int]
    dwFlags: Final[int]
    szExeFile: Final[str]

@final
class THREADENTRY32(structseq[Any], tuple[int, int, int, int, int, int, int]):
    __match_args__: Final = (
        "dwSize",
        "cntUsage",
        "th32ThreadID",
        "th32OwnerProcessID",
        "tpBasePri",
        "tpDeltaPri",
        "dwFlags",
    )
    dwSize: Final[int]
    cntUsage: Final[int]
    th32ThreadID: Final[int]
    th32OwnerProcessID: Final[int]
    tpBasePri: Final[int]
    tpDeltaPri: Final[int]
    dwFlags: Final[int]

@final
class MODULEENTRY32W(structseq[Any], tuple[int, int, int, int, int, int, int, int, str, str]):
    __match_args__: Final = (
        "dwSize",
        "th32ModuleID",
        "th32ProcessID",
        "GlblcntUsage",
        "ProccntUsage",
        "modBaseAddr",
        "modBaseSize",
        "hModule",
        "szModule",
        "szExePath",
    )
    dwSize: Final[int]
    th32ModuleID: Final[int]
    th32ProcessID: Final[int]
    GlblcntUsage: Final[int]
    ProccntUsage: Final[int]
    modBaseAddr: Final[int]
    modBaseSize: Final[int]
    hModule: Final[int]
    szModule: Final[str]
    szExePath: Final[str]

@final
class HEAPLIST32(structseq[Any], tuple[int, int, int, int]):
    __match_args__: Final = ("dwSize", "th32ProcessID", "th32HeapID", "dwFlags")
    dwSize: Final[int]
    th32ProcessID: Final[int]
    th32HeapID: Final[int]
    dwFlags: Final[int]

@final
class SnapshotHandle:
    def __enter__(self) -> SnapshotHandle: ...
    def __exit__(self, *args: object) -> None: ...
    @property
    def handle(self) -> int: ...
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...
    def Process32First(self) -> PROCESSENTRY32W | None: ...
    def Process32Next(self) -> PROCESSENTRY32W | None: ...
    def Thread32First(self) -> THREADENTRY32 | None: ...
    def Thread32Next(self) -> THREADENTRY32 | None: ...
    def Module32First(self) -> MODULEENTRY32W | None: ...
    def Module32Next(self) -> MODULEENTRY32W | None: ...
    def Heap32ListFirst(self) -> HEAPLIST32 | None: ...
    def Heap32ListNext(self) -> HEAPLIST32 | None: ...

def CreateToolhelp32Snapshot(flags: int, pid: int = 0, /) -> SnapshotHandle: ...
def system_snapshot(
    processes: bool, threads: bool, pid: int | None = None, /
) -> tuple[Table[Process], Table[Thread]]: ...  # None: was not asked for
def modules(pid: int | None = None, /) -> Table[Module]: ...
def is_wine() -> bool: ...

@final
class TraceSession(
    structseq[Any],
    tuple[str, bool, int | None, bool, str | None, int, int, int, int, int, int, int, int],
):
    __match_args__: Final = (
        "name",
        "is_heap",
        "owner_pid",
        "stale",
        "log_file",
        "mode",
        "buffer_kb",
        "buffers",
        "free_buffers",
        "buffers_written",
        "events_lost",
        "log_buffers_lost",
        "live_buffers_lost",
    )
    @property
    def name(self) -> str: ...
    @property
    def is_heap(self) -> bool: ...
    @property
    def owner_pid(self) -> int | None: ...
    @property
    def stale(self) -> bool: ...
    @property
    def log_file(self) -> str | None: ...
    @property
    def mode(self) -> int: ...
    @property
    def buffer_kb(self) -> int: ...
    @property
    def buffers(self) -> int: ...
    @property
    def free_buffers(self) -> int: ...
    @property
    def buffers_written(self) -> int: ...
    @property
    def events_lost(self) -> int: ...
    @property
    def log_buffers_lost(self) -> int: ...
    @property
    def live_buffers_lost(self) -> int: ...

_Figures: TypeAlias = tuple[int, int, int, int, int, int, int, int, int]

@final
class Recording:
    @property
    def state(self) -> Literal["new", "running", "stopped"]: ...
    @property
    def child_pid(self) -> int | None: ...
    def start(self, launch: tuple[str, str | None, str | None] | None = None, /) -> None: ...
    def update(self, pids: Iterable[int], hooks: Iterable[int], /) -> None: ...
    def flush(self) -> None: ...
    def stop(self) -> None: ...
    def query(self) -> tuple[_Figures, _Figures | None]: ...
    def targets_gone(self) -> bool: ...
    def live_next(self, milliseconds: int, /) -> tuple[Table[Any] | None, bool]: ...
    def live_counts(self) -> tuple[int, int, int, int]: ...
    def live_analyze(self, rule_ns: int, buckets: int, /) -> None: ...
    def live_result(self) -> tuple[HeapAnalysis, dict[str, Any], Table[Any], Table[Any]]: ...
    def live_note(self, notes: Sequence[_Note], /) -> None: ...
    def live_wait_end(self, milliseconds: int, /) -> bool: ...
    def live_close(self) -> None: ...
    def child_wait(self, milliseconds: int, /) -> int | None: ...
    def child_terminate(self, exit_code: int, /) -> None: ...

@final
class ChildProcess:
    @property
    def pid(self) -> int: ...
    def resume(self) -> None: ...
    def wait(self, milliseconds: int, /) -> int | None: ...
    def terminate(self, exit_code: int, /) -> None: ...

def child_process(
    command_line: str, environment: str | None = None, directory: str | None = None, /
) -> ChildProcess: ...
def recording(
    heap: dict[str, Any], companion: dict[str, Any] | None = None, live_batches: int = 0, /
) -> Recording: ...
def session_properties(
    pointer_size: int,
    /,
    name: str,
    *,
    file: str | None = None,
    guid: bytes | None = None,
    mode: int = 0,
    buffer_kb: int = 0,
    min_buffers: int = 0,
    max_buffers: int = 0,
    max_file: int = 0,
    flush_seconds: int = 0,
    clock: int = 1,
    enable_flags: int = 0,
    pids: Iterable[int] = (),
    hooks: Iterable[int] = (),
    stack_cache: tuple[int, int] | None = None,
    extension: bool = True,
    library: str | None = None,
) -> bytes: ...
def trace_sessions(all: bool = False, /) -> Table[TraceSession]: ...
def stop_trace_session(name: str, /) -> None: ...
def registry_number(key: str, name: str, /) -> int | None: ...
def registry_text(key: str, name: str, /) -> str | None: ...
def registry_names(key: str, /) -> list[str]: ...
def registry_set(key: str, name: str, value: int | str, /) -> None: ...
def registry_delete(key: str, name: str, /) -> None: ...
def raw_clock(clock: int, /) -> tuple[int, int]: ...
def process_facts(pid: int, /) -> tuple[int, int | None, int, int, int | None]: ...
def current_pid() -> int: ...

@final
class TraceSource: ...

_Note: TypeAlias = tuple[int, int | bytes, int, int, bytes]

@final
class TracePass:
    def __iter__(self) -> TracePass: ...
    def __next__(self) -> Table[Any]: ...
    def run(self, progress: Callable[[int], object] | None = None, /) -> None: ...
    def bytes_read(self) -> int: ...
    def note(self, notes: Sequence[_Note], /) -> None: ...
    def facts(self) -> dict[str, Any]: ...
    def find_module(self, pid: int, time_ns: int, address: int, /) -> int | None: ...
    def declared_ns(self) -> int: ...
    def files(self) -> list[dict[str, Any]]: ...
    def last_ns(self) -> int: ...
    def truncated(self) -> bool: ...
    def processes(self) -> Table[Any]: ...
    def threads(self) -> Table[Any]: ...
    def modules(self) -> Table[Any]: ...
    def stacks(self) -> Table[Any]: ...
    def frames(self) -> Table[Any]: ...

@final
class TraceEvents:
    def __iter__(self) -> TraceEvents: ...
    def __next__(self) -> Table[Any]: ...
    def bytes_read(self) -> int: ...

def trace_source_memory(buffer: Buffer, /) -> TraceSource: ...
def trace_source_file(handle: int, owner: object, /) -> TraceSource: ...
def trace_source_reader(read: Callable[[int, int], bytes], size: int, /) -> TraceSource: ...
def trace_source_size(source: TraceSource, /) -> int: ...

_Sources: TypeAlias = TraceSource | tuple[TraceSource, ...]

def trace_pass(source: _Sources, threads: int, /) -> TracePass: ...
def trace_events(source: _Sources, threads: int, filter: int, /) -> TraceEvents: ...
def trace_kinds() -> tuple[str, ...]: ...
def scan(
    modules: bool,
    heaps: bool,
    heap_sizes: bool,
    identity: bool,
    pids: Sequence[int] | None,
    allow_injection: bool,
    timeout_ns: int,
    workers: int,
    raise_first: bool,
    /,
) -> tuple[
    Table[Any],
    Table[Thread],
    Table[Module] | None,
    Table[Heap] | None,
    Table[HeapSizes] | None,
    Table[Error],
]: ...
def tree(processes: Table[Any], /) -> Table[TreeNode]: ...
def heaps(
    pid: int | None, allow_injection: bool, timeout_ns: int, toolhelp: bool, /
) -> Table[Heap]: ...
def heap_blocks(
    heap_id: int, pid: int | None, allow_injection: bool, timeout_ns: int, toolhelp: bool, /
) -> Table[HeapBlock]: ...
def heap_totals(
    pid: int | None, allow_injection: bool, timeout_ns: int, sizes: bool, /
) -> Table[HeapSummary] | Table[HeapSizes]: ...

@final
class HeapAnalysis:
    def facts(self) -> dict[str, Any]: ...
    def stacks(self) -> Table[Any]: ...
    def frames(self) -> Table[Any]: ...
    def heaps(self) -> Table[Any]: ...
    def threads(self) -> Table[Any]: ...
    def sizes(self) -> Table[Any]: ...
    def lifetimes(self) -> Table[Any]: ...
    def timeline(self) -> Table[Any]: ...
    def processes(self, names: list[str | None], /) -> Table[Any]: ...
    def lives(self) -> list[tuple[int, int]]: ...
    def classes(
        self, kind: int, classes: Buffer, names: list[str | None], own: bool, /
    ) -> Table[Any]: ...
    def site_bits(self, classes: Buffer, /) -> bytes: ...
    def site_frames(self, site: int, /) -> list[int]: ...

def trace_analysis(
    run: TracePass, rule_ns: int, buckets: int, duration_ns: int, filter: Any, progress: Any, /
) -> HeapAnalysis: ...
def trace_decide(run: TracePass, duration: int, filter: Any, progress: Any, /) -> bytes: ...
def trace_blocks(run: TracePass, duration: int, filter: Any, /) -> Iterator[Table[Any]]: ...
def diff(
    before: Table[_Row], after: Table[_Row], keys: tuple[str, ...] | None, /
) -> tuple[Table[_Row], Table[_Row], Table[_Row], Table[_Row], int]: ...
def build_table(
    kind: str,
    rows: int,
    columns: tuple[tuple[Buffer, Buffer | None, tuple[str, ...] | Buffer | None], ...],
    /,
) -> Table[Any]: ...

@final
class MemoryHandle:
    @property
    def closed(self) -> bool: ...
    @property
    def pid(self) -> int: ...
    def read_into(self, address: int, buffer: Buffer, /) -> int: ...
    def close(self) -> None: ...

@final
class HEAPENTRY32(structseq[Any], tuple[int, int, int, int, int, int, int, int, int]):
    __match_args__: Final = (
        "dwSize",
        "hHandle",
        "dwAddress",
        "dwBlockSize",
        "dwFlags",
        "dwLockCount",
        "dwResvd",
        "th32ProcessID",
        "th32HeapID",
    )
    dwSize: Final[int]
    hHandle: Final[int]
    dwAddress: Final[int]
    dwBlockSize: Final[int]
    dwFlags: Final[int]
    dwLockCount: Final[int]
    dwResvd: Final[int]
    th32ProcessID: Final[int]
    th32HeapID: Final[int]

def memory_open(pid: int | None = None, /) -> MemoryHandle: ...
def debug_privilege(enable: bool, /) -> bool | None: ...
def Heap32First(pid: int, heap_id: int, /) -> HEAPENTRY32 | None: ...
def Heap32Next(entry: HEAPENTRY32, /) -> HEAPENTRY32 | None: ...
def Toolhelp32ReadProcessMemory(pid: int, address: int, size: int, /) -> bytes: ...
