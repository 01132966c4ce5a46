"""azero learns to play a two-player board game from nothing but its rules."""

from __future__ import annotations

from azero.process import ending

if ending.is_program():
    ending.prepare()  # before all other imports, which take seconds

import contextlib
import hashlib
import os
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from azero.process.old_modules import OldModules

if TYPE_CHECKING:
    from azero.champion.champion import Champion
    from azero.cli.recipe import RecipeRun

__version__ = "0.1.0"

CACHES_KEPT = 5  # folders of compiled kernels, this version's among them
CACHE_DAYS = 14.0  # after which an unused folder is removed
BUSY_DAYS = 1.0  # a folder used this recently may belong to a running process


def load_champion(run: str, checkpoints: str = "checkpoints", device: str = "auto") -> Champion:
    """Return the champion of a run, ready to judge positions and to play; see `champion.champion.Champion`.

    Args:
        run: the run's name, such as ``"tictactoe"``.
        checkpoints: the folder of all runs.
        device: where the network is computed: auto, cpu or cuda.

    Raises:
        azero.config.schema.UserError: there is no such run, or its champion cannot be read.
    """
    from azero.champion.champion import Champion
    from azero.champion.load import load_for_one_game
    from azero.config.schema import Config

    return Champion(*load_for_one_game(Config(checkpoints=checkpoints, device=device), run))


def run_recipe(
    recipe: str = "",
    *,
    resume: bool = True,
    report: Callable[[str], object] | None = print,
    **settings: Any,
) -> RecipeRun:
    """Run a recipe to its end, or go on with its run, as ``azero loop`` does; return the run.

    It runs in a process of its own, which ends when this one does. Ctrl-C lets it save what is finished; the
    same call goes on from there.

    Args:
        recipe: such as ``"connect_four"``. Without it, the recipe of ``game=``.
        resume: whether to go on with the run if there is one of this name.
        report: receives each line that the run prints; None for nobody.
        settings: as `azero loop` takes them: ``minutes=10``, ``run="mine"``, ``game="mine.py"``. Those of a
            group are a dict: ``search={"num_simulations": 100}``.

    Raises:
        azero.config.schema.UserError: an unknown recipe or setting, or a run that cannot begin or go on.
        RuntimeError: the run failed.
    """
    from azero.cli import recipe as recipes

    return recipes.run_recipe(recipe, resume, report, settings)


def sources_digest() -> str:
    """Return one digest of all Python files of this package.

    Numba's disk cache checks only the file of the function that it loads, so it misses a change in a helper
    of another file.
    """
    package = Path(__file__).parent
    digest = hashlib.blake2b(digest_size=8)
    for path in sorted(package.rglob("*.py")):
        digest.update(str(path.relative_to(package)).encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def _cache_parents() -> Iterator[Path]:
    """Yield folders that may keep compiled kernels, best first."""
    with contextlib.suppress(RuntimeError):  # this user has no home folder
        yield Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "azero" / "numba"
    import tempfile  # here, because it is slow to import and seldom needed

    with contextlib.suppress(OSError):  # no temporary folder either
        yield Path(tempfile.gettempdir()) / f"azero-numba-{os.getuid() if hasattr(os, 'getuid') else 0}"


def _private(folder: Path) -> bool:
    """Check that nobody else can write there, because the cache holds machine code."""
    if not hasattr(os, "getuid"):
        return True
    status = folder.lstat()
    return status.st_uid == os.getuid() and not status.st_mode & 0o022


def _make_cache(parent: Path, digest: str) -> Path | None:
    """Return the folder of this version's kernels, marked as used now; None if not writable or private."""
    folder = parent / digest
    try:
        parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        os.utime(folder)  # fails on a read-only disk, where the two folders may well exist
        return folder if _private(parent) and _private(folder) and os.access(folder, os.W_OK) else None
    except OSError:
        return None


def _prune_caches(parent: Path, keep: Path) -> None:
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
            import shutil

            shutil.rmtree(folder, ignore_errors=True)


def _set_cache_folder() -> None:
    """Set Numba's cache folder for this version, unless the user has set NUMBA_CACHE_DIR."""
    chosen = os.environ.get("NUMBA_CACHE_DIR")
    if chosen and chosen != os.environ.get("AZERO_NUMBA_CACHE_DIR"):
        # Set by the user. A folder of azero's comes from the parent process, which may be another version of
        # azero.
        return
    digest = sources_digest()
    for parent in _cache_parents():
        folder = _make_cache(parent, digest)
        if folder is not None:
            os.environ["NUMBA_CACHE_DIR"] = os.environ["AZERO_NUMBA_CACHE_DIR"] = str(folder)
            if "numba" in sys.modules:  # it has read its environment already
                sys.modules["numba"].config.CACHE_DIR = str(folder)
            _prune_caches(parent, folder)
            return
    os.environ.pop("NUMBA_CACHE_DIR", None)


_set_cache_folder()
sys.meta_path.append(OldModules())
