"""Memory: what games under way take, and what this machine and this process have."""

from __future__ import annotations

import math
import os
from pathlib import Path

from azero.config import Config, SearchConfig, UserError
from azero.games.game import Game
from azero.search.puct import node_type
from azero.search.tree import EDGE, nodes_needed

MEMORY_SHARE = 0.8  # of the machine's memory that trees may take


def lane_bytes(game: Game, rows: int, config: Config) -> int:
    """What one lane with so many games in flight takes: their trees and records, and the remembered evaluations."""
    record = game.max_plies * (8 * game.state_words + 4 * game.num_actions)
    remembered = config.inference.cache * (8 * game.key_words + 4 * game.num_actions)
    return rows * (tree_bytes(game, config.search) + record) + remembered


def tree_bytes(game: Game, search: SearchConfig) -> int:
    """What the tree of one game takes, full."""
    nodes = nodes_needed(search.num_simulations, search.tree_reuse) + 1
    return nodes * (node_type(search).itemsize + 8 * game.state_words + EDGE.itemsize * game.num_actions)


def most_bytes() -> float:
    """How much of this machine's memory trees may take; infinite where it does not say how much it has, as on Windows."""
    if not hasattr(os, "sysconf"):
        return math.inf
    return MEMORY_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_memory(what: str, needed: float, lower: str) -> None:
    """Refuse what this machine's memory cannot hold.

    Raises:
        UserError: it would take `needed` bytes; `lower` names the settings that make it smaller.
    """
    if needed > most_bytes():
        has = most_bytes() / MEMORY_SHARE
        raise UserError(f"{what} would take {needed / 2**30:.1f} GiB and this machine has {has / 2**30:.1f}; lower {lower}.")


def memory_in_use() -> int:
    """Bytes of memory that this process holds, 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0
