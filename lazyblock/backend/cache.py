"""Compiled kernels in memory and on disk.

The disk holds one file per kernel: a magic line, a checksum, then JSON metadata with the
key, and the image. Files are written under another name and renamed, so readers see whole files
only; whatever cannot be read (missing, torn, of another version) is a miss. A directory that cannot
be written is reported once and then left alone.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from lazyblock import config
from lazyblock.backend.kernel import CompiledKernel
from lazyblock.events import CacheLookup, emit
from lazyblock.target import Target
from lazyblock.version import __version__

_MAGIC = b"lazyblock kernel 1\n"
_SUFFIX = ".kernel"
_EVICT_TO = 0.75  # of the size bound, so that eviction is rare
_MOST_UNCOUNTED = 1 / 64  # of the bound: what is written before the directory is read again

_memory: dict[str, CompiledKernel] = {}
_locks: dict[str, threading.Lock] = {}
_guard = threading.Lock()
_warned = False
_written: dict[Path, int] = {}  # bytes, by directory, since it was read last


def make_key(program_text: str, target: Target, toolchain: str) -> str:
    """Content hash of everything the compiled code depends on. toolchain: LLVM's version."""
    parts = (program_text, repr(target), config.code_settings(), __version__, toolchain, _sources())
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def find_or_compile(key: str, compile: Callable[[], CompiledKernel]) -> CompiledKernel:
    """The kernel of `key` from memory, else disk, else `compile()`; one compilation per key."""
    kernel = _memory.get(key)
    if kernel is not None:
        emit(CacheLookup(kernel.name, "memory"))
        return kernel
    with _guard:
        lock = _locks.setdefault(key, threading.Lock())
    with lock:
        kernel = _memory.get(key)
        found = "memory"
        if kernel is None:
            kernel, found = _read_kernel(key), "disk"
        if kernel is None:
            kernel, found = compile(), "none"
            _write_kernel(key, kernel)
        _memory[key] = kernel
    emit(CacheLookup(kernel.name, found))
    return kernel


def read_record(key: str) -> dict[str, Any] | None:
    """Facts kept on disk by `write_record`; None when there are none."""
    found = _read(key)
    return found[0]["record"] if found else None


def write_record(key: str, record: dict[str, Any]) -> None:
    """Keep facts (plain JSON) on disk, among the kernels."""
    _write(key, {"record": record}, b"")


def clear_memory() -> None:
    """Forget the kernels held in memory (the disk keeps them)."""
    _memory.clear()


def directory() -> Path:
    """Where the disk cache lies, whether it exists or not."""
    if config.current.cache_dir:
        return Path(config.current.cache_dir)
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return Path(base) / "lazyblock"


def _read_kernel(key: str) -> CompiledKernel | None:
    try:
        found = _read(key)
        return _make_kernel(key, *found) if found else None
    except (KeyError, TypeError):  # TypeError: a target of other fields
        return None


def _make_kernel(key: str, metadata: dict[str, Any], image: bytes) -> CompiledKernel:
    return CompiledKernel(
        metadata["name"],
        Target(**metadata["target"]),
        key,
        image,
        metadata["texts"],
        metadata["num_threads"],
        metadata["shared_bytes"],
        metadata["num_ctas"],
        metadata["is_cooperative"],
    )


def _write_kernel(key: str, kernel: CompiledKernel) -> None:
    metadata = {
        "name": kernel.name,
        "target": vars(kernel.target),
        "texts": kernel.texts,
        "num_threads": kernel.num_threads,
        "shared_bytes": kernel.shared_bytes,
        "num_ctas": kernel.num_ctas,
        "is_cooperative": kernel.is_cooperative,
    }
    _write(key, metadata, kernel.image)


# --- the directory ---


def _read(key: str) -> tuple[dict[str, Any], bytes] | None:
    if not config.current.cache:
        return None
    folder = directory()
    path = folder / (key + _SUFFIX)
    try:
        data = path.read_bytes()
        _check_owner(folder)
        found = _decode(key, data)
        os.utime(path)  # eviction drops what was used longest ago
    except (OSError, ValueError, KeyError):
        return None
    return found


def _write(key: str, metadata: dict[str, Any], image: bytes) -> None:
    if not config.current.cache:
        return
    folder = directory()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_owner(folder)
        handle, name = tempfile.mkstemp(dir=folder, prefix=".", suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                nbytes = file.write(_encode(key, metadata, image))
            os.replace(name, folder / (key + _SUFFIX))
        except OSError:
            os.unlink(name)
            raise
        _count(folder, nbytes)
    except OSError as error:
        _warn(folder, error)


def _check_owner(folder: Path) -> None:
    """A directory others can write to could hand us foreign code."""
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode):
        raise OSError("it is not a directory")
    if hasattr(os, "getuid") and status.st_uid != os.getuid():
        raise OSError("it belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise OSError("others may write to it")


def _warn(folder: Path, error: OSError) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            f"lazyblock cannot use its cache directory {str(folder)!r} ({error}); kernels are "
            "compiled anew in every process. Set LAZYBLOCK_CACHE_DIR to a writable directory.",
            stacklevel=2,
        )


def _count(folder: Path, nbytes: int) -> None:
    """Look for what to drop at the first write, and whenever much has been written since."""
    before = _written.get(folder)
    _written[folder] = (before or 0) + nbytes
    if before is None or _written[folder] > config.current.cache_bytes * _MOST_UNCOUNTED:
        _written[folder] = 0
        _evict(folder)


def _evict(folder: Path) -> None:
    """Drop the kernels used longest ago when the directory outgrows its bound."""
    entries = [(e.stat(), e.path) for e in os.scandir(folder) if e.name.endswith(_SUFFIX)]
    total = sum(status.st_size for status, _ in entries)
    if total <= config.current.cache_bytes:
        return
    for status, path in sorted(entries, key=lambda entry: entry[0].st_mtime):
        if total <= config.current.cache_bytes * _EVICT_TO:
            return
        Path(path).unlink(missing_ok=True)
        total -= status.st_size


# --- one file ---


def _encode(key: str, metadata: dict[str, Any], image: bytes) -> bytes:
    text = json.dumps(metadata | {"key": key}).encode()
    body = len(text).to_bytes(8, "little") + text + image
    return _MAGIC + hashlib.sha256(body).digest() + body


def _decode(key: str, data: bytes) -> tuple[dict[str, Any], bytes]:
    """Raises: ValueError or KeyError for anything but a whole file of this key."""
    start = len(_MAGIC) + 32
    body = data[start:]
    if not data.startswith(_MAGIC) or hashlib.sha256(body).digest() != data[len(_MAGIC) : start]:
        raise ValueError("torn or foreign file")
    size = int.from_bytes(body[:8], "little")
    metadata: dict[str, Any] = json.loads(body[8 : 8 + size])
    if metadata["key"] != key:
        raise ValueError("file of another key")
    return metadata, body[8 + size :]


def _sources() -> str:
    """Names, sizes and times of lazyblock's own files: edited sources make other kernels."""
    global _source_stamp
    if _source_stamp is None:
        root = Path(__file__).resolve().parent.parent
        files = sorted(root.rglob("*.py"))
        stats = [(str(f.relative_to(root)), f.stat().st_size, f.stat().st_mtime_ns) for f in files]
        _source_stamp = hashlib.sha256(repr(stats).encode()).hexdigest()
    return _source_stamp


_source_stamp: str | None = None
