"""Files of compiled code: a damaged one is compiled again, and a full disk does no harm."""

from __future__ import annotations

import os
import pickle
import resource
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numba
import numpy as np
import pytest
from forks import forked

from azero.process import kernel_cache

PLAY = """
import os, pathlib, resource, sys
from azero.process import kernel_cache
from numba.core import config, event
own, foreign, most_bytes, edited = sys.argv[1], sys.argv[2] == "True", int(sys.argv[3]), sys.argv[4] == "True"
sys.dont_write_bytecode = True  # Python itself would read the short ones that it writes
config.CACHE_DIR, os.environ["XDG_CACHE_HOME"] = own, "home"
kernel_cache.own_folder.cache_clear()
listener = event.RecordingListener()
event.register("numba:compile", listener)
if not foreign:  # else no file of azero, nor of a game
    kernel_cache.add_stamp(pathlib.Path("double.py").resolve(), "digest")
if edited:
    kernel_cache.sources_digest()
    kernel_cache.times = list
resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
import double
assert double.double(21) == 42
print(len(listener.buffer))
"""
OWN = kernel_cache.OURS, 0, ""  # stamp of a function of azero
DOUBLE = "from numba import njit\n\n@njit('int64(int64)', cache=True)\ndef double(x):\n    return 2 * x\n"


@pytest.fixture
def module(tmp_path: Path) -> Path:
    """A module with one compiled function."""
    (tmp_path / "double.py").write_text(DOUBLE)
    (tmp_path / "play.py").write_text(PLAY)
    return tmp_path


def compiles(
    module: Path,
    own: str = "",
    foreign: bool = False,
    most_bytes: int = resource.RLIM_INFINITY,
    edited: bool = False,
) -> bool:
    """Return whether a new process compiles the function, which must work; its files have a largest size.

    `own` is what NUMBA_CACHE_DIR would say. `edited`: whether azero's sources are edited meanwhile.
    """
    command = forked("play", own, str(foreign), str(most_bytes), str(edited))
    done = subprocess.run(command, cwd=module, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return int(done.stdout) > 0


def kept(module: Path, ending: str) -> list[Path]:
    return [path for path in (module / "home").rglob(f"*.{ending}") if "double" in path.name]


def test_what_is_kept_is_not_compiled_again(module: Path) -> None:
    assert compiles(module)
    assert not compiles(module)


def test_what_is_compiled_after_an_edit_is_not_kept(module: Path) -> None:
    """It may be the code of the new text, and the folder is that of the old."""
    assert compiles(module, edited=True)
    assert compiles(module)
    assert not compiles(module, edited=True)


@pytest.mark.parametrize("ending", ["nbi", "nbc"])
@pytest.mark.parametrize(
    "damage", ["flip", "foreign", *(pytest.param(each, marks=pytest.mark.long) for each in ("cut", "empty"))]
)
def test_a_damaged_file_is_compiled_again(module: Path, ending: str, damage: str) -> None:
    compiles(module)
    (path,) = kept(module, ending)
    whole = path.read_bytes()
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 4
    changed = {"flip": bytes(flipped), "cut": whole[:-7], "empty": b"", "foreign": whole[32:]}[damage]
    path.write_bytes(changed)
    assert compiles(module)
    assert not compiles(module)  # and kept again
    assert len(kept(module, "nbi")) == 1


def test_a_poisoned_file_runs_nothing(module: Path) -> None:
    """A pickle that would make a file, where the index was."""
    canary = module / "canary"
    compiles(module)
    (path,) = kept(module, "nbi")
    path.write_bytes(f"cos\nsystem\n(S'touch {canary}'\ntR.".encode())
    assert compiles(module)
    assert not canary.exists()


def test_a_function_of_somebody_else_is_left_to_numba(module: Path) -> None:
    """Beside its source, in Numba's own format, and nothing of it in azero's folder."""
    assert compiles(module, foreign=True)
    assert not compiles(module, foreign=True)
    assert not kept(module, "nbi")
    (index,) = (module / "__pycache__").glob("double.double-*.nbi")
    assert pickle.loads(index.read_bytes()) == numba.__version__  # azero's begin with a checksum


def test_two_copies_of_azero_share_what_is_compiled(module: Path) -> None:
    """In a folder named by the digest of the sources, wherever the copies lie and however old they are."""
    code = (
        "import azero.kernels.hashing as hashing, numpy; from azero.process import kernel_cache\n"
        "hashing.hash_words(numpy.zeros(1, numpy.uint64))\n"
        "stats = hashing.hash_words.stats\n"
        "print(len(stats.cache_hits), stats.cache_path, kernel_cache.version_digest(), hashing.__file__)"
    )
    copy, pycache = module / "copy", shutil.ignore_patterns("__pycache__", "shipped")
    shutil.copytree(kernel_cache.PACKAGE, copy / "azero", ignore=pycache, copy_function=shutil.copyfile)
    known = {key: value for key, value in os.environ.items() if "NUMBA_CACHE" not in key}
    known["XDG_CACHE_HOME"] = str(module / "home")
    command = [sys.executable, "-c", code]
    for hits, source in enumerate([kernel_cache.PACKAGE.parent, copy]):
        said = subprocess.check_output(command, env=known, cwd=source, text=True, timeout=120)
        found, place, digest, file = said.split()
        assert (int(found), place) == (hits, f"{module}/home/azero/numba/{digest}/kernels")
        assert file == f"{source}/azero/kernels/hashing.py"


def test_a_full_disk_does_no_harm(module: Path) -> None:
    """Each file ends after 100 bytes; once there is space, what was compiled is kept."""
    assert compiles(module, most_bytes=100)
    assert compiles(module)
    assert not compiles(module)


def test_a_folder_that_cannot_be_written_does_no_harm(module: Path) -> None:
    """Neither azero's own nor one that the user chose: `/dev/full` is no folder."""
    assert compiles(module, "/dev/full")


def test_a_file_of_the_users_own_folder_that_is_damaged_is_compiled_again(module: Path) -> None:
    own = str(module / "home" / "own")
    compiles(module, own)
    assert not compiles(module, own)
    rng = np.random.default_rng(1)
    for path in [*kept(module, "nbi"), *kept(module, "nbc")]:
        path.write_bytes(rng.bytes(80))
    assert compiles(module, own)


def test_two_processes_never_compile_the_same(tmp_path: Path) -> None:
    """Who comes second waits for what the first one writes. Threads with files of their own are the two."""
    one, other = (kernel_cache.files_of(str(tmp_path), "f", OWN) for _ in range(2))
    assert one.load("key") is None
    with ThreadPoolExecutor() as pool:
        waiting = pool.submit(other.load, "key")
        with pytest.raises(TimeoutError):
            waiting.result(0.3)
        one.save("key", 42)
        assert waiting.result(30) == 42
    assert kernel_cache.files_of(str(tmp_path), "f", OWN).load("key") == 42


def test_what_another_process_fails_to_compile_is_waited_for_in_vain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_cache, "WAIT", 0.1)
    one, other = (kernel_cache.files_of(str(tmp_path), "f", OWN) for _ in range(2))
    assert one.load("key") is None and other.load("key") is None
    other.save("key", 42)
    assert one.load("key") == 42


def test_nobody_waits_for_a_person_s_rules(tmp_path: Path) -> None:
    stamp = kernel_cache.OURS, 0, "digest"
    one, other = (kernel_cache.files_of(str(tmp_path), "f", stamp) for _ in range(2))
    assert one.load("key") is None and other.load("key") is None
    assert not list(tmp_path.glob("*.lock"))


def test_an_index_that_is_newer_than_what_it_names_is_not_believed(tmp_path: Path) -> None:
    """As after a kill between the two files: the index is of the new rules, the code of the old ones."""
    old, new = (kernel_cache.files_of(str(tmp_path), "f", (*OWN[:2], rules)) for rules in ("old", "new"))
    old.save("key", "old code")
    assert old.load("key") == "old code"
    new._save_index({"key": "f.1.nbc"})
    assert new.load("key") is None
    new.save("key", "new code")
    assert new.load("key") == "new code"
