"""`python -m azero.doctor`: does a run learn, and if something is in its way, what to do?

It looks at the figures of the finished cycles (`metrics.csv`) and at the newest games, and changes nothing. Each check is a pure
function that answers with one sentence, or with None where all is well. Exit status 0 exactly when nothing was found.

Letters: T searched plies of all games together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from azero.command_line import program
from azero.config import Config
from azero.files.disk import DamagedFile
from azero.monitoring.metrics_csv import read_rows
from azero.run import Run

if TYPE_CHECKING:
    from azero.examples import GameRecord

FEW_GAMES = 20  # fewer say nothing about a run
OPPOSITE = -0.3  # correlation of values and outcomes
CONSTANT = 0.02  # standard deviation of values between -1 and 1
COLLAPSED = 0.05  # nats: one move gets 99 % in the mean
COPIES = 0.05  # share of games that are distinct
DRAWN = 0.99  # share of games
USES = 50.0  # of each example in training; AlphaZero's were used about once, those of small runs about ten times
IDLE = 0.3  # share of the lanes' time
EMPTY = 0.25  # share of batches' rows that carry a position
WRONGLY = 0.05  # share of resignations; AlphaGo Zero kept its threshold where it was less
NEVER, LATELY = 5, 8  # cycles without a promotion: from the beginning on, and after one


@dataclass(frozen=True)
class Case:
    """What is known of a run.

    Attributes:
        config: its settings by dotted key.
        cycles: the figures of each finished cycle by tag, oldest first.
        games: the newest ones.
    """

    config: Mapping[str, Any]
    cycles: Sequence[Mapping[str, float]]
    games: Sequence[GameRecord]

    def latest(self, tag: str) -> float:
        """A figure of the newest cycle; nan, which compares as False, where there is none."""
        return self.cycles[-1].get(tag, math.nan) if self.cycles else math.nan

    @property
    def trained(self) -> bool:
        """Whether the newest games were played by a network that had been trained."""
        return any(figures.get("evaluate/promoted") for figures in self.cycles[:-1])

    def values(self) -> tuple[np.ndarray, np.ndarray]:
        """What the search expected and how the game ended, [T] each, both for the player to move."""
        from azero.examples import outcome_for_mover

        expected = np.concatenate([record.root_value[record.searched] for record in self.games])
        return expected, np.concatenate([outcome_for_mover(record)[record.searched] for record in self.games])


def value_sign(case: Case) -> str | None:
    """Values that say the opposite of what comes."""
    if len(case.games) < FEW_GAMES or not case.trained:
        return None
    expected, ended = case.values()
    if min(expected.std(), ended.std()) < CONSTANT:
        return None
    correlation = float(np.corrcoef(expected, ended)[0, 1])
    if correlation >= OPPOSITE:
        return None
    return (
        f"The search expects the opposite of how its games end (correlation {correlation:.2f}), so a sign is wrong: see with "
        "python -m azero.check_game whether outcome and to_play of the rules are meant for the player to move."
    )


def value_constant(case: Case) -> str | None:
    """A value head that has given up."""
    if len(case.games) < FEW_GAMES or not case.trained:
        return None
    expected, ended = case.values()
    if expected.std() >= CONSTANT or ended.std() < CONSTANT:
        return None
    return (
        f"All positions have nearly the same value ({expected.mean():.2f} ± {expected.std():.3f}) though games end differently, "
        "so the value head has learned nothing: lower train.lr, raise train.value_weight, or begin anew with run=NAME."
    )


def entropy_collapsed(case: Case) -> str | None:
    """A policy that tries nothing else any more."""
    entropy = case.latest("selfplay/target_entropy")
    if not entropy < COLLAPSED:
        return None
    wider = "search.dirichlet_fraction or search.c_puct"
    if case.config.get("search.kind") == "gumbel":  # which uses neither
        wider = "selfplay.temperature or selfplay.opening_fraction, lower search.value_scale"
    return (
        f"The search nearly always tries one move only (policy targets have {entropy:.3f} nats), so nothing new is found: raise "
        f"{wider}, or lower train.lr."
    )


def games_equal(case: Case) -> str | None:
    """Self-play, or a match, that plays the same over and over."""
    played, distinct = case.latest("selfplay/games"), case.latest("selfplay/distinct_games")
    if played >= FEW_GAMES and distinct <= max(1.0, COPIES * played):
        return (
            f"Only {distinct:.0f} of the newest {played:.0f} games of self-play differ, so there is little to learn from: raise "
            "selfplay.temperature or selfplay.temperature_plies, or set selfplay.opening_fraction and selfplay.opening_plies."
        )
    matched, distinct = case.latest("evaluate/games"), case.latest("evaluate/distinct")
    if matched >= FEW_GAMES and distinct <= max(2.0, COPIES * matched):
        return (
            f"Only {distinct:.0f} of the {matched:.0f} games of the match differ, so its score says little: set "
            "evaluate.opening_plies, or raise evaluate.temperature."
        )
    return None


def draws_only(case: Case) -> str | None:
    """Outcomes that are all the same."""
    if len(case.games) < FEW_GAMES or not case.latest("selfplay/draws") >= DRAWN:
        return None
    return (
        "All games of self-play are drawn, so the value learns nothing more: let games begin at random positions with "
        "selfplay.opening_fraction and selfplay.opening_plies, or end the run if the game is a draw and the champion plays it."
    )


def window_overused(case: Case) -> str | None:
    """Examples that are learned by heart."""
    new = case.latest("replay/new_share") * case.latest("replay/window_examples")
    uses = case.config.get("train.epochs", math.nan) * case.latest("replay/trained_examples") / max(new, 1.0)
    uses = min(uses, case.config.get("train.max_uses") or math.inf)
    if not uses > USES:
        return None
    return (
        f"Each example is trained on about {uses:.0f} times before it leaves the window, so the network learns games by heart: "
        "lower train.epochs or train.window, set train.max_uses, or raise selfplay.games."
    )


def gate_never_passes(case: Case) -> str | None:
    """Candidates that are turned away, one after the other."""
    promoted = [figures["evaluate/promoted"] for figures in case.cycles if "evaluate/promoted" in figures]
    patience = LATELY if any(promoted) else NEVER
    if len(promoted) < patience or any(promoted[-patience:]):
        return None
    easier = "raise evaluate.games or lower evaluate.threshold"
    if case.config.get("evaluate.gate") == "sequential":
        easier = "raise evaluate.most_games or lower evaluate.elo1"
    return (
        f"No candidate of the last {patience} cycles was promoted, so self-play stands still: {easier}, set evaluate.gate=off, "
        "or lower train.lr if the score lies far below one half."
    )


def lanes_idle(case: Case) -> str | None:
    """Time and room that nobody uses."""
    idle, fill = case.latest("selfplay/idle_share"), case.latest("selfplay/batch_fill")
    if idle > IDLE:
        return (
            f"The lanes of self-play have nothing to do for {idle:.0%} of their time: set fewer lanes, or raise selfplay.games."
        )
    if fill < EMPTY:
        return (
            f"Batches of self-play are {fill:.0%} full, so the network computes mostly nothing: lower selfplay.concurrent_games "
            "and lanes, or raise selfplay.games."
        )
    return None


def resigned_wrongly(case: Case) -> str | None:
    """Games given up that need not have been lost."""
    measured, wrong = case.latest("selfplay/resign_measured"), case.latest("selfplay/resign_false_positives")
    if not (measured >= FEW_GAMES and wrong > WRONGLY):
        return None
    return (
        f"In {wrong:.0%} of {measured:.0f} games that were played on, who would have resigned did not lose, so resigning "
        "teaches falsehoods: lower selfplay.resign_threshold, or set it to -1 until values are better."
    )


CHECKS: dict[str, Callable[[Case], str | None]] = {
    "value sign": value_sign,
    "value head": value_constant,
    "policy": entropy_collapsed,
    "games": games_equal,
    "draws": draws_only,
    "window": window_overused,
    "gate": gate_never_passes,
    "lanes": lanes_idle,
    "resignation": resigned_wrongly,
}


def examine(case: Case) -> dict[str, str]:
    """What was found, a sentence each, by what it is about."""
    found = {about: check(case) for about, check in CHECKS.items()}
    return {about: sentence for about, sentence in found.items() if sentence is not None}


def case_of(run: Run) -> Case:
    """What the run's files tell."""
    rows = [(cycle, figures) for cycle, figures in read_rows(run.paths.metrics_csv) if 1 <= cycle <= run.state.cycle]
    cycles = [{tag: float(text) for tag, text in figures.items() if text} for _, figures in sorted(rows, key=lambda row: row[0])]
    return Case(run.state.config, cycles, newest_games(run))


def newest_games(run: Run) -> list[GameRecord]:
    """The games of the newest cycle that has some; none where a file is damaged, which training will tell."""
    from azero.replay import load_games

    newest = max((shard.cycle for shard in run.state.shards), default=0)
    shards = [shard for shard in run.state.shards if shard.cycle == newest]
    try:
        return [game for shard in shards for game in load_games(run.read_file(shard), shard.file)]
    except DamagedFile:
        return []


def main(config: Config, name: str) -> int:
    """Print what is in the way of a run; 0 when nothing is, else 1."""
    run = Run.read(config, name)
    found = examine(case_of(run))
    for about, sentence in found.items():
        print(f"{about}: {sentence}")
    if not found:
        print(f"Nothing found in {run.state.cycle} cycles of run {name}.")
    return 1 if found else 0


if __name__ == "__main__":
    program(main)
