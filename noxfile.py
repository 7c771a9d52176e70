"""Everything there is to run. Two commands are enough:

    python3 noxfile.py -s demo      real snapshots of this machine (on Linux: under Wine)
    python3 noxfile.py -s tests     every test ground this machine can have

`-s tests -- --require=fake,wine` fails when a named ground is missing; other words after `--`
go to pytest. Each ground is a session too: `python3 noxfile.py -s wine -- -k threads`.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent
sys.path.insert(0, str(ROOT / "tests"))

from grounds import bootstrap, packages, report
from grounds.command import Failed, Missing, run
from grounds.report import Ground

if sys.platform == "linux":
    from wine import bed

if __name__ == "__main__":
    sys.exit(bootstrap.start_nox(sys.argv[1:]))

import nox

nox.needs_version = ">=2025.2.9"
nox.options.sessions = ["tests"]
nox.options.reuse_venv = "yes"

GROUNDS: dict[str, Ground] = {}
LINUX = sys.platform == "linux"
WINE_RUN = "tests/wine/run.py"
NO_BED = 125
DEMO_LINES = 7

# Tests that never touch the package, and long comparisons of portable C with a reference, which
# come out the same wherever they run: once is enough.
ONLY_NATIVE = (
    "test_decompress.py",
    "test_etl_clock.py",
    "test_etl_memory.py",
    "test_etl_stream.py",
    "test_etlmaker.py",
    "test_etlref.py",
    "test_fuzz_replay.py",
    "test_grounds.py",
    "test_ledger_feeder.py",
    "test_ledger_random.py",
    "test_ledger_trace.py",
    "test_report_page.py",
    "test_shipped.py",
    "test_trace_plain.py",
    "test_trace_real.py",
    "test_trace_synthetic.py",
    "test_workflows.py",
)

# What the native ground shows about them is not different over the fake system.
NOT_OVER_THE_FAKE = (
    "test_examples.py",
    "test_report_command.py",
    "test_report_files.py",
    "test_trace_cli.py",
)

# The same Python and C as everywhere. What Windows changes about it, files, pipes, ends of lines,
# test_trace_cli, test_report_files and test_examples show there.
NOT_UNDER_WINE = ("test_report_command.py",)

# Programs of their own, which bring their own sanitizers.
NOT_SANITIZED = ("test_threads.py",)


class Place:
    """The environment the grounds run in, and what the words after `--` ask for."""

    def __init__(self, session: nox.Session) -> None:
        self.session = session
        self.required: list[str] = []
        self.pytest_words: list[str] = []
        for word in session.posargs:
            if word.startswith("--require="):
                self.required += [name for name in word[10:].split(",") if name]
            else:
                self.pytest_words.append(word)
        self._installed = False
        self._fakes: dict[str, str] = {}

    @property
    def python(self) -> str:
        name = "python.exe" if os.name == "nt" else "python"
        return str(Path(self.session.bin) / name)

    def groups(self, *names: str) -> None:
        project = nox.project.load_toml("pyproject.toml")
        self.session.install(*nox.project.dependency_groups(project, *names), log=False)

    def package(self) -> None:
        """Build the package from the work tree and install it, once a run."""
        if self._installed:
            return
        compiler()
        project = nox.project.load_toml("pyproject.toml")
        wanted = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
        self.session.install(*wanted, log=False)
        for stale in Path("build").glob("lib*"):
            shutil.rmtree(stale)
        install = ["pip", "install", "--quiet", "--no-build-isolation", "--no-deps"]
        run([self.python, "-m", *install, "--force-reinstall", "."], capture=True)
        self._installed = True

    def fake(self, *words: str) -> str:
        """A folder with the package over the fake system: the last line its builder prints."""
        if not Path("tests/build_fake.py").exists():
            raise Missing("tests/build_fake.py is not there")
        compiler()
        if words not in self._fakes:
            command = [self.python, "tests/build_fake.py", *words]
            self._fakes[words] = run(command, capture=True).strip().splitlines()[-1]
        return self._fakes[words]

    def pytest(
        self,
        name: str,
        *before: str,
        env: dict[str, str] | None = None,
        parallel: bool = False,
    ) -> None:
        """Run the suite on a ground, requiring of it what was asked for and it can meet."""
        met = [word for word in self.required if word in GROUNDS[name].meets]
        words = [f"--require={','.join(met)}"] if met else []
        if parallel:  # the tests of one file stay together: they share what they build
            words += ["-n", "2", "--dist", "loadfile"]
        if name != "native":
            words += [f"--ignore=tests/{file}" for file in ONLY_NATIVE]
        if name in ("fake", "sanitizers"):
            words += [f"--ignore=tests/{file}" for file in NOT_OVER_THE_FAKE]
        if name == "wine":
            words += [f"--ignore=tests/{file}" for file in NOT_UNDER_WINE]
        if name == "sanitizers":
            words += [f"--ignore=tests/{file}" for file in NOT_SANITIZED]
        launcher = before or (self.python,)
        limit = max(900, 3 * GROUNDS[name].budget)
        command = [*launcher, "-m", "pytest", "-q", *words, *self.pytest_words]
        run(command, env=env, limit=limit)


def audit(place: Place, extension: str) -> None:
    """No call outside the limited API that the extension was built for."""
    if "abi3" in extension or extension.endswith("_core.pyd"):
        tool = Path(place.session.bin) / "abi3audit"
        run([str(tool), "--strict", "--assume-minimum-abi3", "3.11", extension])


def compiler() -> None:
    """What it takes to build an extension; on with what is there if it cannot be installed."""
    if LINUX:
        missing = packages.ensure(packages.COMPILER, packages.PYTHON_HEADERS)
        if missing:
            raise Missing(packages.advice(missing))


def build_advice() -> str:
    if os.name == "nt":
        return "Install the Visual Studio Build Tools with the C++ workload."
    return "Install the command line tools: xcode-select --install."


def ground(
    budget: int, *, meets: str = "", groups: tuple[str, ...] = ("test",)
) -> Callable[[Callable[[Place], None]], Callable[[nox.Session], None]]:
    """A ground: a function that returns, or raises Failed or Missing. Also a session."""

    def register(body: Callable[[Place], None]) -> Callable[[nox.Session], None]:
        name = body.__name__
        GROUNDS[name] = Ground(name, budget, body, frozenset(meets.split()))

        def alone(session: nox.Session) -> None:
            run_grounds(session, [name], groups)

        alone.__doc__ = body.__doc__
        return nox.session(name=name, tags=["ground"], default=False)(alone)

    return register


def run_grounds(session: nox.Session, names: list[str], groups: tuple[str, ...]) -> None:
    # The default end would leave a ground's processes running.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    place = Place(session)
    place.groups(*groups)
    results = []
    for name in names:
        chosen = GROUNDS[name]
        results.append(report.run_one(chosen, place.required, lambda: chosen.body(place)))  # noqa: B023
    unmet = report.unmet(place.required, GROUNDS.values(), results) if len(names) > 1 else []
    print(report.summary(results, unmet), flush=True)
    if unmet or any(result.state == "FAILED" for result in results):
        session.error("not everything passed")


@ground(20, groups=("lint",))
def lint(place: Place) -> None:
    """ruff: rules and layout of all Python."""
    trouble = []
    for words in (["check", "."], ["format", "--check", "."]):
        try:
            run([place.python, "-m", "ruff", *words])
        except Failed as failure:
            trouble.append(str(failure))
    if trouble:
        raise Failed("; ".join(trouble))


@ground(60, groups=("test", "typing"))
def typing(place: Place) -> None:
    """mypy (strict) over src, and the stub of `_core` against the built extension."""
    place.package()
    run([place.python, "-m", "mypy"])
    if not Path("src/toolhelp/_core.pyi").exists():
        raise Missing("src/toolhelp/_core.pyi is not there")
    allowed = ["--allowlist", "tests/stubtest.txt", "--ignore-unused-allowlist"]
    run([place.python, "-m", "mypy.stubtest", "toolhelp._core", *allowed])


@ground(190, meets="shared numpy pyarrow windows")
def native(place: Place) -> None:
    """The suite over the package as it is built and installed here."""
    place.package()
    where = "import toolhelp._core; print(toolhelp._core.__file__)"
    audit(place, run([place.python, "-c", where], capture=True).strip())
    place.pytest("native", parallel=True)


@ground(90, meets="fake shared numpy pyarrow")
def fake(place: Place) -> None:
    """The suite over the fake system, on which every call can be made to fail."""
    place.package()
    place.pytest("fake", env={"PYTHONPATH": place.fake()}, parallel=True)


@ground(160, meets="fake shared")
def sanitizers(place: Place) -> None:
    """The suite over the fake system, built with address and undefined-behaviour sanitizers."""
    if not LINUX:
        raise Missing("run on Linux only")
    place.package()
    folder = place.fake("--sanitize")
    library = run(["gcc", "-print-file-name=libasan.so"], capture=True).strip()
    if not os.path.isabs(library):
        raise Missing("gcc has no address sanitizer here")
    place.pytest(
        "sanitizers",
        parallel=True,
        env={
            "PYTHONPATH": folder,
            "LD_PRELOAD": os.path.realpath(library),
            "PYTHONMALLOC": "malloc",
            # The interpreter itself frees little at its end; the fake counts what we leave.
            "ASAN_OPTIONS": "detect_leaks=0:allocator_may_return_null=1",
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        },
    )


@ground(60)
def memcheck(place: Place) -> None:
    """A short run over the fake system under valgrind."""
    if not LINUX:
        raise Missing("run on Linux only")
    if not Path("tests/memcheck.py").exists():
        raise Missing("tests/memcheck.py is not there")
    missing = packages.ensure(packages.VALGRIND)
    if missing:
        raise Missing(packages.advice(missing))
    place.package()
    valgrind = ["valgrind", "-q", "--error-exitcode=99", "--num-callers=30"]
    env = {
        "PYTHONPATH": place.fake(),
        "PYTHONMALLOC": "malloc",
        # Reading .pyc files, CPython 3.11 looks at a digit that it has not set.
        "PYTHONPYCACHEPREFIX": "/nonexistent",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    run([*valgrind, place.python, "-S", "tests/memcheck.py"], env=env, limit=600)


def provide_wine(place: Place) -> list[str]:
    """How to start the bed's Python, once it is there and starts."""
    if not LINUX:
        raise Missing("the Wine ground needs Linux on x86-64")
    project = nox.project.load_toml("pyproject.toml")
    place.session.install(*project["build-system"]["requires"], log=False)
    missing = packages.ensure(packages.PYTHON_HEADERS, packages.WINE, packages.MINGW)
    if missing:
        raise Missing(packages.advice(missing))
    if not bed.is_there():
        print("Making a Windows Python in the cache, once: about half a minute ...", flush=True)
    start = [place.python, WINE_RUN]
    said = run([*start, "-c", "print('ready')"], capture=True, ok=(0, NO_BED)).strip()
    if not said.endswith("ready"):
        raise Missing(said.splitlines()[-1] if said else "the Windows Python does not start")
    return start


@ground(200, meets="wine shared")
def wine(place: Place) -> None:
    """The suite over the shipped Windows extension, in a Windows Python under Wine."""
    start = provide_wine(place)
    audit(place, "tests/_build/wine/toolhelp/_core.pyd")
    place.pytest("wine", *start, parallel=True)


@ground(100)
def fuzz(place: Place) -> None:
    """Every fuzz target for its share of a minute."""
    if not Path("tests/fuzz/run.py").exists():
        raise Missing("there is no fuzz target")
    missing = packages.ensure(packages.CLANG) or packages.ensure(packages.CLANG_RUNTIME)
    if missing:
        raise Missing(packages.advice(missing))
    run([place.python, "tests/fuzz/run.py", "--seconds=60"], limit=600)


@nox.session
def tests(session: nox.Session) -> None:
    """Every ground this machine can have, one after the other, and a table of them."""
    run_grounds(session, list(GROUNDS), ("lint", "test", "typing"))


@nox.session(default=False)
def bench(session: nox.Session) -> None:
    """Every benchmark, one after the other: minutes, on a machine that does nothing else."""
    place = Place(session)
    place.groups("test", "bench")
    place.package()
    words = ["-m", "pytest", "-q", "-p", "no:cacheprovider", *session.posargs]
    folder = run([place.python, "benchmarks/build.py"], capture=True).strip().splitlines()[-1]
    fake = {"PYTHONPATH": folder}
    run([place.python, *words, "benchmarks/bench_snapshot.py"], env=fake, limit=1800)
    run([place.python, "benchmarks/bench_scan.py"], env=fake, limit=1800)
    for name in ("trace", "ledger", "report"):
        run([place.python, f"benchmarks/bench_{name}.py"], limit=1800)
    try:
        start = provide_wine(place)
    except Missing as reason:
        print(f"Not under Wine: {reason}")
        return
    run([*start, *words, "benchmarks/bench_peers.py"], limit=1800)
    run([place.python, "benchmarks/bench_heap.py"], limit=1800)


DEMO_COMMANDS = (
    ["ps"],
    ["threads"],
    ["modules"],
    ["tree"],
    ["who-uses", "kernel32.dll"],
    ["heaps", "--summary"],
)


@nox.session(default=False)
def demo(session: nox.Session) -> None:
    """Processes, threads and modules of this machine; on Linux, of the Wine it runs."""
    place = Place(session)
    try:
        start = provide_wine(place) if LINUX else [place.python]
        if not LINUX:
            session.install("numpy>=1.26", log=False)
            place.package()
        print(run([*start, "examples/snapshot_columns.py"], capture=True))
        for words in DEMO_COMMANDS:
            listing = run([*start, "-m", "toolhelp", *words], capture=True).splitlines()
            print(f"$ toolhelp {' '.join(words)}")
            print("\n".join(line.rstrip() for line in listing[:DEMO_LINES]))
            if len(listing) > DEMO_LINES:
                print(f"... and {len(listing) - DEMO_LINES} more")
            print(flush=True)
        print("$ toolhelp report examples/leaky.etl     (a synthetic trace)")
        print(run([*start, "-m", "toolhelp", "report", "examples/leaky.etl"], capture=True))
    except (Missing, Failed) as reason:
        session.error(f"{reason} {'' if LINUX else build_advice()}".strip())
