"""Games that other installed packages bring: entry points of the group `azero.games`, each a module that defines `make_game`."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

GROUP = "azero.games"


def installed_games() -> dict[str, EntryPoint]:
    """By name, what other packages have registered."""
    return {entry.name: entry for entry in entry_points(group=GROUP)}
