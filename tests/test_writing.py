"""Files that appear whole or not at all: what is left behind when something fails."""

from __future__ import annotations

import errno
import os
import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import toolhelp
from toolhelp.writing import whole

posix_only = pytest.mark.skipif(os.name != "posix", reason="modes, links and pipes of POSIX")
as_root = pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root")
not_as_root = pytest.mark.skipif(
    hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write anything"
)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_new_file(tmp_path):
    target = tmp_path / "a"
    with whole(target) as stream:
        stream.write(b"half")
        assert not target.exists()
        assert len(names(tmp_path)) == 1
        stream.write(b" whole")
    assert target.read_bytes() == b"half whole"
    assert names(tmp_path) == ["a"]


def test_text_ends_its_lines_alike_everywhere(tmp_path):
    with whole(tmp_path / "a", "w", "utf-8") as stream:
        stream.write("é\n")
    assert (tmp_path / "a").read_bytes() == b"\xc3\xa9\n"


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("trouble", [KeyboardInterrupt, MemoryError, OSError(errno.ENOSPC, "full")])
def test_a_failure_leaves_nothing_new(tmp_path, existing, trouble):
    target = tmp_path / "a"
    if existing:
        target.write_bytes(b"old")
    kind = trouble if isinstance(trouble, type) else type(trouble)
    with pytest.raises(kind), whole(target) as stream:  # noqa: PT012
        stream.write(b"new")
        raise trouble
    assert names(tmp_path) == (["a"] if existing else [])
    assert not existing or target.read_bytes() == b"old"


def test_a_name_that_is_taken_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setattr("toolhelp.writing._random_name", lambda: "x")
    (tmp_path / ".toolhelp-x").write_bytes(b"another's")
    with pytest.raises(FileExistsError) as caught, whole(tmp_path / "a"):
        pass
    assert caught.value.filename == str(tmp_path / "a")
    assert names(tmp_path) == [".toolhelp-x"]


def test_what_cannot_be_is_said_of_the_path_itself(tmp_path):
    target = tmp_path / "missing" / "a"
    with pytest.raises(FileNotFoundError) as caught, whole(target):
        pass
    assert caught.value.filename == str(target)
    # Said before anything is written.
    with pytest.raises(OSError, match="irectory") as folder, whole(tmp_path):
        pytest.fail("the block ran")
    assert folder.value.errno == errno.EISDIR
    assert names(tmp_path) == []


@posix_only
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o644, 0o666, 0o755])
def test_the_mode_of_what_is_replaced_stays(tmp_path, mode):
    target = tmp_path / "a"
    target.write_bytes(b"old")
    target.chmod(mode)
    with whole(target) as stream:
        stream.write(b"new")
        (temporary,) = set(tmp_path.iterdir()) - {target}
        assert mode_of(temporary) == 0o600  # nobody else reads it early
    assert (mode_of(target), target.read_bytes()) == (mode, b"new")


@posix_only
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o000])
def test_a_new_file_gets_the_mode_of_any_new_file(tmp_path, mask):
    old = os.umask(mask)
    try:
        with whole(tmp_path / "a"):
            pass
    finally:
        os.umask(old)
    assert mode_of(tmp_path / "a") == 0o666 & ~mask


@as_root
def test_the_owner_of_what_is_replaced_stays(tmp_path):
    target = tmp_path / "a"
    target.write_bytes(b"old")
    os.chown(target, 1234, 2345)
    with whole(target):
        pass
    assert (target.stat().st_uid, target.stat().st_gid) == (1234, 2345)


@not_as_root
def test_a_file_that_may_not_be_written_is_not_replaced(tmp_path):
    target = tmp_path / "a"
    target.write_bytes(b"old")
    target.chmod(0o444)
    with pytest.raises(PermissionError) as caught, whole(target):
        pytest.fail("the block ran")
    assert caught.value.filename == str(target)
    assert target.read_bytes() == b"old"


@posix_only
def test_a_link_stays_a_link(tmp_path):
    file, link, dangling = tmp_path / "file", tmp_path / "link", tmp_path / "dangling"
    file.write_bytes(b"old")
    link.symlink_to(file)
    dangling.symlink_to(tmp_path / "later")
    for name in (link, dangling):
        with whole(name) as stream:
            stream.write(b"new")
        assert name.is_symlink()
        assert name.read_bytes() == b"new"
    assert names(tmp_path) == ["dangling", "file", "later", "link"]


@posix_only
def test_a_pipe_is_written_to(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
    try:
        with whole(pipe) as stream:
            stream.write(b"through")
        assert reader.communicate(timeout=20)[0] == b"through"
    finally:
        reader.kill()
        reader.wait()
    assert pipe.is_fifo()
    assert names(tmp_path) == ["pipe"]


@pytest.mark.skipif(not Path("/dev/full").is_char_device(), reason="no /dev/full here")
def test_a_device_that_is_full(tmp_path):
    with pytest.raises(OSError, match="space") as caught, whole("/dev/full") as stream:
        stream.write(b"x")
    assert caught.value.errno == errno.ENOSPC
    assert Path("/dev/full").is_char_device()


# ----- a disk that gets full, and Ctrl-C, for real -----


def run(script: str, *words: object) -> subprocess.Popen[bytes]:
    package = str(Path(toolhelp.__file__).parent.parent)
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(script), *map(str, words)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": package},
    )


@posix_only
@pytest.mark.parametrize("existing", [False, True])
def test_a_file_that_cannot_grow(tmp_path, existing):
    target = tmp_path / "a"
    if existing:
        target.write_bytes(b"old")
    script = """
        import resource, sys
        from toolhelp.writing import whole
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            with whole(sys.argv[1]) as stream:
                for _ in range(1000):
                    stream.write(bytes(1000))
        except OSError as error:
            print(error.errno)
    """
    out, err = run(script, target).communicate(timeout=60)
    assert int(out) == errno.EFBIG, err
    assert names(tmp_path) == (["a"] if existing else [])
    assert not existing or target.read_bytes() == b"old"


@as_root
@pytest.mark.skipif(sys.platform != "linux", reason="mounts a tmpfs")
def test_a_disk_that_is_full(tmp_path):
    small = tmp_path / "small"
    small.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=64k", "toolhelp-test", str(small)]
    if subprocess.run(mount, check=False, capture_output=True).returncode != 0:
        pytest.skip("nothing may be mounted here")
    try:
        (small / "a").write_bytes(b"old")
        with pytest.raises(OSError, match="space") as caught, whole(small / "a") as stream:
            stream.write(bytes(1 << 20))
        assert caught.value.errno == errno.ENOSPC
        assert names(small) == ["a"]
        assert (small / "a").read_bytes() == b"old"
    finally:
        subprocess.run(["umount", str(small)], check=True)


@posix_only
def test_an_interrupt_while_it_is_written(tmp_path):
    target = tmp_path / "a"
    target.write_bytes(b"old")
    script = """
        import sys, time
        from toolhelp.writing import whole
        with whole(sys.argv[1]) as stream:
            stream.write(b"new")
            stream.flush()
            print("begun", flush=True)
            time.sleep(60)
    """
    process = run(script, target)
    try:
        assert process.stdout.readline() == b"begun\n"
        assert len(names(tmp_path)) == 2
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert b"KeyboardInterrupt" in err
    assert names(tmp_path) == ["a"]
    assert target.read_bytes() == b"old"
