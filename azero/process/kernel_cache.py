"""Keep azero's compiled functions, and those of a user's rules, in a folder of their own.

Each version of azero has a folder there, which only the user can write; all its installations and checkouts
with the same tools share it. Each file begins with the SHA-256 of the rest: a flipped bit is not run but
compiled again. With NUMBA_CACHE_DIR set, that folder lies there, and the files have Numba's own format.
Compiled functions of anybody else are left to Numba.

A process that finds no variant of a function of azero compiles it while it holds the function's lock. Others
that want it wait.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llvmlite
import numba
import numpy as np
from filelock import FileLock, Timeout
from numba import njit, types
from numba.core import caching, config

PACKAGE = Path(__file__).parents[1]
# rooms that no kernel lies in or uses
NO_KERNELS = {"champion", "cli", "page", "protocols", "stages", "studio", "tracing", "training"}
CACHES_KEPT = 5  # folders of compiled kernels, this version's among them
CACHE_DAYS = 14.0  # after which an unused folder is removed
BUSY_DAYS = 1.0  # a folder used this recently may belong to a running process
WAIT = 30.0  # seconds for what another process compiles; a function that it failed to compile stays locked
DIGEST = hashlib.sha256().digest_size
OURS = "azero"  # first part of the source stamps of functions kept here
NumbaFiles = caching.IndexDataCacheFile

OWN_SEARCH = "azero_search"  # in place of a module, that of the records of a person's own search
STAMPS: dict[str, str] = {}  # by rules file: the digest of all files of the rules


class Locator(caching.UserProvidedCacheLocator):
    """Says where a function of azero or of a user's rules is kept, and which sources it was compiled from."""

    def __init__(self, py_func: Any, py_file: str) -> None:
        super().__init__(py_func, py_file)
        if py_file in STAMPS:
            place = self.get_suitable_cache_subpath(py_file)
        else:
            place = str(Path(py_file).relative_to(PACKAGE).parent)
        self._cache_path = os.path.join(kernel_folder(), place)

    def ensure_cache_path(self) -> None:
        """Make the folder, if possible."""
        with contextlib.suppress(OSError):
            super().ensure_cache_path()

    def get_source_stamp(self) -> Any:
        """Return what a kept function must have been compiled from: its file, and all files of the rules."""
        content = Path(self._py_file).read_bytes()
        return OURS, hashlib.sha256(content).hexdigest(), STAMPS.get(self._py_file, "")

    @classmethod
    def from_function(cls, py_func: Any, py_file: str) -> Locator | None:
        """Return a locator for a function that is kept here, None for any other."""
        path = os.path.abspath(py_file)
        return cls(py_func, path) if path in STAMPS or Path(path).is_relative_to(PACKAGE) else None


class ForgivingFiles(NumbaFiles):
    """The index and the compiled variants of one function; without a disk they are compiled each time."""

    @functools.cached_property
    def _lock(self) -> FileLock:
        return FileLock(f"{self._index_path}.lock")

    def save(self, key: Any, data: Any) -> None:
        """Write a variant, if possible, for those who wait for it; see `_write_variant`."""
        try:
            self._write_variant(key, data)
        finally:
            self._lock.release()

    def _write_variant(self, key: Any, data: Any) -> None:
        """Write a variant, if possible; begin a damaged index anew.

        A variant for a person's own search is not kept: where its file was not run, nobody could read the
        index, which names the class of its record. Nor is what this process compiles after its sources were
        edited: it may be code of the new text.
        """
        kinds = getattr(key[0], "args", key[0])  # of a callback the signature, else its arguments
        records = [kind.instance_class for kind in kinds if hasattr(kind, "instance_class")]
        if any(record.__module__ == OWN_SEARCH for record in records):
            return
        with contextlib.suppress(OSError):
            if times() != first_times():
                return
            try:
                super().save(key, (self._source_stamp, key, data))
            except OSError:
                raise
            except Exception:
                self.flush()
                super().save(key, (self._source_stamp, key, data))

    def load(self, key: Any) -> Any:
        """Return a variant, or None if there is none that can be read: then only this process compiles it.

        But for functions of a person's rules, which may be such that Numba compiles and never saves them.
        """
        found = self._read_variant(key)
        if found is None and not self._source_stamp[-1]:
            with contextlib.suppress(OSError, NotImplementedError, Timeout):  # no disk, or one without locks
                os.makedirs(os.path.dirname(self._index_path), exist_ok=True)
                self._lock.acquire(timeout=WAIT)
            found = self._read_variant(key)
            if found is not None:
                self._lock.release()
        return found

    def _read_variant(self, key: Any) -> Any:
        """Return what was kept under this key, if it is that: the index may be newer than what it names."""
        with contextlib.suppress(Exception):  # a damaged pickle can raise nearly anything
            stamp, kept_key, data = super().load(key)
            if (stamp, kept_key) == (self._source_stamp, key):
                return data


class CheckedFiles(ForgivingFiles):
    """The same with checksums."""

    def _load_index(self) -> dict[Any, str]:
        version, stamp, variants = self._read(self._index_path) or (None, None, {})
        return variants if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_index(self, overloads: dict[Any, str]) -> None:
        self._write(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_data(self, name: str) -> Any:
        return self._read(self._data_path(name))

    def _save_data(self, name: str, data: Any) -> None:
        self._write(self._data_path(name), data)

    def _read(self, place: str) -> Any:
        content = Path(place).read_bytes() if os.path.exists(place) else b""
        digest, rest = content[:DIGEST], content[DIGEST:]
        return pickle.loads(rest) if rest and hashlib.sha256(rest).digest() == digest else None

    def _write(self, place: str, content: Any) -> None:
        rest = self._dump(content)
        with self._open_for_write(place) as file:
            file.write(hashlib.sha256(rest).digest() + rest)


def add_stamp(source: Path, stamp: str) -> None:
    """Keep the compiled functions of a rules file here, and use them only under this stamp.

    This is for functions that are defined from now on.
    """
    STAMPS[os.path.abspath(source)] = stamp


def files_of(cache_path: str, filename_base: str, source_stamp: Any) -> NumbaFiles:
    """Return the files of a function's cache; Numba calls this for each function that it keeps."""
    kind = NumbaFiles
    if isinstance(source_stamp, tuple) and source_stamp[:1] == (OURS,):
        kind = ForgivingFiles if config.CACHE_DIR else CheckedFiles  # type: ignore[attr-defined]
    return kind(cache_path, filename_base, source_stamp)


def kernel_folder() -> str:
    """Return the folder of compiled kernels; a path where nothing can be written if there is none."""
    chosen = config.CACHE_DIR  # type: ignore[attr-defined]  # missing in Numba's stubs
    return os.path.join(chosen, f"azero-{version_digest()}") if chosen else str(own_folder() or os.devnull)


def version_digest() -> str:
    """Return a digest of what compiled code depends on: sources and tools. Names of files tell Python's."""
    tools = [numba.__version__, llvmlite.__version__, np.__version__]
    settings = [config.USING_SVML, config.OPT, config.BOUNDSCHECK]  # type: ignore[attr-defined]
    text = f"{sources_digest()} {tools} {settings}"
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


@functools.cache
def own_folder() -> Path | None:
    """Return this version's folder, after removing those of versions no longer used."""
    digest = version_digest()
    for parent in cache_parents():
        folder = make_folder(parent, digest)
        if folder is not None:
            prune(parent, folder)
            return folder
    return None


@functools.cache
def sources() -> tuple[Path, ...]:
    """Return all Python files of this package that a kernel may depend on: those of rooms with kernels."""
    inside = [path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE]
    return tuple(sorted(path for path in inside if path.relative_to(PACKAGE).parts[0] not in NO_KERNELS))


@functools.cache
def sources_digest() -> str:
    """Return a digest of those files as they were when this process first asked.

    Numba's disk cache checks only the file of the function that it loads, so it misses a change in a helper
    of another file. A change in a room without kernels compiles nothing.
    """
    first_times()
    digest = hashlib.blake2b(digest_size=8)
    for path in sources():
        digest.update(str(path.relative_to(PACKAGE)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def times() -> list[int]:
    """Return when each of those files was edited last."""
    return [path.stat().st_mtime_ns for path in sources()]


first_times = functools.cache(times)  # before this process read them


def cache_parents() -> Iterator[Path]:
    """Yield folders that may keep compiled kernels, best first."""
    with contextlib.suppress(RuntimeError):  # this user has no home folder
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "azero" / "numba"
    with contextlib.suppress(OSError):  # no temporary folder either
        yield Path(tempfile.gettempdir()) / f"azero-numba-{os.getuid() if hasattr(os, 'getuid') else 0}"


def is_private(folder: Path) -> bool:
    """Check that nobody else can write there, because the cache holds machine code."""
    if not hasattr(os, "getuid"):
        return True
    status = folder.lstat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def make_folder(parent: Path, digest: str) -> Path | None:
    """Return the folder of this version's kernels, marked as used now; None if not writable or private."""
    folder = parent / digest
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        os.utime(folder)  # fails on a read-only disk, where the two folders may well exist
        return folder if is_private(parent) and is_private(folder) and os.access(folder, os.W_OK) else None
    except OSError:
        return None


def prune(parent: Path, keep: Path) -> None:
    """Remove other versions' kernels if unused for CACHE_DAYS, or BUSY_DAYS beyond the newest few."""
    try:
        used = {
            Path(entry.path): entry.stat().st_mtime
            for entry in os.scandir(parent)
            if entry.is_dir(follow_symlinks=False)
        }
    except OSError:
        return
    used.pop(keep, None)
    now = time.time()
    oldest, busy = now - CACHE_DAYS * 86400, now - BUSY_DAYS * 86400
    newest_first = sorted(used, key=lambda folder: used[folder], reverse=True)
    for place, folder in enumerate(newest_first, start=2):
        if used[folder] < (busy if place > CACHES_KEPT else oldest):
            shutil.rmtree(folder, ignore_errors=True)


caching.IndexDataCacheFile = files_of  # type: ignore[assignment, misc]
caching.CacheImpl._locator_classes = [Locator, *caching.CacheImpl._locator_classes]


def for_plain_numbers(compiled: Any) -> Any:
    """Let kernels call a compiled function with int64 for any signed integer, also a literal one such as 0.

    Numba would compile it once for each of these types, which takes as long every time.
    """
    template = compiled.get_call_template

    def plain(kind: Any) -> Any:
        kind = types.unliteral(kind)
        return types.int64 if kind in types.signed_domain else kind

    def template_for_numbers(arguments: Any, keywords: Any) -> Any:
        return template(tuple(map(plain, arguments)), {name: plain(kind) for name, kind in keywords.items()})

    compiled.get_call_template = template_for_numbers
    return compiled


# Called from kernels only: compiled once for all, kept on disk, and inlined there by LLVM. For what is
# long and stands in several kernels, because it takes Numba less time than a `part` in each (measured: the
# kernels of a first run 63 to 52 s of an EPYC); a call in its place would cost a search a third, and chess
# plays 1.6 times as many plies as with calls.
_shared: Any = njit(  # type: ignore[call-overload]
    cache=True, nogil=True, error_model="numpy", no_cfunc_wrapper=True, forceinline=True
)


def shared(function: Any) -> Any:
    """Compile a function for kernels."""
    return for_plain_numbers(_shared(function))
