"""What may be in the way of learning: one pure check for each known problem, with a sentence and a fix.

Letters: T searched plies of all games together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from azero.config.schema import SearchConfig, UserError
from azero.games import game_of_settings
from azero.report.console import format_number, format_share
from azero.report.metrics_csv import read_stats
from azero.run.disk import DamagedFile
from azero.run.run import Run
from azero.run.state import AsideEntry

if TYPE_CHECKING:
    from azero.games.game import Game
    from azero.replay.examples import GameRecord


FEW_GAMES = 20  # fewer say nothing about a run
OPPOSITE = -0.3  # correlation of values and outcomes
CONSTANT = 0.02  # standard deviation of values between -1 and 1
COLLAPSED = 0.05  # nats: one move gets 99 % in the mean
MOST_POSITIONS = 10_000  # whose legal moves are counted
DIVERGED = 1.1  # times the loss of an untrained network
COPIES = 0.05  # share of games that are distinct
DRAWN = 0.99  # share of games
EXPECTED = 0.01  # value loss, a mean square: outcomes are known before the game
USES = 50.0  # of each example in training; AlphaZero used each about once, small runs about ten times
IDLE = 0.3  # share of the workers' time
EMPTY = 0.25  # share of batches' rows that carry a position
OWN_FILES = ("game.name", "network.file", "search.kind", "train.optimizer", "metrics")  # may name a person's
FEW_CYCLES = 3  # before a usual speed is known
SLOW = 0.5  # of the usual speed
RECENT_CYCLES = 5  # whose median is the usual speed
SPEEDS = (  # stage, its name, its speed, what to do if that falls
    ("selfplay", "self-play", "selfplay/simulations_per_second", "end those programs, or set fewer workers"),
    ("train", "training", "train/steps_per_second", "end those programs"),
)
HEAD_BUSY = 0.7  # share of self-play in which the head of a cluster may be busy itself
UNBALANCED = 0.25  # self-play over the rest of a cycle, below which most workers of a cluster wait
SHORT = 2.0  # seconds of a stage whose speed says nothing
NEVER = 5  # cycles without a promotion since the beginning
LATELY = 8  # cycles without a promotion after one


@dataclass(frozen=True)
class Case:
    """What is known of a run.

    Attributes:
        config: the settings by dotted key.
        cycles: the stats of each finished cycle by tag, oldest first.
        games: those of the newest cycle.
        aside: games that self-play has left out.
        game: the rules; None if they are gone or must not be run.
        damage: what is wrong with the champion's file; "" for nothing.
    """

    config: Mapping[str, Any]
    cycles: Sequence[Mapping[str, float]]
    games: Sequence[GameRecord]
    aside: Sequence[AsideEntry] = ()
    game: Game | None = None
    damage: str = ""

    def latest(self, tag: str) -> float:
        """Return a statistic of the newest cycle, or nan, which compares as False."""
        return self.cycles[-1].get(tag, math.nan) if self.cycles else math.nan

    @property
    def trained(self) -> bool:
        """Whether the newest games were played by a network that had been trained."""
        return any(stats.get("evaluate/promoted") for stats in self.cycles[:-1])

    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """Return what the search expected and how the game ended, [T] each, for the player to move."""
        from azero.replay.examples import outcome_for_mover, plies_of

        plies = plies_of(self.games)
        return plies.root_value[plies.searched], outcome_for_mover(plies)[plies.searched]

    def entropy_of_choices(self) -> float:
        """Return the mean entropy of the newest policy targets where two moves or more are legal, in nats.

        It is nan where no position has two. Without games or rules, forced moves count too.
        """
        from azero.replay.examples import plies_of

        if self.game is None or not self.games:
            return self.latest("selfplay/target_entropy")
        plies = plies_of(self.games)
        rows = np.flatnonzero(plies.searched)
        rows = rows[:: len(rows) // MOST_POSITIONS + 1]
        rows = rows[[len(self.game.legal_actions(state)) > 1 for state in plies.states[rows]]]
        return float(plies.target_entropy[rows].mean()) if len(rows) else math.nan


def loss_diverged(case: Case) -> str | None:
    """Find a network that does worse than an untrained one, because its training has diverged.

    An untrained network has a policy loss of ln A at most. Its value loss is the mean square of the targets
    of all cycles in the window, or ln 3 for win, draw and loss.
    """
    if not case.games:
        return None
    share = case.latest("replay/new_share")
    window = case.cycles[-math.ceil(1 / share) :] if share > 0 else case.cycles
    ended = case.values()[1]
    square = max([1 - stats.get("selfplay/draws", 0.0) for stats in window] + [(ended**2).mean()])
    config, limits = case.config, {}
    exact = config.get("train.policy_loss") == "cross_entropy"
    if case.game and exact and config.get("network.policy_output") == "logits":
        limits["policy"] = math.log(case.game.num_actions)
    limits["value"] = math.log(3) if config.get("network.value_output") == "wdl" else square
    found = [
        f"{name} loss {format_number(loss)}, untrained about {format_number(limit)}"
        for name, limit in limits.items()
        if (loss := case.latest(f"loss/{name}")) > DIVERGED * limit
    ]
    clip = "" if config.get("train.clip_norm") else ", or set train.clip_norm"
    return f"Training has diverged ({'; '.join(found)}): lower train.lr{clip}." if found else None


def value_sign(case: Case) -> str | None:
    """Find values of the wrong sign."""
    if len(case.games) < FEW_GAMES or not case.trained:
        return None
    expected, ended = case.values()
    if min(expected.std(), ended.std()) < CONSTANT:
        return None
    correlation = float(np.corrcoef(expected, ended)[0, 1])
    if correlation >= OPPOSITE:
        return None
    return (
        f"The search expects the opposite of how its games end (correlation {correlation:.2f}), so a sign is "
        "wrong: check with azero check_game that outcome and to_play mean the player to move."
    )


def value_constant(case: Case) -> str | None:
    """Find a value head that has learned nothing."""
    if len(case.games) < FEW_GAMES or not case.trained:
        return None
    expected, ended = case.values()
    if expected.std() >= CONSTANT or ended.std() < CONSTANT:
        return None
    return (
        f"All positions have nearly the same value ({expected.mean():.2f} ± {expected.std():.3f}): "
        "lower train.lr, or begin anew with run=NAME."
    )


def entropy_collapsed(case: Case) -> str | None:
    """Find a policy that no longer tries other moves."""
    from azero.search.algorithm import find_kind

    if not case.latest("selfplay/target_entropy") < COLLAPSED:
        return None
    entropy = case.entropy_of_choices()
    if not entropy < COLLAPSED:  # the others are forced moves
        return None
    widen = find_kind(case.config.get("search.kind", SearchConfig().kind)).widen
    return (
        f"The search tries nearly always one move only (policy targets have {entropy:.3f} nats), so it finds "
        f"nothing new: {widen}, or lower train.lr."
    )


def games_equal(case: Case) -> str | None:
    """Find self-play, or a match, that repeats its games."""
    played, distinct = case.latest("selfplay/games"), case.latest("selfplay/distinct_games")
    if played >= FEW_GAMES and distinct <= max(1.0, COPIES * played):
        return (
            f"Only {distinct:.0f} of the newest {played:.0f} games of self-play differ: raise "
            "selfplay.temperature or selfplay.temperature_plies, or set selfplay.opening_fraction and "
            "selfplay.opening_plies."
        )
    matched, distinct = case.latest("evaluate/games"), case.latest("evaluate/distinct")
    if matched >= FEW_GAMES and distinct <= max(2.0, COPIES * matched):
        return (
            f"Only {distinct:.0f} of the {matched:.0f} games of the match differ, so its score says little: "
            "set evaluate.opening_plies, or raise evaluate.temperature."
        )
    return None


def draws_only(case: Case) -> str | None:
    """Find games that are all drawn."""
    if len(case.games) < FEW_GAMES or not case.latest("selfplay/draws") >= DRAWN:
        return None
    return (
        "All games of self-play are drawn, so the value learns nothing more: start games at random positions "
        "with selfplay.opening_fraction and selfplay.opening_plies, or end the run if the game is a draw."
    )


def one_side_wins(case: Case) -> str | None:
    """Find games that one side always wins, which the network already expects."""
    first, second = case.latest("selfplay/first_wins"), case.latest("selfplay/second_wins")
    loss = case.latest("loss/value")
    if len(case.games) < FEW_GAMES or not (max(first, second) == 1.0 and loss < EXPECTED):
        return None
    side = "first" if first == 1.0 else "second"
    return (
        f"The {side} player wins every game of self-play, and the value loss is near 0 ({loss:.1g}), so the "
        "value learns nothing more: check with azero check_game that outcome means the player to move, or "
        "start games at random positions with selfplay.opening_fraction and selfplay.opening_plies."
    )


def window_overused(case: Case) -> str | None:
    """Find examples that are trained on too often."""
    new = case.latest("replay/new_share") * case.latest("replay/window_examples")
    uses = case.config.get("train.epochs", math.nan) * case.latest("replay/trained_examples") / max(new, 1.0)
    uses = min(uses, case.config.get("train.max_uses") or math.inf)
    if not uses > USES:
        return None
    return (
        f"Each example is trained on about {uses:.0f} times before it leaves the window, so the network "
        "overfits: lower train.epochs or train.window, set train.max_uses, or raise selfplay.games."
    )


def gate_never_passes(case: Case) -> str | None:
    """Find a gate that no candidate passes."""
    promoted = [stats["evaluate/promoted"] for stats in case.cycles if "evaluate/promoted" in stats]
    patience = LATELY if any(promoted) else NEVER
    if len(promoted) < patience or any(promoted[-patience:]):
        return None
    easier = "raise evaluate.games or lower evaluate.threshold"
    if case.config.get("evaluate.gate") == "sequential":
        easier = "raise evaluate.most_games or lower evaluate.elo1"
    return (
        f"No candidate of the last {patience} cycles was promoted, so self-play stands still: {easier}, set "
        "evaluate.gate=off, or lower train.lr if the score lies far below one half."
    )


def workers_idle(case: Case) -> str | None:
    """Find idle workers and empty batches."""
    idle, fill = case.latest("selfplay/idle_share"), case.latest("selfplay/batch_fill")
    if idle > IDLE:
        time = f"The workers of self-play have nothing to do for {format_share(idle)} of their time"
        return f"{time}: set fewer workers, or raise selfplay.games."
    if fill < EMPTY:
        return (
            f"Batches of self-play are {format_share(fill)} full, so the network computes mostly nothing: "
            "lower selfplay.concurrent_games and workers, or raise selfplay.games."
        )
    return None


def machine_busy(case: Case) -> str | None:
    """Find a stage that ran at less than half of its usual speed."""
    for stage, name, tag, change in SPEEDS:
        # the first cycle compiles; a change of settings is soon forgotten
        before = [stats[tag] for stats in case.cycles[1:-1][-RECENT_CYCLES:] if tag in stats]
        if len(before) < FEW_CYCLES or not case.latest(f"time/{stage}") > SHORT:
            continue
        share = case.latest(tag) / max(float(np.median(before)), 1e-9)
        if share < SLOW:
            slow = f"The last {name} ran at {format_share(share)} of its usual speed"
            return f"{slow}, beside other programs or on a hot machine: {change}."
    return None


def cluster_unbalanced(case: Case) -> str | None:
    """Find a cluster that waits for its head, in self-play or while the head trains."""
    workers, busy = case.latest("cluster/workers"), case.latest("cluster/head_busy")
    play = case.cycles[-1].get("cluster/play_seconds", case.latest("time/selfplay")) if case.cycles else 0.0
    overlap, match = case.config.get("cluster.overlap", False), case.latest("time/evaluate")
    rest = sum(stats for stats in (case.latest("time/train"), match) if stats >= 0)
    spread = case.latest("cluster/match_workers") > 0
    if spread:  # the workers play the match too
        play, rest = play + match, rest - match
    if busy > HEAD_BUSY and play > SHORT:
        enough = max(1, math.floor(workers * HEAD_BUSY / busy))
        return (
            f"The head of the cluster is busy for {format_share(busy)} of self-play, "
            f"so its {workers:.0f} workers wait for it: about {enough} workers are worth having."
        )
    if workers > 1 and rest > SHORT and play < UNBALANCED * rest:
        enough, more = max(1, math.ceil(workers * play / rest)), "raise selfplay.games"
        trains = "training takes" if spread else "training and the match take"
        return (
            f"The workers of the cluster play for {play:.0f} s of a cycle, and {trains} {rest:.0f} s: "
            f"{enough} of {workers:.0f} workers are worth having, or {more}"
            f"{'' if overlap else ', or set cluster.overlap=true'}."
        )
    return None


def games_left_out(case: Case) -> str | None:
    """Find games of which a cluster's workers died."""
    if not case.aside:
        return None
    last = case.aside[-1]
    games = ", ".join(f"game {entry.game} of cycle {entry.cycle}" for entry in case.aside)
    return (
        f"Self-play has left out {games}, because workers that played nothing else died of it "
        f"({last.reason}): play it again on one of their machines with python scripts/play_game.py."
    )


def files_gone(case: Case) -> str | None:
    """Find files of a person that the run needs and that are no longer there."""
    named = {key: str(case.config.get(key, "")) for key in OWN_FILES}
    gone = [
        f"{key}={name}" for key, name in named.items() if name.endswith(".py") and not Path(name).exists()
    ]
    return f"{' and '.join(gone)} cannot be found: put what is missing back." if gone else None


def champion_damaged(case: Case) -> str | None:
    """Find a champion whose file is not what was written."""
    return case.damage.replace("; put", ": put", 1) or None


CHECKS: dict[str, Callable[[Case], str | None]] = {
    "files": files_gone,
    "champion": champion_damaged,
    "loss": loss_diverged,
    "value sign": value_sign,
    "value head": value_constant,
    "policy": entropy_collapsed,
    "games": games_equal,
    "draws": draws_only,
    "one side": one_side_wins,
    "window": window_overused,
    "gate": gate_never_passes,
    "workers": workers_idle,
    "machine": machine_busy,
    "cluster": cluster_unbalanced,
    "left out": games_left_out,
}


def examine(case: Case) -> dict[str, str]:
    """Run all checks. Return a sentence for each finding, by its subject."""
    found = {about: check(case) for about, check in CHECKS.items()}
    return {about: sentence for about, sentence in found.items() if sentence is not None}


def rules_of(run: Run) -> Game | None:
    """Return the rules that a run's own state names; None if they cannot be read, as when a file is gone.

    Such a file is run: only for a person who has named the run.
    """
    try:
        return game_of_settings(run.state.config)
    except UserError:
        return None


def case_of(run: Run, game: Game | None) -> Case:
    """Read what the run's files hold. game: its rules; None runs none."""
    cycles = [*read_stats(run.paths.metrics_csv, run.state.cycle).values()]
    damage = ""
    try:
        if run.state.champion is not None:
            run.read_champion()
    except UserError as found:
        damage = str(found)
    return Case(run.state.config, cycles, newest_games(run, game), run.state.aside, game, damage)


def newest_games(run: Run, game: Game | None = None) -> list[GameRecord]:
    """Return the games of the newest cycle that has some; none where a file is damaged.

    Only games that were read with the rules may meet them: others may hold positions that no rules made.
    """
    from azero.replay.shards import load_games

    newest = max((shard.cycle for shard in run.state.shards), default=0)
    shards = [shard for shard in run.state.shards if shard.cycle == newest]
    try:
        read = [load_games(run.read_file(shard), shard.file, game) for shard in shards]
        return [record for plies in read for record in plies.games()]
    except DamagedFile:
        return []
