"""The kernel cache: what is stored comes back whole or not at all, and nothing that goes wrong stops a launch."""

import os
import socket
import stat
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from drawloom.errors import CacheError
from drawloom.runtime import cache
from drawloom.runtime.cache import DiskCache, cache_key


@pytest.fixture(autouse=True)
def unwarned(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "_warned", False)


@pytest.fixture
def store(tmp_path: Path) -> DiskCache:
    return DiskCache(str(tmp_path / "kernels"))


def files(store: DiskCache) -> list[str]:
    return sorted(os.listdir(store.folder)) if os.path.isdir(store.folder) else []


def test_what_is_put_comes_back(store: DiskCache) -> None:
    key = cache_key("ptx", b"target")
    assert store.get(key) is None
    store.put(key, b"machine code")
    assert store.get(key) == b"machine code"
    assert files(store) == [key + ".kernel"]
    store.put(key, b"")
    assert store.get(key) == b""


def test_any_key_is_a_safe_file_name(store: DiskCache) -> None:
    for key in ("../../escape", "a/b", "", "ключ", "x" * 5000):
        store.put(key, key.encode())
        assert store.get(key) == key.encode()
    assert len(files(store)) == 5
    assert all(len(name) == 64 + len(".kernel") for name in files(store))


def test_keys_tell_their_parts_apart() -> None:
    assert cache_key("ab", "c") != cache_key("a", "bc") != cache_key("abc")
    assert cache_key("a") == cache_key(b"a")


def test_the_folder_is_the_users_own(store: DiskCache) -> None:
    store.put("key", b"x")
    assert stat.S_IMODE(os.stat(store.folder).st_mode) == 0o700


def entry_path(store: DiskCache, key: str = "key") -> Path:
    return Path(store.path(key))


DAMAGE = {
    "empty": lambda data: b"",
    "cut in the header": lambda data: data[:20],
    "cut in the payload": lambda data: data[:-1],
    "longer": lambda data: data + b"\0",
    "another magic": lambda data: b"X" + data[1:],
    "a flipped bit of the payload": lambda data: data[:-3] + bytes([data[-3] ^ 1]) + data[-2:],
    "a flipped bit of the checksum": lambda data: data[:10] + bytes([data[10] ^ 1]) + data[11:],
    "a flipped bit of a length": lambda data: data[:44] + bytes([data[44] ^ 0x80]) + data[45:],
    "noise": lambda data: os.urandom(len(data)),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_entry_is_removed_and_made_again(
    store: DiskCache, damage: str, capsys: pytest.CaptureFixture[str]
) -> None:
    store.put("key", b"machine code")
    path = entry_path(store)
    path.write_bytes(DAMAGE[damage](path.read_bytes()))
    assert store.get("key") is None
    assert not path.exists()
    store.put("key", b"machine code")
    assert store.get("key") == b"machine code"
    assert capsys.readouterr().err == ""


def test_every_flipped_bit_is_noticed(store: DiskCache) -> None:
    store.put("key", b"abc")
    path = entry_path(store)
    whole = path.read_bytes()
    for bit in range(len(whole) * 8):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        path.write_bytes(damaged)
        assert store.get("key") is None, bit
    path.write_bytes(whole)
    assert store.get("key") == b"abc"


def test_an_entry_under_another_keys_name_is_damaged(store: DiskCache) -> None:
    store.put("key", b"machine code")
    entry_path(store).rename(entry_path(store, "other"))
    assert store.get("other") is None


def test_the_least_recently_used_go_first(tmp_path: Path) -> None:
    store = DiskCache(str(tmp_path), limit=10_000)
    now = time.time()
    for index in range(9):
        store.put(f"key{index}", bytes(900))
        os.utime(store.path(f"key{index}"), (now - 100 + index, now - 100 + index))
    assert store.get("key0") is not None  # used: now the youngest
    store.put("key9", bytes(900))
    store.put("key10", bytes(900))
    assert store.usage().size <= 10_000
    assert store.get("key0") is not None
    assert store.get("key10") is not None
    assert store.get("key1") is None


def test_an_entry_larger_than_the_cache_is_not_stored(tmp_path: Path) -> None:
    store = DiskCache(str(tmp_path), limit=1000)
    store.put("small", b"x")
    store.put("large", bytes(1000))
    assert store.get("large") is None
    assert store.get("small") == b"x"


def test_old_temporary_files_are_swept(store: DiskCache) -> None:
    store.put("key", b"x")
    old, young = Path(store.folder, ".tmp-old"), Path(store.folder, ".tmp-young")
    for path in (old, young):
        path.write_bytes(b"half")
    os.utime(old, (0, 0))
    store.usage()
    assert not old.exists()
    assert young.exists()


def test_clear_removes_ours_and_nothing_else(store: DiskCache) -> None:
    store.put("a", b"x")
    store.put("b", b"y")
    Path(store.folder, ".tmp-dead").write_bytes(b"half")
    Path(store.folder, "notes.txt").write_text("mine")
    assert store.clear().entries == 2
    assert files(store) == ["notes.txt"]
    assert store.clear().entries == 0
    store.put("a", b"x")
    assert store.get("a") == b"x"


def test_clearing_a_folder_that_is_not_there(store: DiskCache) -> None:
    assert store.clear().entries == 0


def test_a_folder_that_cannot_be_made_warns_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    store = DiskCache(str(blocked / "kernels"))
    store.put("key", b"x")
    store.put("key", b"x")
    assert store.get("key") is None
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert said.startswith("drawloom: kernel cache: cannot write to ")
    assert "continuing without it" in said


def fails_with(number: int) -> object:
    def fail(*args: object, **kwargs: object) -> None:
        raise OSError(number, os.strerror(number))

    return fail


def test_a_read_only_file_system_serves_what_it_has(
    store: DiskCache, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import errno

    store.put("key", b"x")
    monkeypatch.setattr(cache.tempfile, "mkstemp", fails_with(errno.EROFS))
    monkeypatch.setattr(cache.os, "utime", fails_with(errno.EROFS))
    store.put("new", b"y")
    assert store.get("key") == b"x"
    assert store.get("new") is None
    assert "Read-only file system; continuing without it" in capsys.readouterr().err


@pytest.mark.parametrize("function", ["write", "replace"])
def test_a_full_disk_leaves_nothing_behind(
    store: DiskCache, function: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import errno

    store.put("before", b"x")
    with monkeypatch.context() as full:
        full.setattr(cache.os, function, fails_with(errno.ENOSPC))
        store.put("key", b"machine code")
    assert "No space left on device" in capsys.readouterr().err
    assert len(files(store)) == 1
    assert store.get("key") is None
    assert store.get("before") == b"x"
    store.put("key", b"machine code")
    assert store.get("key") == b"machine code"


def test_a_write_that_takes_only_a_part_goes_on(store: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    whole_write = os.write
    monkeypatch.setattr(cache.os, "write", lambda handle, data: whole_write(handle, data[:7]))
    store.put("key", b"machine code" * 10)
    assert store.get("key") == b"machine code" * 10


def test_ctrl_c_while_writing_leaves_nothing_behind(store: DiskCache, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(handle: int, data: bytes) -> int:
        raise KeyboardInterrupt

    with monkeypatch.context() as interrupted:
        interrupted.setattr(cache.os, "write", interrupt)
        with pytest.raises(KeyboardInterrupt):
            store.put("key", b"machine code")
    assert files(store) == []


def test_a_file_size_limit_of_the_system_is_survived(tmp_path: Path) -> None:
    """RLIMIT_FSIZE makes the kernel refuse the write as a full disk does, in a process of its own."""
    program = """
        import resource, sys
        from drawloom.runtime.cache import DiskCache
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
        store = DiskCache(sys.argv[1])
        store.put("large", bytes(100_000))
        store.put("small", b"x")
        print(store.get("large"), store.get("small"))
    """
    done = run_python(program, str(tmp_path))
    assert done.stdout == "None b'x'\n"
    assert "File too large; continuing without it" in done.stderr
    assert len(os.listdir(tmp_path)) == 1


def run_python(program: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return done


def test_processes_race_on_the_same_entries(tmp_path: Path) -> None:
    """Writers, readers and a damager of the same few keys: whatever is read is exactly what belongs there."""
    program = """
        import os, random, sys
        from drawloom.runtime.cache import DiskCache
        store = DiskCache(sys.argv[1], limit=60_000)
        random.seed(int(sys.argv[2]))
        read = 0
        for step in range(600):
            key = f"key{random.randrange(8)}"
            payload = key.encode() * 2500
            action = random.random()
            if action < 0.45:
                store.put(key, payload)
            elif action < 0.5:
                try:
                    with open(store.path(key), "r+b") as entry:
                        entry.seek(random.randrange(2000))
                        entry.write(b"damage")
                except FileNotFoundError:
                    pass
            else:
                found = store.get(key)
                assert found is None or found == payload, key
                read += found is not None
        print(read)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path)]
    racers = [
        subprocess.Popen([*command, str(seed)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for seed in range(4)
    ]
    for racer in racers:
        out, error = racer.communicate(timeout=60)
        assert racer.returncode == 0, error
        assert error == ""
        assert int(out) > 20
    left = DiskCache(str(tmp_path))
    assert all(name.endswith(".kernel") for name in files(left))
    assert left.usage().size <= 60_000 + 3 * 20_100  # each of three others may just have written one


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    for name in ("DRAWLOOM_CACHE", "DRAWLOOM_CACHE_DIR", "DRAWLOOM_CACHE_LIMIT", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    yield monkeypatch


def test_where_the_cache_lies(environment: pytest.MonkeyPatch) -> None:
    environment.setenv("HOME", "/home/weaver")
    assert cache.cache_folder() == "/home/weaver/.cache/drawloom/kernels"
    environment.setenv("XDG_CACHE_HOME", "relative")
    assert cache.cache_folder() == "/home/weaver/.cache/drawloom/kernels"
    environment.setenv("XDG_CACHE_HOME", "/var/cache")
    assert cache.cache_folder() == "/var/cache/drawloom/kernels"
    environment.setenv("DRAWLOOM_CACHE_DIR", "~/kernels")
    assert cache.cache_folder() == "/home/weaver/kernels"


def test_how_large_the_cache_grows(environment: pytest.MonkeyPatch) -> None:
    assert cache.cache_limit() == 1 << 30
    for text, size in (("5000", 5000), ("500M", 500 << 20), ("2g", 2 << 30), ("64 KiB", 64 << 10), ("0", 0)):
        environment.setenv("DRAWLOOM_CACHE_LIMIT", text)
        assert cache.cache_limit() == size
    for text in ("-1", "much", "1X", "1.5G"):
        environment.setenv("DRAWLOOM_CACHE_LIMIT", text)
        with pytest.raises(CacheError, match="expected a size"):
            cache.cache_limit()


def test_turning_the_cache_off(environment: pytest.MonkeyPatch, tmp_path: Path) -> None:
    environment.setenv("DRAWLOOM_CACHE_DIR", str(tmp_path))
    on = cache.kernel_store()
    assert on is not None
    assert on.folder == str(tmp_path)
    assert cache.kernel_store() is on
    environment.setenv("DRAWLOOM_CACHE", "off")
    assert cache.kernel_store() is None
    environment.setenv("DRAWLOOM_CACHE", "perhaps")
    with pytest.raises(CacheError, match="expected on or off"):
        cache.kernel_store()


def test_the_entry_of_another_user_is_not_run(
    store: DiskCache, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store.put("key", b"x")
    mine = os.stat(store.path("key"))
    theirs = os.stat_result((*mine[:4], 4242, *mine[5:10]))
    monkeypatch.setattr(cache.os, "fstat", lambda handle: theirs)
    assert store.get("key") is None
    assert "belongs to user 4242: not used" in capsys.readouterr().err


def test_a_fifo_in_the_place_of_an_entry_is_removed(store: DiskCache) -> None:
    """Opening it would wait for a writer that never comes."""
    store.put("key", b"machine code")
    path = store.path("key")
    os.unlink(path)
    os.mkfifo(path)
    assert store.get("key") is None
    assert not os.path.exists(path)
    store.put("key", b"machine code")
    assert store.get("key") == b"machine code"


def test_a_socket_and_a_folder_in_the_place_of_an_entry_are_not_read(
    store: DiskCache, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    os.makedirs(store.path("folder"))
    with socket.socket(socket.AF_UNIX) as there:
        monkeypatch.chdir(store.folder)  # the name of a socket has at most 107 bytes
        there.bind(os.path.basename(store.path("socket")))
        assert store.get("socket") is None
    assert store.get("folder") is None
    assert "continuing without it" in capsys.readouterr().err


@pytest.mark.parametrize("mode", [0o777, 0o1777, 0o770])
def test_a_folder_that_others_may_write_is_not_used(
    store: DiskCache, mode: int, capsys: pytest.CaptureFixture[str]
) -> None:
    store.put("key", b"machine code")
    os.chmod(store.folder, mode)
    open_to_all = DiskCache(store.folder)
    assert open_to_all.get("key") is None
    open_to_all.put("other", b"machine code")
    assert len(files(store)) == 1
    assert "other users may write to" in capsys.readouterr().err


def test_the_folder_of_another_user_is_not_used(
    store: DiskCache, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    store.put("key", b"machine code")
    if os.geteuid() == 0:
        os.chown(store.folder, 54321, 54321)
    else:
        monkeypatch.setattr(cache.os, "geteuid", lambda: 12345)
    assert DiskCache(store.folder).get("key") is None
    assert "belongs to user" in capsys.readouterr().err


def test_a_relative_cache_folder_of_a_removed_current_folder_is_a_cache_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    monkeypatch.setenv("DRAWLOOM_CACHE_DIR", "kernels")
    with pytest.raises(CacheError, match="DRAWLOOM_CACHE_DIR=kernels: the current folder was removed"):
        cache.cache_folder()
