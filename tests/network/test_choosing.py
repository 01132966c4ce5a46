"""Which backend computes: settings are obeyed, the rest is measured, wrong or uneven answers are avoided."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from answering import BATCH, WAYS, choice_of, positions

from azero.config.schema import InferenceConfig, NetworkConfig, UserError
from azero.games.game import Game
from azero.network import backends, openvino_inference, torch_inference
from azero.network import choosing as module
from azero.network.backends import make_inference
from azero.network.choosing import choose_inference
from azero.network.inference import Inference, InferenceChoice, fitting
from azero.network.model import Network, build_network


@pytest.fixture(scope="module")
def planes(game: Game) -> np.ndarray:
    return positions(game)


@pytest.fixture
def network(game: Game) -> Network:
    return build_network(NetworkConfig(blocks=1, channels=8), game, 1)


class Measured(NamedTuple):
    """What the choice would find out about one way."""

    speed: float = 1.0
    stray: float = 0.0
    independent: bool = True


@pytest.fixture
def chosen(game: Game, planes: np.ndarray, network: Network, monkeypatch: pytest.MonkeyPatch):  # type: ignore[no-untyped-def]
    """Chooses among ways of which everything is known; those not named are slow."""

    def choose(
        known: dict[tuple[str, str], Measured],
        backend: str = "auto",
        precision: str = "auto",
        network: Network = network,
        tell: Callable[[str], None] = lambda text: None,
        device: str = "cpu",
    ) -> tuple[str, str]:
        class Known:
            batch_size = 32

            def __init__(self, choice: InferenceChoice) -> None:
                self.told = known.get((choice.backend, choice.precision), Measured())

            def infer(self, planes: np.ndarray) -> float:
                return self.told.stray

        monkeypatch.setattr(openvino_inference, "obstacle", lambda precision: None)
        monkeypatch.setattr(torch_inference, "obstacle", lambda precision, device: None)
        monkeypatch.setattr(module, "resolve_device", lambda device: device)
        for maker in ("make_inference", "make_to_time"):
            monkeypatch.setattr(module, maker, lambda network, game, choice: Known(choice))
        monkeypatch.setattr(module, "measure", lambda inference, batch: inference.told.speed)
        monkeypatch.setattr(module, "distance", lambda answers, stray: stray)
        monkeypatch.setattr(
            module, "rows_are_independent", lambda inference, batch: inference.told.independent
        )
        monkeypatch.setattr(module, "with_smaller_batches", lambda network, game, choice, batch: choice)
        found = choose_inference(network, game, InferenceConfig(backend, precision), device, 32, planes, tell)
        return found.backend, found.precision

    return choose


def test_explicit_settings_are_obeyed_and_auto_measures(
    game: Game, planes: np.ndarray, network: Network
) -> None:
    for way in WAYS:
        if backends.obstacle(*way, "cpu") is None:
            found = choose_inference(network, game, InferenceConfig(*way), "cpu", 32, planes)
            assert (found.backend, found.precision, found.batch_size, found.device) == (*way, 32, "cpu")
    found = choose_inference(network, game, InferenceConfig(), "cpu", 32, planes[:5])
    assert (
        (found.backend, found.precision) in WAYS
        and found.evaluations_per_second > 0
        and found.rows_independent
    )
    assert InferenceChoice(**dataclasses.asdict(found)) == found


def test_the_fastest_is_taken(chosen) -> None:  # type: ignore[no-untyped-def]
    for way in WAYS:
        assert chosen({way: Measured(speed=2.0)}) == way
    assert chosen({WAYS[0]: Measured(speed=2.0)}, backend="openvino", precision="bf16") == WAYS[3]


def test_what_strays_is_not_chosen(chosen) -> None:  # type: ignore[no-untyped-def]
    known = {way: Measured(speed) for way, speed in zip(WAYS, (1.0, 2.0, 3.0, 4.0), strict=True)}
    assert chosen(known | {WAYS[3]: Measured(4.0, stray=0.201)}) == WAYS[2]
    assert chosen(known | {way: Measured(4.0, stray=0.201) for way in WAYS[1:]}) == WAYS[0]
    with pytest.raises(UserError, match=r"inference\.precision"):
        chosen({way: Measured(stray=float("inf")) for way in WAYS})


def test_rows_that_depend_on_their_place_are_avoided(chosen) -> None:  # type: ignore[no-untyped-def]
    assert chosen({way: Measured(9.0, independent=way == WAYS[0]) for way in WAYS}) == WAYS[0]
    assert (
        chosen({way: Measured(9.0 if way == WAYS[3] else 1.0, independent=False) for way in WAYS}) == WAYS[3]
    )


def test_rows_may_depend_on_their_place_where_that_is_twice_as_fast_on_a_gpu(chosen) -> None:  # type: ignore[no-untyped-def]
    """fp32 is independent and makes 100 evaluations a second; bf16 is not and makes 199 or 200."""
    for speed, device, way in ((199.0, "cuda", 0), (200.0, "cuda", 1), (900.0, "cpu", 0)):
        known = {WAYS[0]: Measured(100.0), WAYS[1]: Measured(speed, independent=False)}
        assert chosen(known, device=device) == WAYS[way]


def test_why_a_faster_way_is_not_used_is_told(chosen) -> None:  # type: ignore[no-untyped-def]
    told: list[str] = []
    strays, depends = Measured(9000.0, stray=0.25), Measured(150.0, independent=False)
    assert chosen({WAYS[0]: Measured(100.0), WAYS[1]: strays, WAYS[3]: depends}, tell=told.append) == WAYS[0]
    assert told == [
        "torch bf16 (9,000 evaluations/s) is not used, because it differs by 0.25 from fp32.",
        "openvino bf16 (150 evaluations/s) is not used, because answers depend on their place in the batch.",
    ]


def test_noise_in_the_timing_does_not_choose_bf16(chosen) -> None:  # type: ignore[no-untyped-def]
    assert chosen({WAYS[0]: Measured(100.0), WAYS[1]: Measured(110.0)}) == WAYS[0]


def test_int8_is_chosen_for_wide_networks_where_it_is_1_4_times_as_fast(chosen, game: Game) -> None:  # type: ignore[no-untyped-def]
    wide, int8 = build_network(NetworkConfig(blocks=1, channels=64), game, 1), ("openvino", "int8")
    known = {WAYS[3]: Measured(100.0), int8: Measured(141.0)}
    assert chosen(known, network=wide) == int8
    assert chosen(known) == WAYS[3]
    assert chosen(known | {int8: Measured(139.0)}, network=wide) == WAYS[3]
    assert chosen(known | {int8: Measured(141.0, stray=0.201)}, network=wide) == WAYS[3]
    assert chosen(known, precision="bf16", network=wide) == WAYS[3]
    assert chosen(known, backend="torch", network=wide) in WAYS[:2]


def test_rows_that_depend_on_their_place_are_found(game: Game, planes: np.ndarray, network: Network) -> None:
    class Uneven:
        batch_size = BATCH

        def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
            return planes.reshape(BATCH, -1) + np.arange(BATCH, dtype=np.float32)[:, None] * 1e-7, planes[
                :, 0, 0, 0
            ]

    uneven: Inference = Uneven()
    assert not module.rows_are_independent(uneven, planes)
    assert module.rows_are_independent(make_inference(network, game, choice_of(WAYS[0])), planes)


class Halves:
    """Answers by the planes; batches of 16 rows get the last one's bits otherwise."""

    batch_size = BATCH

    def __init__(self, choice: InferenceChoice) -> None:
        self.batches = choice.batches

    def infer(self, planes: np.ndarray, rows: int | None = None) -> tuple[np.ndarray, np.ndarray]:
        size = len(planes)
        logits = planes[:size].reshape(size, -1).copy()
        logits[-1] += np.float32(1e-6 if size == 16 else 0)
        return logits, planes[:size, 0, 0, 0].copy()


def test_smaller_batches_are_those_that_give_equal_bits(
    game: Game, planes: np.ndarray, network: Network, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "make_inference", lambda network, game, choice: Halves(choice))
    choice = InferenceChoice("torch", "fp32", BATCH, "cpu", 0.0)
    assert choice.batches == (64,)
    assert dataclasses.replace(choice, batches=(8, 32, 64), batch_size=24).batches == (8, 24)
    assert module.with_smaller_batches(network, game, choice, planes).batches == (8, 32, 64)
    for other in (
        dataclasses.replace(choice, device="cuda"),
        dataclasses.replace(choice, rows_independent=False),
        InferenceChoice("torch", "fp32", 15, "cpu", 0.0),
    ):
        assert (
            module.with_smaller_batches(network, game, other, planes[: other.batch_size]).batches
            == other.batches
        )


def test_the_smallest_batch_with_room_is_taken() -> None:
    assert [fitting((8, 16, 64), rows) for rows in (1, 8, 9, 16, 17, 64, None)] == [8, 8, 16, 16, 64, 64, 64]


@pytest.mark.parametrize("way", WAYS, ids="-".join)
def test_a_smaller_batch_gives_the_same_bits_in_fewer_rows(
    game: Game, planes: np.ndarray, network: Network, way: tuple[str, str]
) -> None:
    choice = module.with_smaller_batches(network, game, choice_of(way), planes)
    assert 32 in choice.batches  # seen on every machine so far
    answers = make_inference(network, game, choice)
    logits, value = answers.infer(planes)
    for rows in (1, 20, 33, 20):
        fewer_logits, fewer_value = answers.infer(planes, rows)
        assert rows <= len(fewer_logits) == len(fewer_value)
        assert np.array_equal(fewer_logits[:rows], logits[:rows]) and np.array_equal(
            fewer_value[:rows], value[:rows]
        )
    for size in choice.batches:
        fewer_logits, fewer_value = answers.infer(planes[:size])
        assert np.array_equal(fewer_logits, logits[:size]) and np.array_equal(fewer_value, value[:size])
