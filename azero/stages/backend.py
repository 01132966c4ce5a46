"""How a run computes its network: chosen once, kept, and chosen again only where it no longer fits."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import islice

import numpy as np

from azero.config.schema import Config
from azero.games.game import Game
from azero.games.playing import random_game
from azero.network.backends import obstacle
from azero.network.choosing import choose_inference, safe_choice
from azero.network.inference import InferenceChoice, device_for
from azero.network.model import Network
from azero.report.reporter import Reporter
from azero.run.run import Run


def batch_rows(config: Config) -> int:
    """Return the rows of a batch: as set, else a quarter of the stage's games, between 16 and 256.

    It does not look at the number of workers: evaluations in another shape could differ in their last bit.
    """
    if config.selfplay.concurrent_games:
        return config.selfplay.concurrent_games
    return min(256, max(16, 1 << max(1, config.selfplay.games // 4).bit_length() - 1))


def ensure_choice(
    run: Run, config: Config, game: Game, network: Network, report: Reporter
) -> InferenceChoice:
    """Return the run's stored choice while it fits, so that timing noise changes no run.

    Otherwise choose again and commit.

    Raises:
        UserError: the GPU asked for is missing, or no precision gives the right answers.
    """
    device = device_for(config)
    choice = InferenceChoice(**run.state.inference) if run.state.inference else None
    changes = misfits(choice, config, device) if choice else []
    if choice is None or changes:
        rows = batch_rows(config)
        planes = positions_to_time(game, rows, config.seed)
        choice = choose_inference(network, game, config.inference, device, rows, planes, report.message)
        run.commit(replace(run.state, inference=asdict(choice)))
        report.message(describe(choice, changes))
    return choice_for(choice, network, "champion", game, report)


def choice_for(
    choice: InferenceChoice, network: Network, name: str, game: Game, report: Reporter
) -> InferenceChoice:
    """Return the run's choice, or a safer one, with a message, where int8 strays too far for this network."""
    safe = safe_choice(choice, network, game)
    if safe != choice:
        strays = f"The {name} strays too far in {choice.precision}"
        report.message(f"{strays}; it is computed in {safe.precision}.")
    return safe


def misfits(stored: InferenceChoice, config: Config, device: str) -> list[str]:
    """Return why a stored choice cannot stay: each difference as "name old → new", or what is missing here.

    "auto" asks for nothing; `device` is resolved.
    """
    asked = {
        "device": device,
        "backend": config.inference.backend,
        "precision": config.inference.precision,
        "batch_size": batch_rows(config),
    }
    had = asdict(stored)
    differing = [name for name, wish in asked.items() if wish not in ("auto", had[name])]
    if differing:
        return [f"{name} {had[name]} → {asked[name]}" for name in differing]
    gone = obstacle(stored.backend, stored.precision, device)
    return [gone.split(";")[0]] if gone else []


def describe(choice: InferenceChoice, changes: list[str]) -> str:
    """Describe the choice, why it was made again, and warn where games depend on more than the seed."""
    again = f" (chosen again: {', '.join(changes)})" if changes else ""
    text = f"inference{again}: {choice.backend} {choice.precision} on {choice.device}, "
    text += f"batches of {choice.batch_size}, {choice.evaluations_per_second:,.0f} evaluations/s"
    if not choice.rows_independent:
        text += ".\nWarning: on this machine an evaluation depends on its place in the batch, "
        text += "so games may differ with the number of workers and after an interruption."
    return text


def positions_to_time(game: Game, count: int, seed: int) -> np.ndarray:
    """Return planes [count, C, H, W] of positions of random play, to time and compare backends with."""
    rng, planes = np.random.default_rng(seed), list[np.ndarray]()
    while len(planes) < count:
        states = islice(random_game(game, rng), count - len(planes))
        planes += [game.planes(state) for state in states if not game.is_terminal(state)]
    return np.stack(planes)
