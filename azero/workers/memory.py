"""Memory: that of games under way, of this machine and of this process."""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from pathlib import Path

from azero.config.schema import Config, SearchConfig, UserError
from azero.games.game import Game
from azero.games.legal import legal_room
from azero.search.tree import MOVE, node_bytes, nodes_needed
from azero.workers.games import target_room

PAIR_BYTES = 8  # of a move of a policy target and its weight
MEMORY_SHARE = 0.8  # of the machine's memory that trees may take


def worker_bytes(game: Game, rows: int, config: Config) -> int:
    """Return a worker's bytes: trees and records of its games in flight, and its cache."""
    record = 8 * game.state_words * game.max_plies + 2 * PAIR_BYTES * target_room(game)  # often doubled once
    noise = 8 * game.num_actions if config.search.kind == "gumbel" else 0
    return rows * (tree_bytes(game, config.search) + record + noise) + cache_bytes(game, config)


def cache_bytes(game: Game, config: Config) -> int:
    """Return the bytes of a full cache of evaluations, and of as many results of exact play."""
    result = 8 * game.state_words + 9 if config.search.solver and config.search.exact_plies else 0
    return config.inference.cache * (8 * game.key_words + MOVE.itemsize * legal_room(game) + result)


def check_worker_memory(game: Game, rows: Sequence[int], config: Config) -> None:
    """Raise UserError if workers with these numbers of rows do not fit into this machine's memory."""
    needed = sum(worker_bytes(game, each, config) for each in rows)
    settings = "selfplay.concurrent_games, search.num_simulations, inference.cache or workers"
    check_memory(f"Self-play of {game.name}", needed, settings)


def tree_bytes(game: Game, search: SearchConfig) -> int:
    """Return the bytes of a game's full tree."""
    nodes = nodes_needed(search.num_simulations, search.tree_reuse) + 1
    return nodes * node_bytes(game, nodes)


def most_bytes() -> float:
    """Return how much of this machine's memory trees may take; infinite where it is unknown."""
    try:
        return MEMORY_SHARE * os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):  # a system without it, or without one of these names
        return math.inf


def check_memory(what: str, needed: float, lower: str) -> None:
    """Raise UserError if this machine's memory cannot hold `needed` bytes; `lower` names settings."""
    if needed > most_bytes():
        needs, has = needed / 2**30, most_bytes() / MEMORY_SHARE / 2**30
        raise UserError(f"{what} would take {needs:.1f} GiB and this machine has {has:.1f}; lower {lower}.")


def memory_in_use() -> int:
    """Return the bytes of memory that this process holds; 0 where the system does not say."""
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, AttributeError):
        return 0
