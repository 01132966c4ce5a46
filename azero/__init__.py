"""azero learns to play a two-player board game from nothing but its rules."""

from azero.process import ending

if ending.is_program():
    ending.prepare()  # before all other imports, which take seconds

from azero.cli.library import __getattr__, load_champion, load_run, run_recipe  # noqa: F401  __getattr__: __version__
from azero.config.schema import UserError

__all__ = ["UserError", "load_champion", "load_run", "run_recipe"]
