"""Which backend computes a network here: all are timed on real positions and compared with torch fp32.

Letters: B a batch, A actions, C H W planes.
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from itertools import repeat
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.nn.functional import softmax

from azero.config.schema import InferenceConfig, UserError
from azero.games.game import Game
from azero.network.backends import candidates, make_inference
from azero.network.folded import folded, policy_logits
from azero.network.inference import Inference, InferenceChoice, gathers, resolve_device
from azero.network.int8 import own_play
from azero.network.model import Network
from azero.network.openvino_inference import OpenVinoInference

# The largest deviation of a probability or a value from torch fp32. Measured in bf16 with 6 blocks x 64
# channels: up to 0.13 for untrained networks (four games, four kinds of networks, twelve seeds each), 0.02
# for trained ones; more for a wrong graph.
LIMITS = {"fp32": 1e-3, "fp16": 0.2, "bf16": 0.2, "int8": 0.2}
# Factors on the measured speed. bf16 must be 1.15 times as fast as fp32, so that noise in the timing does not
# decide. int8 must be 1.4 times as fast as bf16, because it measures its levels for every network. fp16 is
# for GPUs without bf16 (T4, P100); where both are fast, bf16 has the greater range.
FACTORS = {"fp32": 1.15, "fp16": 1 / 1.15, "bf16": 1.0, "int8": 1 / 1.4}
# How many times as fast on a GPU a choice must be whose rows depend on their place in the batch. bf16 can be
# nine times as fast there as fp32, which is worth more than games that do not depend on the workers' number.
DEPENDENT_SPEEDUP = 2.0
INT8_CHANNELS = 64  # from which "auto" tries int8; below, it was not measured
SMALLEST_BATCH = 8  # torch gives rows of smaller batches other bits
MOVES_TIMED = 48  # of each position, where a backend sends the logits of legal moves only: those of chess
TIMING_SECONDS = 0.1  # for each backend and precision

Answers = tuple[np.ndarray, np.ndarray]  # of `Inference.infer`: policy logits [B, A] and value [B]


def choose_inference(
    network: Network,
    game: Game,
    config: InferenceConfig,
    device: str,
    batch_size: int,
    planes: np.ndarray,
    tell: Callable[[str], None] = lambda text: None,
) -> InferenceChoice:
    """Find the fastest way to compute a network here that gives the right answers.

    Settings on "auto" are timed, for about half a second in all; others are obeyed. If int8 is the fastest,
    its levels are measured too, which takes a second or more.

    Args:
        network: any network of the run; the choice holds for all of them.
        game: its game.
        config: the settings.
        device: "auto", "cpu", "cuda" or "mps".
        batch_size: B.
        planes: [any number, C, H, W] float32 of real positions, to compare and time with.
        tell: receives a sentence for each faster way that is not taken, and why.

    Raises:
        UserError: this machine lacks what the settings ask for, or no way gives the answers of torch fp32.
    """
    device = resolve_device(device)
    batch = np.ascontiguousarray(np.resize(planes, (batch_size, *game.planes_shape)), np.float32)
    timed = []
    for backend, precision in worth_timing(network, config, device):
        choice = InferenceChoice(backend, precision, batch_size, device, 0.0)
        inference = make_to_time(network, game, choice)
        timed.append((replace(choice, evaluations_per_second=measure(inference, batch)), inference))

    timed.sort(key=lambda pair: pair[0].evaluations_per_second * FACTORS[pair[0].precision], reverse=True)
    made = (
        (choice, make_inference(network, game, choice) if choice.precision == "int8" else inference)
        for choice, inference in timed
    )
    answers = answers_of(network, batch) if config.precision == "auto" else None
    chosen = first_right(made, batch, answers, tell)
    return with_smaller_batches(network, game, chosen, batch)


def worth_timing(network: Network, config: InferenceConfig, device: str) -> list[tuple[str, str]]:
    """Return the pairs (backend, precision) that are allowed and can be the best for a network.

    Raises:
        UserError: this machine lacks what the settings ask for.
    """
    pairs = candidates(config.backend, config.precision, device)
    has_openvino = any(backend == "openvino" for backend, _ in pairs)
    with_int8 = config.precision == "auto" and has_openvino and is_wide(network)
    return [*pairs, ("openvino", "int8")] if with_int8 else pairs


def is_wide(network: Network) -> bool:
    """Return whether "auto" tries int8 for a network."""
    own = [layer.out_channels for layer in network.modules() if isinstance(layer, nn.Conv2d)]
    return max(own if network.config.file else [network.config.channels], default=0) >= INT8_CHANNELS


def make_to_time(network: Network, game: Game, choice: InferenceChoice) -> Inference:
    """Return an inference that is as fast as the choice's; in int8 its levels and answers are wrong."""
    if choice.precision != "int8":
        return make_inference(network, game, choice)
    return OpenVinoInference(folded(network).cpu().eval(), repeat((0.0, 1.0)), game, choice)


def first_right(
    timed: Iterable[tuple[InferenceChoice, Inference]],
    planes: np.ndarray,
    answers: Answers | None,
    tell: Callable[[str], None],
) -> InferenceChoice:
    """Return the first choice whose rows do not depend on their place in the batch.

    Where all depend, or on a GPU that one is too slow by DEPENDENT_SPEEDUP, the first choice is returned.
    Choices that deviate too far from `answers` are left out. The checks take longer than the timing and the
    first choice mostly passes, so the others are checked only if it fails.

    Raises:
        UserError: all choices deviate too far.
    """
    dependent: list[InferenceChoice] = []
    independent = None
    for choice, inference in timed:
        deviation = distance(answers, inference.infer(planes)) if answers is not None else 0.0
        if deviation > LIMITS[choice.precision]:
            tell(f"{rate_of(choice)} is not used, because it differs by {deviation:.2g} from fp32.")
        elif rows_are_independent(inference, planes):
            independent = choice
            break
        else:
            dependent.append(replace(choice, rows_independent=False))
    if not dependent and not independent:
        raise UserError(
            "No precision gives the network's own answers on this machine; "
            "set inference.precision to force one."
        )
    if not independent:
        return dependent[0]
    least = DEPENDENT_SPEEDUP * independent.evaluations_per_second
    if dependent and independent.device == "cuda" and dependent[0].evaluations_per_second >= least:
        return dependent[0]
    for left in dependent:
        tell(f"{rate_of(left)} is not used, because answers depend on their place in the batch.")
    return independent


def rate_of(choice: InferenceChoice) -> str:
    """Name a choice with its speed."""
    return f"{choice.backend} {choice.precision} ({choice.evaluations_per_second:,.0f} evaluations/s)"


def with_smaller_batches(
    network: Network, game: Game, choice: InferenceChoice, planes: np.ndarray
) -> InferenceChoice:
    """Add halves of the batch, down to SMALLEST_BATCH, that give every position the bits of the whole batch.

    On a GPU B is kept: other sizes gave other bits there, and each would be a graph of its own.
    """
    sizes = [choice.batch_size]
    if choice.device == "cpu" and choice.rows_independent:
        while sizes[0] % 2 == 0 and sizes[0] >= 2 * SMALLEST_BATCH:
            sizes.insert(0, sizes[0] // 2)
    inference = make_inference(network, game, replace(choice, batches=tuple(sizes)))
    whole = inference.infer(planes)

    def equal(size: int) -> bool:
        parts = [inference.infer(planes[start : start + size]) for start in range(0, len(planes), size)]
        logits, value = zip(*parts, strict=True)
        return same((np.concatenate(logits), np.concatenate(value)), whole)

    return replace(choice, batches=(*filter(equal, sizes[:-1]), choice.batch_size))


def safe_choice(choice: InferenceChoice, network: Network, game: Game) -> InferenceChoice:
    """Return the choice for one network: int8 only if it is near torch fp32 on the network's own play."""
    if choice.precision != "int8":
        return choice
    played = own_play(folded(network).cpu().eval(), game)
    rows = played.planes.shape[1]
    inference = make_inference(network, game, replace(choice, batch_size=rows, batches=()))
    answers = zip(played.logits, played.values, strict=True)
    if all(
        distance(own, inference.infer(planes)) <= LIMITS["int8"]
        for own, planes in zip(answers, played.planes, strict=True)
    ):
        return choice
    _, precision = candidates(choice.backend, "auto", choice.device)[-1]
    return replace(choice, precision=precision)


def rows_are_independent(inference: Inference, planes: np.ndarray) -> bool:
    """Return whether each position of a batch gets the same bits in every place."""
    logits, value = inference.infer(planes)
    return all(
        same(
            (np.roll(logits, shift, axis=0), np.roll(value, shift)),
            inference.infer(np.ascontiguousarray(np.roll(planes, shift, axis=0))),
        )
        for shift in (1, 7, 16, len(planes) // 2)
    )


def same(answers: Answers, others: Answers) -> bool:
    """Return whether two answers are equal in every bit."""
    return all(np.array_equal(one, other) for one, other in zip(answers, others, strict=True))


def strays(network: Network, inference: Inference, planes: np.ndarray) -> float:
    """Return how far an inference deviates from torch fp32 on the CPU; see `distance`."""
    return distance(answers_of(network, planes), inference.infer(planes))


def distance(answers: Answers, others: Answers) -> float:
    """Return the largest difference in a move probability or a value; infinite if it is not finite."""
    largest = max(difference.max() for difference in apart(answers, others))
    return float(largest) if np.isfinite(largest) else float("inf")


def answers_of(network: Network, planes: np.ndarray) -> Answers:
    """Return the answers of torch fp32 on the CPU, as `Inference.infer` gives them."""
    with torch.inference_mode():
        policy_output, value = copy.deepcopy(network).cpu().float().eval()(torch.from_numpy(planes))
        return policy_logits(policy_output, network.config.policy_output == "linear").numpy(), value.numpy()


def apart(answers: Answers, others: Answers) -> Answers:
    """Return the absolute differences of two answers: move probabilities [B, A] and values [B]."""
    chances = [softmax(torch.from_numpy(logits), dim=1).numpy() for logits in (answers[0], others[0])]
    return np.abs(chances[0] - chances[1]), np.abs(answers[1] - others[1])


def measure(inference: Inference, planes: np.ndarray) -> float:
    """Return evaluations a second: the best of several rounds, since noise only slows."""
    asked: list[Any] = [planes]
    if gathers(inference):
        asked += [len(planes), np.zeros((len(planes), MOVES_TIMED), np.int32)]
    inference.infer(*asked)  # the first call of a shape prepares
    rounds: list[float] = []
    end = time.perf_counter() + TIMING_SECONDS
    while len(rounds) < 2 or time.perf_counter() < end:
        start = time.perf_counter()
        inference.infer(*asked)
        rounds.append(time.perf_counter() - start)
    return round(inference.batch_size / min(rounds), 1)
