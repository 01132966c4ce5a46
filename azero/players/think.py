"""Let any player think about one game until it has a move or is told to stop, and show what it finds."""

from __future__ import annotations

import math
import time
from collections.abc import Callable

from azero.games.playing import GameInProgress
from azero.players import Advice, Player, move_of
from azero.players.alpha_beta import AlphaBetaPlayer
from azero.players.growing import Insight, RolloutSearch, growing_search
from azero.players.perfect import PerfectPlayer
from azero.players.pv_mcts import SNAPSHOT_SECONDS, PvMcts
from azero.players.uct import UctPlayer

LOOK_SECONDS = 0.02  # of a search that grows, between two looks at `stopping`

Report = Callable[[Insight], None]  # receives what a search has found so far


def never() -> bool:
    """Return False: nothing stops the search."""
    return False


def think(
    player: Player,
    at: GameInProgress,
    seconds: float = 0.0,
    stopping: Callable[[], bool] = never,
    report: Report | None = None,
    seed: int = 0,
) -> int:
    """Return a player's move in a game that is not over.

    Args:
        player: searches in this thread; `new_games` was called for the game.
        at: the game.
        seconds: time for the move, instead of the player's own; 0: its own. A player without `seconds`
            ignores it.
        stopping: asked many times a second whether to move at once, with what was found so far. Players
            whose search is one rollout after another, other than uct, do not ask.
        report: receives what a search that grows has found, some ten times a second and at its end.
        seed: of the random numbers of uct, for the whole game.
    """
    if isinstance(player, UctPlayer):
        return think_by_rollouts(player, at, seconds or player.seconds, stopping, report, seed)
    own_seconds = getattr(player, "seconds", 0.0)
    try:
        if seconds and hasattr(player, "seconds"):
            player.seconds = seconds
        watch_or_stop(player, stopping, report)
        return move_of(player, at)
    finally:
        watch_or_stop(player, None, None)
        if hasattr(player, "seconds"):
            player.seconds = own_seconds


def watch_or_stop(player: Player, stopping: Callable[[], bool] | None, report: Report | None) -> None:
    """Let a player's next search ask `stopping` and tell `report`; None: no search does."""
    if isinstance(player, AlphaBetaPlayer | PerfectPlayer):
        player.searcher.stopped = stopping
    if not isinstance(player, PvMcts):
        return
    if stopping is None:
        player.watch = None
        return
    search, stops = growing_search(player), stopping

    def watch(_: Advice) -> bool:
        if report and (insight := search.read()):
            report(insight)
        return stops()

    player.watch = watch


def think_by_rollouts(
    player: UctPlayer,
    at: GameInProgress,
    seconds: float,
    stopping: Callable[[], bool],
    report: Report | None,
    seed: int,
) -> int:
    """Return the move of uct; see `think`."""
    search = growing_search(player)
    assert isinstance(search, RolloutSearch)
    search.begin(at.state, at.banned())
    search.stream[:] = (seed % 2**64, len(at.actions) << 32)  # random numbers of this move
    shown = time.perf_counter()
    end = shown + (seconds or math.inf)
    while search.grow(min(LOOK_SECONDS, end - time.perf_counter())):
        now = time.perf_counter()
        if report and now - shown >= SNAPSHOT_SECONDS and (insight := search.read()):
            report(insight)
            shown = now
        if now >= end or stopping():
            break
    found = search.read()
    if report and found:
        report(found)
    return found.best if found else at.legal_actions()[0]
