"""How a run computes its network: chosen once, kept with the run, and chosen again only where it does not fit what is asked."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np

from azero.config import Config
from azero.games.game import Game
from azero.metrics import Reporter
from azero.network.backends import obstacle
from azero.network.choosing import choose_inference, safe_choice
from azero.network.inference import InferenceChoice, resolve_device
from azero.network.model import Network
from azero.run import Run


def batch_rows(config: Config) -> int:
    """Games in flight in one lane, which is the batch shape: as set, else a quarter of the stage's games, between 16 and 256.

    It does not look at the number of lanes: evaluations in another shape could differ in their last bit.
    """
    if config.selfplay.concurrent_games:
        return config.selfplay.concurrent_games
    return min(256, max(16, 1 << max(1, config.selfplay.games // 4).bit_length() - 1))


def ensure_choice(run: Run, config: Config, game: Game, network: Network, report: Reporter) -> InferenceChoice:
    """The run's way to compute its network: the one stored in the state as long as it fits, so that timing noise changes no run.

    Where it does not fit what is asked for now, it is chosen again and committed.

    Raises:
        UserError: a GPU is asked for and there is none, or no precision gives the right answers.
    """
    device = device_for(config)
    stored = None if run.state.inference is None else InferenceChoice(**run.state.inference)
    changes = [] if stored is None else misfits(stored, config, device)
    if stored is not None and not changes:
        return choice_for(stored, network, "champion", game, report)
    planes = positions_to_time(game, batch_rows(config), config.seed)
    choice = choose_inference(network, game, config.inference, device, batch_rows(config), planes)
    run.commit(replace(run.state, inference=asdict(choice)))
    report.message(describe(choice, changes))
    return choice_for(choice, network, "champion", game, report)


def choice_for(choice: InferenceChoice, network: Network, name: str, game: Game, report: Reporter) -> InferenceChoice:
    """The run's choice as far as it suits one network of that name: where int8 strays too far, it is told and left for now."""
    safe = safe_choice(choice, network, game)
    if safe != choice:
        report.message(f"The {name} strays too far in {choice.precision}; it is computed in {safe.precision}.")
    return safe


def device_for(config: Config) -> str:
    """Where the network is computed on leaves: "cuda" or "cpu". Who asks for OpenVINO, or for int8, and leaves the device open
    means the CPU.

    Raises:
        UserError: a GPU is asked for and there is none.
    """
    openvino = config.inference.backend == "openvino" or config.inference.precision == "int8"
    return "cpu" if openvino and config.device == "auto" else resolve_device(config.device)


def misfits(stored: InferenceChoice, config: Config, device: str) -> list[str]:
    """Why a stored choice cannot stay: what it has otherwise than asked, each as "name old → new", and what is not here any more.

    "auto" asks for nothing. `device`: resolved.
    """
    asked = {
        "device": device,
        "backend": config.inference.backend,
        "precision": config.inference.precision,
        "batch_size": batch_rows(config),
    }
    had = asdict(stored)
    changes = [f"{name} {had[name]} → {wish}" for name, wish in asked.items() if wish not in ("auto", had[name])]
    gone = None if changes else obstacle(stored.backend, stored.precision, device)
    return [*changes, *([gone.split(";")[0]] if gone else [])]


def describe(choice: InferenceChoice, changes: list[str]) -> str:
    """The choice as a message, with the reason why it was made again, and a warning where games depend on more than the seed."""
    again = f" (chosen again: {', '.join(changes)})" if changes else ""
    text = f"inference{again}: {choice.backend} {choice.precision} on {choice.device}, "
    text += f"batches of {choice.batch_size}, {choice.evaluations_per_second:,.0f} evaluations/s"
    if not choice.rows_independent:
        text += (
            ".\nWarning: on this machine an evaluation depends on its place in the batch, so games may differ with the number of "
            "lanes and after an interruption."
        )
    return text


def positions_to_time(game: Game, count: int, seed: int) -> np.ndarray:
    """[count, C, H, W] planes of positions of random play, for timing and comparing backends."""
    rng = np.random.default_rng(seed)
    planes = np.zeros((count, *game.planes_shape), np.float32)
    state = game.initial_state()
    for row in range(count):
        planes[row] = game.planes(state)
        state = game.step(state, int(rng.choice(game.legal_actions(state))))
        if game.is_terminal(state):
            state = game.initial_state()
    return planes
