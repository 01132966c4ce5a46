"""A stand-in for a GPU: the same functions play the same places in NumPy's memory, one after the other."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
from numba import njit

from azero.games.game import Game, rules_at
from azero.gpu.places import Place, map_arrays, place_in, repeated
from azero.gpu.play import advance, begin, receive
from azero.kernels.compiled import borrowed
from azero.network.inference import Inference
from azero.workers.games import PlaySettings

kernel = njit(cache=True, nogil=True, error_model="numpy")


@kernel
def begin_place(addresses, place, settings, seed):
    begin(rules_at(addresses), borrowed(place), seed, settings)


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
