"""The kernels of self-play on a GPU, compiled for four kinds of GPUs where there is none."""

from __future__ import annotations

import importlib
import types
from typing import Any, cast

import numba.cuda
import numpy as np
import pytest

pytest.importorskip("numba_cuda", reason='numba-cuda is missing (pip install "azero[gpu13]").')
pytest.importorskip("cuda.core", reason='numba-cuda is missing (pip install "azero[gpu13]").')

from cuda.core import Linker, LinkerOptions, ObjectCode
from numba import typeof

from azero.config.schema import SearchConfig, SelfplayConfig
from azero.games import make_game
from azero.games.game import Game
from azero.gpu.card import device_rules, gather, kernels_of
from azero.gpu.places import make_place, repeated
from azero.workers.threads import play_settings

OLDEST = (7, 5)  # of a T4; text for it is assembled for all later ones
KINDS = ["sm_75", "sm_80", "sm_89", "sm_90"]  # T4, A100, RTX 4090, H100


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """Answer numba-cuda's one question to a GPU, of which kind it is."""
    device = types.SimpleNamespace(compute_capability=OLDEST)
    for module in ("numba.cuda", "numba.cuda.dispatcher", "numba.cuda.api"):
        monkeypatch.setattr(importlib.import_module(module), "get_current_device", lambda: device)


def assembled(kernel: Any, arguments: tuple[Any, ...], kinds: list[str]) -> list[int]:
    """Return the bytes of machine code of a kernel for each kind of GPU."""
    signature = tuple(map(typeof, arguments))
    text, _ = cast(Any, numba.cuda).compile(
        kernel.py_func, signature, device=False, abi="numba", cc=OLDEST, output="ptx"
    )
    code = ObjectCode.from_ptx(text.encode())
    return [len(Linker(code, options=LinkerOptions(arch=kind)).link("cubin").code) for kind in kinds]


def check(game: Game, search: SearchConfig, kinds: list[str]) -> None:
    places = repeated(make_place(game, search, 64), 2)
    settings = play_settings(game, search, SelfplayConfig())
    planes = np.zeros((2, *game.planes_shape), np.float32)
    logits, values = np.zeros((2, game.num_actions), np.float32), np.zeros(2, np.float32)
    chosen, seeds = np.zeros(2, np.int64), np.zeros(2, np.uint64)
    kernels = kernels_of(game.rules)
    for kernel, arguments in (
        (kernels.begin, (places, settings, chosen, seeds)),
        (kernels.resume, (places, settings, 2)),
        (kernels.advance, (places, settings, planes)),
        (kernels.receive, (places, logits, values)),
    ):
        assert all(assembled(kernel, arguments, kinds))


@pytest.mark.long
@pytest.mark.parametrize("kind", ["puct", "gumbel"])
def test_kernels_are_compiled_for_four_kinds_of_gpus(kind: str) -> None:
    search = SearchConfig(
        kind=kind, num_simulations=16, solver=True, exact_plies=8, tree_reuse=kind == "puct"
    )
    check(make_game("connect_four"), search, KINDS)


@pytest.mark.long
@pytest.mark.parametrize("name", ["chess", "go"])
def test_a_game_of_lists_and_one_with_a_history_are_compiled(name: str) -> None:
    check(make_game(name), SearchConfig(kind="gumbel", num_simulations=16), KINDS)


@pytest.mark.long
@pytest.mark.parametrize("name", ["breakthrough", "gomoku", "hex", "othello", "tictactoe"])
def test_the_rules_of_each_game_are_compiled(name: str) -> None:
    """The kernels around them are the same for all games: rules have the types of their signatures."""
    game = make_game(name)
    rules = device_rules(game.rules)

    @cast(Any, numba.cuda).jit
    def all_rules(state, there, mask, actions, planes, key, known, told):  # type: ignore[no-untyped-def]
        rules.initial(state)
        rules.step(state, told[0], there)
        rules.legal_mask(state, mask)
        told[1], told[2] = rules.legal_actions(state, actions), rules.is_terminal(state)
        told[3], told[4] = rules.outcome(state), rules.to_play(state)
        rules.planes(state, planes)
        rules.evaluation_key(state, key)
        rules.repetition_key(state, known)
        told[5] = rules.plies_left(state)

    words, counts = np.zeros(game.state_words, np.uint64), np.zeros(game.num_actions, np.int32)
    keys = np.zeros(game.key_words, np.uint64), np.zeros(game.repetition_words, np.uint64)
    planes, told = np.zeros(game.planes_shape, np.float32), np.zeros(6, np.int64)
    arguments = (words, words, counts > 0, counts, planes, *keys, told)
    assert all(assembled(all_rules, arguments, KINDS))


def test_what_copies_rows_is_compiled() -> None:
    rows = np.zeros((2, 3), np.float32)
    assert all(assembled(gather, (rows, np.zeros(2, np.int64), rows), KINDS))
