"""Where the project lies, and the own games of the tests."""

from __future__ import annotations

from pathlib import Path

PROJECT = Path(__file__).resolve().parents[2]
SCRIPTS = PROJECT / "scripts"
SUPPORT = PROJECT / "tests" / "support"
OWN_GAMES = SUPPORT / "games"
MANY_ACTIONS = str(OWN_GAMES / "many_actions.py")  # thousands of actions, of which it lists the legal ones
DOUBLE_MOVE = str(OWN_GAMES / "double_move.py")  # a player may move twice in a row
FROM_TO = str(OWN_GAMES / "from_to.py")  # a race of pawns, with an action for each pair of cells
CROWNING = str(OWN_GAMES / "crowning.py")  # pawns, rooks and knights; names depend on who is to play
