"""Check the files of compiled code, and do without those that cannot be written or read.

Numba keeps compiled functions as pickles of machine code. In the folder that azero has chosen, which only the
user can write, each file begins with the SHA-256 of the rest: a flipped bit is not run but compiled again. A
folder that the user set by NUMBA_CACHE_DIR keeps Numba's own format, because other programs may read it.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import pickle
from pathlib import Path
from typing import Any

from numba.core import caching

DIGEST = hashlib.sha256().digest_size
NumbaFiles = caching.IndexDataCacheFile

STAMPS: dict[str, str] = {}  # by folder of the cache: what compiled code of its functions depends on besides


class ForgivingFiles(NumbaFiles):
    """The index and the compiled variants of one function; without a disk they are compiled each time."""

    def save(self, key: Any, data: Any) -> None:
        """Write a variant, if possible; begin a damaged index anew."""
        with contextlib.suppress(OSError):
            try:
                super().save(key, data)
            except OSError:
                raise
            except Exception:
                self.flush()
                super().save(key, data)

    def load(self, key: Any) -> Any:
        """Return a variant, or None if there is none that can be read."""
        with contextlib.suppress(Exception):  # a damaged pickle can raise nearly anything
            return super().load(key)


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
    """Use compiled code of functions beside a source file only if it was kept under this stamp.

    Numba's stamp is the time and size of the function's own file. This one is added for functions that are
    defined from now on.
    """
    subfolder = caching._CacheLocator.get_suitable_cache_subpath(str(source))
    STAMPS[subfolder] = STAMPS[str(source.parent / "__pycache__")] = stamp


def files_of(cache_path: str, source_stamp: Any, **others: Any) -> ForgivingFiles:
    """Return the files of a function's cache; Numba calls this for each function that it keeps."""
    if stamp := STAMPS.get(cache_path) or STAMPS.get(Path(cache_path).name):
        source_stamp = (source_stamp, stamp)
    own = os.environ.get("AZERO_NUMBA_CACHE_DIR")
    kind = CheckedFiles if own and Path(own) in Path(cache_path).parents else ForgivingFiles
    return kind(cache_path=cache_path, source_stamp=source_stamp, **others)


caching.IndexDataCacheFile = files_of  # type: ignore[assignment, misc]
