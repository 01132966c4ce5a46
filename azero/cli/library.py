"""What `import azero` offers. Heavy imports wait for the first call."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from azero.champion.champion import Champion
    from azero.cli.recipe import RecipeRun


def load_champion(run: str, checkpoints: str = "checkpoints", device: str = "auto") -> Champion:
    """Return the champion of a run, ready to judge positions and to play; see `champion.champion.Champion`.

    Args:
        run: the run's name, such as ``"tictactoe"``.
        checkpoints: the folder of all runs.
        device: where the network is computed: auto, cpu, cuda or mps.

    Raises:
        azero.UserError: there is no such run, or its champion cannot be read.
    """
    from azero.champion.champion import Champion
    from azero.champion.load import load_for_one_game
    from azero.config.schema import Config

    return Champion(*load_for_one_game(Config(checkpoints=checkpoints, device=device), run))


def load_run(
    run: str, checkpoints: str = "checkpoints", data: str = "data", device: str = "auto"
) -> RecipeRun:
    """Return a run that is there, to read its stats and its champion; another process may go on with it.

    Args:
        run: the run's name.
        checkpoints, data: the folders of all runs.
        device: where its champion's network is computed: auto, cpu, cuda or mps.

    Raises:
        azero.UserError: there is no such run, or it is damaged.
    """
    from azero.cli.recipe import RecipeRun
    from azero.config.schema import Config
    from azero.run.run import Run

    Run.read(Config(checkpoints=checkpoints, data=data), run)
    return RecipeRun(run, checkpoints, data, device)


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
        azero.UserError: an unknown recipe or setting, or a run that cannot begin or go on.
        RuntimeError: the run failed.
    """
    from azero.cli import recipe as recipes

    return recipes.run_recipe(recipe, resume, report, settings)


def __getattr__(name: str) -> str:
    """Return `azero.__version__`, that of the installed package; Python calls this for what azero lacks."""
    if name != "__version__":
        raise AttributeError(f"module 'azero' has no attribute {name!r}")
    from importlib import metadata  # takes 0.1 s

    try:
        return metadata.version("azero")
    except metadata.PackageNotFoundError:  # a checkout that is not installed
        return "unknown"
