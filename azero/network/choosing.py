"""Which backend computes a network here: what is installed is timed on real positions and compared with torch fp32."""

from __future__ import annotations

import copy
import time
from dataclasses import replace

import numpy as np
import torch
from torch.nn.functional import softmax

from azero.config import InferenceConfig, UserError
from azero.games.game import Game
from azero.network.backends import candidates, make_inference
from azero.network.folded import FoldedNetwork, policy_logits
from azero.network.inference import Inference, InferenceChoice, resolve_device
from azero.network.int8 import own_play
from azero.network.model import Network

# How far a probability or a value may stray from torch fp32. Measured in bf16 with 6 blocks x 64 channels: untrained networks
# stray by up to 0.13 (four games, four kinds of networks, twelve seeds each), trained ones by 0.02; a wrong graph by more.
LIMITS = {"fp32": 1e-3, "bf16": 0.2, "int8": 0.2}
SPEED_MARGIN = 1.15  # bf16 must be this much faster than fp32, so that noise in the timing does not decide
SMALLEST_BATCH = 8  # torch gives rows of smaller batches other bits
TIMING_SECONDS = 0.1  # for each backend and precision


def choose_inference(
    network: Network, game: Game, config: InferenceConfig, device: str, batch_size: int, planes: np.ndarray
) -> InferenceChoice:
    """Find the fastest way to compute a network here that gives the right answers.

    What the config leaves to "auto" is timed, for about half a second in all; what it names is obeyed.

    Args:
        network: any network of the run; the choice holds for all of them.
        game: its game.
        config: what is asked for.
        device: "auto", "cpu" or "cuda".
        batch_size: B.
        planes: [any number, C, H, W] float32 of real positions, to compare and time with.

    Raises:
        UserError: what is asked for is not here, or nothing that is allowed gives the answers of torch fp32.
    """
    device = resolve_device(device)
    batch = np.ascontiguousarray(np.resize(planes, (batch_size, *game.planes_shape)), np.float32)
    timed = []
    for backend, precision in candidates(config.backend, config.precision, device):
        choice = InferenceChoice(backend, precision, batch_size, device, 0.0)
        inference = make_inference(network, game, choice)
        timed.append((replace(choice, evaluations_per_second=measure(inference, batch)), inference))
    timed.sort(key=lambda pair: merit(pair[0]), reverse=True)
    chosen = first_right(timed, batch, answers_of(network, batch) if config.precision == "auto" else None)
    return with_smaller_batches(network, game, chosen, batch)


def first_right(
    timed: list[tuple[InferenceChoice, Inference]], planes: np.ndarray, answers: tuple[np.ndarray, np.ndarray] | None
) -> InferenceChoice:
    """The first way whose rows do not depend on their place, else the first; ways that stray too far from `answers` are left out.

    The checks take longer than the timing, and the first way mostly passes, so the others are not looked at unless it fails.

    Raises:
        UserError: all stray too far.
    """
    dependent = []
    for choice, inference in timed:
        if answers is not None and distance(answers, inference.infer(planes)) > LIMITS[choice.precision]:
            continue
        if rows_are_independent(inference, planes):
            return choice
        dependent.append(replace(choice, rows_independent=False))
    if not dependent:
        raise UserError("No precision gives the network's own answers on this machine; set inference.precision to force one.")
    return dependent[0]


def with_smaller_batches(network: Network, game: Game, choice: InferenceChoice, planes: np.ndarray) -> InferenceChoice:
    """The choice with every half of a batch, down to SMALLEST_BATCH, that gives each position the bits which B gives it.

    On a GPU a batch costs one launch whatever its size, and every size would be a graph of its own: there it stays at B.
    """
    sizes = [choice.batch_size]
    while choice.device == "cpu" and choice.rows_independent and sizes[0] >= 2 * SMALLEST_BATCH and sizes[0] % 2 == 0:
        sizes.insert(0, sizes[0] // 2)
    tried = replace(choice, batches=tuple(sizes))
    inference = make_inference(network, game, tried)
    logits, value = inference.infer(planes)
    equal = []
    for size in sizes[:-1]:
        parts = [inference.infer(planes[start : start + size]) for start in range(0, len(planes), size)]
        same_logits = np.array_equal(np.concatenate([part for part, _ in parts]), logits)
        if same_logits and np.array_equal(np.concatenate([part for _, part in parts]), value):
            equal.append(size)
    return replace(choice, batches=(*equal, choice.batch_size))


def safe_choice(choice: InferenceChoice, network: Network, game: Game) -> InferenceChoice:
    """The choice for one network: int8 only where it answers like torch fp32 on the network's own play, else bf16 or fp32."""
    if choice.precision != "int8":
        return choice
    planes = np.concatenate(list(own_play(FoldedNetwork(network), game)))
    if strays(network, make_inference(network, game, replace(choice, batch_size=len(planes))), planes) <= LIMITS["int8"]:
        return choice
    _, precision = candidates(choice.backend, "auto", choice.device)[-1]
    return replace(choice, precision=precision)


def merit(choice: InferenceChoice) -> float:
    """Evaluations a second, fp32's with SPEED_MARGIN."""
    return choice.evaluations_per_second * (SPEED_MARGIN if choice.precision == "fp32" else 1.0)


def rows_are_independent(inference: Inference, planes: np.ndarray) -> bool:
    """Whether each position of a batch gets the same bits wherever it stands."""
    logits, value = inference.infer(planes)
    for shift in (1, 7, 16, len(planes) // 2):
        shifted = inference.infer(np.ascontiguousarray(np.roll(planes, shift, axis=0)))
        if not (np.array_equal(np.roll(logits, shift, axis=0), shifted[0]) and np.array_equal(np.roll(value, shift), shifted[1])):
            return False
    return True


def strays(network: Network, inference: Inference, planes: np.ndarray) -> float:
    """How far an inference's move probabilities and values stray at most from torch fp32 on the CPU; infinite when not finite."""
    return distance(answers_of(network, planes), inference.infer(planes))


def distance(answers: tuple[np.ndarray, np.ndarray], others: tuple[np.ndarray, np.ndarray]) -> float:
    """How far two answers lie apart at most in a move probability or a value; infinite when that is not finite."""
    moves, values = apart(answers, others)
    most = max(moves.max(), values.max())
    return float(most) if np.isfinite(most) else float("inf")


def answers_of(network: Network, planes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The network's own answers by torch fp32 on the CPU, as `Inference.infer` gives them."""
    with torch.inference_mode():
        policy_output, value = copy.deepcopy(network).cpu().float().eval()(torch.from_numpy(planes))
        return policy_logits(policy_output, network.config.policy_output == "linear").numpy(), value.numpy()


def apart(answers: tuple[np.ndarray, np.ndarray], others: tuple[np.ndarray, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """How far two answers lie apart: move probabilities [B, A] and values [B], without a sign."""
    chances = [softmax(torch.from_numpy(logits), dim=1).numpy() for logits in (answers[0], others[0])]
    return np.abs(chances[0] - chances[1]), np.abs(answers[1] - others[1])


def measure(inference: Inference, planes: np.ndarray) -> float:
    """Evaluations a second: the best of several rounds, since noise only slows."""
    inference.infer(planes)  # the first call of a shape prepares
    rounds: list[float] = []
    end = time.perf_counter() + TIMING_SECONDS
    while len(rounds) < 2 or time.perf_counter() < end:
        start = time.perf_counter()
        inference.infer(planes)
        rounds.append(time.perf_counter() - start)
    best = min(rounds)
    return round(inference.batch_size / best, 1)
