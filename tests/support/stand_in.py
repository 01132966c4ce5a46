"""A stand-in for a GPU: the same functions play the same places in NumPy's memory, one after the other."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
from numba import njit

from azero.games.game import Game, rules_at
from azero.gpu import selfplay as on_gpu
from azero.gpu.places import Place, map_arrays, place_in, repeated
from azero.gpu.play import advance, begin, receive, resume
from azero.kernels.compiled import borrowed
from azero.network.backends import make_inference
from azero.network.inference import Inference, InferenceChoice
from azero.workers.games import PlaySettings, Worker

kernel = njit(cache=True, nogil=True, error_model="numpy")


@kernel
def begin_place(addresses, place, settings, seed):
    begin(rules_at(addresses), borrowed(place), seed, settings)


@kernel
def resume_place(addresses, place, settings):
    resume(rules_at(addresses), borrowed(place), settings)


@kernel
def advance_place(addresses, place, settings, planes):
    advance(rules_at(addresses), borrowed(place), settings, planes)


@kernel
def receive_place(addresses, place, logits, value):
    receive(rules_at(addresses), borrowed(place), logits, value)


class StandIn:
    """What `azero.gpu.card.Card` is, without a GPU."""

    def __init__(
        self, game: Game, place: Place, settings: PlaySettings, inference: Inference, number: int = 0
    ) -> None:
        self.rules, self.settings, self.inference = game.rule_addresses, settings, inference
        self.size = inference.batch_size
        self.places = repeated(place, self.size)
        self.planes = np.zeros((self.size, *game.planes_shape), np.float32)
        self.number, self.users = number, list[int]()  # the threads that use it
        self.title = getattr(inference, "title", "network")

    def use(self) -> None:
        self.users.append(threading.get_ident())

    def begin(self, chosen: np.ndarray, seeds: np.ndarray) -> None:
        for b, seed in zip(chosen, seeds, strict=True):
            begin_place(self.rules, self.place(b), self.settings, seed)

    def resume(self, games: Worker) -> None:
        for array, values in zip(self.places.worker, games, strict=True):
            array[: len(values)] = values[:, None]
        for b in range(len(games.status)):
            resume_place(self.rules, self.place(b), self.settings)

    def waves(self, count: int) -> None:
        for _ in range(count):
            for b in range(self.size):
                advance_place(self.rules, self.place(b), self.settings, self.planes[b])
            logits, values = self.inference.infer(self.planes)
            for b in range(self.size):
                receive_place(self.rules, self.place(b), logits[b], values[b])

    def wait(self) -> None:
        """Nothing is under way."""

    def read(self, array: np.ndarray) -> np.ndarray:
        return array.copy()

    def read_places(self, record: Any, chosen: np.ndarray) -> Any:
        return map_arrays(lambda array: array[chosen], record)

    def write(self, array: np.ndarray, values: np.ndarray) -> np.ndarray:
        return values

    def place(self, b: int) -> Place:
        place = place_in(self.places, b)
        return place._replace(exact=place.exact or None)


def pretend_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let this process have one GPU, a stand-in, with a gibibyte of memory."""
    card = pytest.importorskip("azero.gpu.card", reason='numba-cuda is missing (pip install "azero[gpu13]").')

    def stand_in(
        game: Any, place: Any, settings: Any, network: Any, choice: InferenceChoice, number: int
    ) -> StandIn:
        return StandIn(game, place, settings, make_inference(network, game, choice), number)

    monkeypatch.setattr(card, "Card", stand_in)
    monkeypatch.setattr(on_gpu, "equal_cards", lambda: [0])
    monkeypatch.setattr(on_gpu, "_COMPILED", set())
    monkeypatch.setattr(on_gpu, "_REFUSED", set())
    monkeypatch.setattr(on_gpu, "_GAMES", {})
    monkeypatch.setattr("torch.cuda.mem_get_info", lambda number: (2**30, 2**30))
