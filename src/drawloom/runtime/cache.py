"""The on-disk cache of compiled kernels: from a key to the bytes that were stored under it, or nothing.

One entry is one file, `<name>.kernel`, where the name is the SHA-256 of what the machine code depends on:

    magic (8 bytes) | SHA-256 of what follows (32) | key length (4) | payload length (8) | key | payload

Writers make a temporary file in the same folder and rename it, so that any number of processes may share the
folder; readers check the whole entry and remove a damaged one. A folder that cannot be used costs a warning
on stderr, once, and the time to compile again; it never fails a launch.
"""

import hashlib
import os
import re
import stat
import struct
import sys
import tempfile
import threading
import time
from typing import Final

from drawloom.build_info import VERSION
from drawloom.errors import CacheError

MAGIC: Final = b"DRAWLOOM"
DEFAULT_LIMIT: Final = 1 << 30  # bytes
SUFFIX: Final = ".kernel"
TEMPORARY: Final = ".tmp-"
STALE_SECONDS: Final = 3600.0  # a temporary file this old belongs to a process that died
_HEADER: Final = struct.Struct("<8s32sIQ")
_DIGEST_OFFSET: Final = 8 + 32
_HASHED: Final = re.compile(r"[0-9a-f]{64}")
_SIZE: Final = re.compile(r"([0-9]+)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)
_UNITS: Final = {"": 0, "K": 10, "M": 20, "G": 30, "T": 40}


class Usage:
    """What the cache holds: number of entries, their bytes, and the folder."""

    def __init__(self, folder: str, entries: int, size: int, limit: int) -> None:
        self.folder = folder
        self.entries = entries
        self.size = size
        self.limit = limit


class DiskCache:
    """Bytes by key in `folder`, at most `limit` bytes of them; the least recently used go first.

    It has the `get` and `put` of a KernelStore. Neither raises: see the head of this file.
    """

    def __init__(self, folder: str, limit: int = DEFAULT_LIMIT) -> None:
        self.folder = folder
        self.limit = limit
        self._lock = threading.Lock()
        self._is_trusted = False  # whether the folder is known to be one that only its user writes to
        self._known_size = -1  # what the folder held when this process last looked, plus what it wrote since

    def path(self, key: str) -> str:
        """The file of a key. A key that is a SHA-256 already names it; another is hashed with our version."""
        name = key if _HASHED.fullmatch(key) else cache_key(VERSION, key)
        return os.path.join(self.folder, name + SUFFIX)

    def get(self, key: str) -> bytes | None:
        """What was stored under `key`, or None. A damaged entry is removed."""
        path = self.path(key)
        if not self.is_trusted():
            return None
        try:
            data = read_entry(path)
        except FileNotFoundError:
            return None
        except OSError as failure:
            warn(f"cannot read {path}: {reason(failure)}")
            return None
        if data is None:
            return None
        payload = payload_of(data, key)
        if payload is None:
            self.remove_damaged(path)
            return None
        try:
            os.utime(path)  # the time of last use, which eviction goes by
        except OSError:
            pass  # a folder that may only be read still serves
        return payload

    def is_trusted(self) -> bool:
        """Return whether the folder is one that nobody but this user and root can put files into. Warns otherwise:
        whoever can, chooses the machine code that runs here. A folder that is not there yet is trusted."""
        if self._is_trusted:
            return True
        try:
            state = os.stat(self.folder)
        except OSError:
            return True  # reading and writing tell why
        if state.st_uid not in (os.geteuid(), 0):
            warn(f"{self.folder} belongs to user {state.st_uid}")
        elif state.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            warn(f"other users may write to {self.folder} (chmod go-w takes that away)")
        else:
            self._is_trusted = True
        return self._is_trusted

    def remove_damaged(self, path: str) -> None:
        try:
            os.unlink(path)
        except FileNotFoundError:
            pass  # another process saw the same
        except OSError as failure:
            warn(f"{path} is damaged and cannot be removed: {reason(failure)}")

    def put(self, key: str, data: bytes) -> None:
        """Stores `data` under `key`, replacing what was there, unless it is larger than the whole cache."""
        path = self.path(key)
        entry = make_entry(key, data)
        if len(entry) > self.limit:
            return
        temporary = ""
        try:
            os.makedirs(self.folder, mode=0o700, exist_ok=True)
            if not self.is_trusted():
                return
            handle, temporary = tempfile.mkstemp(prefix=TEMPORARY, dir=self.folder)
            try:
                write_all(handle, entry)
            finally:
                os.close(handle)
            os.replace(temporary, path)
        except OSError as failure:
            discard(temporary)
            warn(f"cannot write to {self.folder}: {reason(failure)}")
            return
        except BaseException:  # Ctrl-C
            discard(temporary)
            raise
        self.account(len(entry))

    def account(self, added: int) -> None:
        """Counts `added` bytes and evicts when that is too much. Looks at the folder only when it must."""
        with self._lock:
            if self._known_size < 0:
                self._known_size = sum(size for _, size, _ in self.scan())
            else:
                self._known_size += added
            if self._known_size > self.limit:
                self._known_size = self.evict()

    def evict(self) -> int:
        """Removes the least recently used entries until nine tenths of the limit are left; returns the size."""
        entries = sorted(self.scan())
        size = sum(entry[1] for entry in entries)
        goal = self.limit - self.limit // 10 if size > self.limit else self.limit
        for _, bytes_, path in entries:
            if size <= goal:
                break
            discard(path)
            size -= bytes_
        return size

    def scan(self) -> list[tuple[float, int, str]]:
        """(time of last use, size in bytes, path) of every entry. Removes temporary files of dead processes."""
        found: list[tuple[float, int, str]] = []
        try:
            with os.scandir(self.folder) as files:
                for file in files:
                    try:
                        state = file.stat(follow_symlinks=False)
                    except OSError:
                        continue  # another process evicted it
                    if file.name.endswith(SUFFIX):
                        found.append((state.st_mtime, state.st_size, file.path))
                    elif file.name.startswith(TEMPORARY) and time.time() - state.st_mtime > STALE_SECONDS:
                        discard(file.path)
        except FileNotFoundError:
            return []
        except OSError as failure:
            warn(f"cannot list {self.folder}: {reason(failure)}")
        return found

    def usage(self) -> Usage:
        """What the cache holds now."""
        entries = self.scan()
        return Usage(self.folder, len(entries), sum(entry[1] for entry in entries), self.limit)

    def clear(self) -> Usage:
        """Removes every entry and every temporary file; returns what was removed. Raises CacheError."""
        removed = Usage(self.folder, 0, 0, self.limit)
        try:
            files = list(os.scandir(self.folder))
        except FileNotFoundError:
            return removed
        except OSError as failure:
            raise CacheError(f"cannot list {self.folder}: {reason(failure)}") from failure
        for file in files:
            if not (file.name.endswith(SUFFIX) or file.name.startswith(TEMPORARY)):
                continue
            try:
                size = file.stat(follow_symlinks=False).st_size
                os.unlink(file.path)
            except FileNotFoundError:
                continue
            except OSError as failure:
                raise CacheError(f"cannot remove {file.path}: {reason(failure)}") from failure
            removed.entries += file.name.endswith(SUFFIX)
            removed.size += size
        self._known_size = -1
        return removed


def cache_key(*parts: str | bytes) -> str:
    """The SHA-256, in hexadecimal, of all parts and their lengths: PTX, target, options, version."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()


def make_entry(key: str, payload: bytes) -> bytes:
    name = key.encode()
    checked = struct.pack("<IQ", len(name), len(payload)) + name + payload
    return MAGIC + hashlib.sha256(checked).digest() + checked


def payload_of(entry: bytes, key: str) -> bytes | None:
    """The payload of a whole, undamaged entry of `key`; None otherwise."""
    if len(entry) < _HEADER.size:
        return None
    magic, digest, key_length, length = _HEADER.unpack_from(entry)
    body = memoryview(entry)[_HEADER.size :]
    if magic != MAGIC or len(body) != key_length + length or bytes(body[:key_length]) != key.encode():
        return None
    if hashlib.sha256(memoryview(entry)[_DIGEST_OFFSET:]).digest() != digest:
        return None
    return bytes(body[key_length:])


def read_entry(path: str) -> bytes | None:
    """The bytes of an entry; none for what is no regular file. None when it belongs to another user, whose machine code
    we do not run. Raises OSError."""
    # Opening a FIFO would wait for a writer, opening some devices has effects of its own.
    handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    with open(handle, "rb") as file:
        state = os.fstat(handle)
        if not stat.S_ISREG(state.st_mode):
            return b""
        if state.st_uid not in (os.geteuid(), 0):
            warn(f"{path} belongs to user {state.st_uid}: not used")
            return None
        return file.read()


def write_all(handle: int, data: bytes) -> None:
    """Writes all of `data`; a full disk may take a part of it first."""
    left = memoryview(data)
    while left:
        left = left[os.write(handle, left) :]


def discard(path: str) -> None:
    """Removes a file that may be gone already."""
    if path:
        try:
            os.unlink(path)
        except OSError:
            pass


def reason(failure: OSError) -> str:
    return failure.strerror or str(failure)


_warned = False


def warn(problem: str) -> None:
    """Says once per process, on stderr, that kernels are compiled again because of `problem`."""
    global _warned
    if not _warned:
        _warned = True
        print(f"drawloom: kernel cache: {problem}; continuing without it", file=sys.stderr)


def cache_folder() -> str:
    """DRAWLOOM_CACHE_DIR, else `drawloom/kernels` in the user's cache folder.

    Raises:
        CacheError: DRAWLOOM_CACHE_DIR is relative to a current folder that was removed.
    """
    chosen = os.environ.get("DRAWLOOM_CACHE_DIR")
    if chosen:
        try:
            return os.path.abspath(os.path.expanduser(chosen))
        except FileNotFoundError:
            said = f"DRAWLOOM_CACHE_DIR={chosen}: the current folder was removed, expected an absolute path"
            raise CacheError(said) from None
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):  # the XDG specification: relative paths are to be ignored
        base = os.path.expanduser("~/.cache")
    return os.path.join(base, "drawloom", "kernels")


def cache_limit() -> int:
    """DRAWLOOM_CACHE_LIMIT in bytes, with K, M, G or T for powers of 1024; 1 GiB when unset. Raises CacheError."""
    text = os.environ.get("DRAWLOOM_CACHE_LIMIT", "").strip()
    if not text:
        return DEFAULT_LIMIT
    match = _SIZE.fullmatch(text)
    if match is None:
        raise CacheError(f"DRAWLOOM_CACHE_LIMIT={text}: expected a size such as 500M or 2G")
    return int(match[1]) << _UNITS[match[2].upper()]


def cache_is_on() -> bool:
    """False when DRAWLOOM_CACHE is `off`. Raises CacheError when it is neither `on` nor `off`."""
    text = os.environ.get("DRAWLOOM_CACHE", "").strip().lower()
    if text not in ("", "on", "off"):
        raise CacheError(f"DRAWLOOM_CACHE={text}: expected on or off")
    return text != "off"


_store: DiskCache | None = None


def kernel_store() -> DiskCache | None:
    """The cache that the environment asks for; None when it is off. Raises CacheError for wrong settings."""
    global _store
    if not cache_is_on():
        return None
    folder, limit = cache_folder(), cache_limit()
    if _store is None or _store.folder != folder or _store.limit != limit:
        _store = DiskCache(folder, limit)
    return _store
