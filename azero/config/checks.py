"""Check a config: choices, ranges, and settings that do not go together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from azero.config.reading import check_value
from azero.config.schema import (
    Config,
    EvaluateConfig,
    SelfplayConfig,
    TrainConfig,
    UserError,
    flatten,
    is_certain,
    settings,
)


def check(config: Config) -> None:
    """Check every setting alone and together with the others.

    Raises:
        UserError: names the key, its value and what is allowed.
    """
    check_values(flatten(config))
    for conflict in conflicts(config):
        raise UserError(conflict)


def check_values(leaves: Mapping[str, Any]) -> None:
    """Check some settings, each alone.

    Raises:
        UserError: names the key, its value and what is allowed.
    """
    for key, value in leaves.items():
        check_value(key, value, settings()[key])


def conflicts(config: Config) -> Iterator[str]:
    """Yield a sentence for each combination of settings that does not work."""
    network, selfplay, train = config.network, config.selfplay, config.train
    if network.policy_output == "linear" and train.policy_loss == "cross_entropy":
        yield "network.policy_output=linear needs the squared error; set train.policy_loss=mse."
    if network.options and not network.file:
        yield "network.options are for a network of your own; set network.file, or leave them out."
    if network.occupation and network.file:
        yield "network.occupation=true needs azero's own network; set it to false, or leave network.file out."
    if config.cluster.overlap and not config.cluster.address:
        yield "cluster.overlap=true needs the workers of a cluster; set cluster.address, or turn it off."
    proving = [f"search.{name}" for name in ("exact_plies", "forced_nodes") if getattr(config.search, name)]
    if proving and not config.search.solver:
        off = " ".join(f"{name}=0" for name in proving)
        yield f"search.solver=false rules out {' and '.join(proving)}; set search.solver=true, or {off}."
    yield from training_conflicts(train)
    yield from selfplay_conflicts(selfplay)
    yield from match_conflicts(config.evaluate)


def training_conflicts(train: TrainConfig) -> Iterator[str]:
    """Yield what is wrong with the window and the schedule of the learning rate."""
    if train.window < train.batch_size:
        yield (
            f"train.window={train.window} is smaller than train.batch_size={train.batch_size}; "
            "enlarge the window."
        )
    if train.schedule == "step" and not train.milestones:
        yield "train.schedule=step needs train.milestones; set them, such as [0.5,0.75]."
    milestones = f"train.milestones={train.milestones}"
    if train.milestones and train.schedule != "step":
        yield f"{milestones} has no effect with train.schedule={train.schedule}; set train.schedule=step."
    if train.milestones != sorted(train.milestones) or not all(0 <= each <= 1 for each in train.milestones):
        yield f"{milestones} must be rising shares of a cycle, each between 0 and 1."


def selfplay_conflicts(selfplay: SelfplayConfig) -> Iterator[str]:
    """Yield what is wrong with openings."""
    plies = "selfplay.opening_plies"
    share, final = selfplay.opening_plies_share, selfplay.opening_plies_final
    if (share > 0) != (final > 0):
        yield f"{plies}_share={share:g} does not go with {plies}_final={final}; set both or neither."
    if selfplay.opening_fraction and not selfplay.opening_plies:
        yield f"selfplay.opening_fraction is above 0 but {plies}=0; set {plies} above 0."
    if bool(selfplay.book) != (selfplay.book_fraction > 0):
        yield (
            f"selfplay.book={selfplay.book} does not go with selfplay.book_fraction="
            f"{selfplay.book_fraction:g}; set both or neither."
        )


def match_conflicts(evaluate: EvaluateConfig) -> Iterator[str]:
    """Yield what is wrong with the numbers of games, the opponents and the variety of a match."""
    for key in ("games", "anchor_games"):
        if (games := getattr(evaluate, key)) % 2:
            yield f"evaluate.{key}={games} must be even, because each opening is played with both colours."
    anchors = evaluate.anchors
    if anchors != sorted(set(anchors)) or any(simulations < 1 for simulations in anchors):
        yield f"evaluate.anchors={anchors} must be rising numbers of simulations, each 1 or more."
    if evaluate.gate == "sequential":
        games, most = evaluate.games, evaluate.most_games
        if not games:
            yield "evaluate.gate=sequential needs games; set evaluate.games above 0, or turn the gate off."
        if not evaluate.elo0 < evaluate.elo1:
            yield f"evaluate.elo0={evaluate.elo0} must lie below evaluate.elo1={evaluate.elo1}."
        if most % 2 or most < games:
            yield f"evaluate.most_games={most} must be even and at least evaluate.games={games}."
    if evaluate.games and is_certain(evaluate) and evaluate.opening_plies == 0:
        yield (
            f"evaluate.temperature={evaluate.temperature:g} with evaluate.temperature_plies="
            f"{evaluate.temperature_plies} and evaluate.opening_plies=0 repeats one game; "
            "set evaluate.opening_plies above 0."
        )
