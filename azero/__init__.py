"""azero learns to play a two-player board game from nothing but its rules."""

from azero.process import ending

if ending.is_program():
    ending.prepare()  # before all other imports, which take seconds

import sys

from azero.cli.library import load_champion, run_recipe
from azero.process.old_modules import OldModules

__all__ = ["load_champion", "run_recipe"]
__version__ = "0.1.0"

sys.meta_path.append(OldModules())
