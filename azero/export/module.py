"""Make a champion's module: rules, search and network as WebAssembly, and where its arrays lie.

It is compiled in a process of its own, where Numba finds nothing compiled before, does not optimise, and
takes the processor for a generic one. Code from its cache is this machine's, and optimised code assumes
pointers of 64 bits. Two builds give the same bytes, so what is built is kept.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from azero.config.schema import OPENSPIEL, SearchConfig, UserError
from azero.export.kernels import entry_points, memory_of, name_of
from azero.export.machine_code import NamedMemory, build_object
from azero.export.marks import ActionCells, find_cells, find_mark_bits
from azero.export.webassembly import STACK_TOP, Memory, build, call_of, entry_point, stop_emitting
from azero.games import SHIPPED, make_game
from azero.games.game import Game
from azero.players.pv_mcts import as_played
from azero.process.kernel_cache import kernel_folder, sources_digest
from azero.run.disk import digest, replacing
from azero.search.algorithm import find_kind, with_kind
from azero.search.tree import node_bytes

if TYPE_CHECKING:
    from azero.export.network_code import NetworkCode

LARGEST_TREE = 2**27  # bytes
MOST_SIMULATIONS = 20_000
HEAP = 2**20  # bytes that one call may allocate
WEIGHTS = "weights.npy"


class Module(NamedTuple):
    """A champion as code.

    Attributes:
        wasm: the module, which static/engine.js runs.
        layout: what engine.js and the page know of it, as JSON has it.
    """

    wasm: bytes
    layout: dict[str, Any]


def make_module(name: str, options: Mapping[str, Any], search: SearchConfig, network: NetworkCode) -> Module:
    """Return the module of a game, as `make_game(name, **options)` makes it, with a search and a network.

    The search is the run's as a player plays it. If its algorithm cannot end early, PUCT is there as well.

    Raises:
        UserError: the game cannot be exported, or its rules cannot be compiled.
    """
    game, searches, task = task_of(name, options, search, network)
    wasm, memory = compile_once(task)
    assert game.board is not None
    layout = {
        "game": game.name,
        "planes": list(game.planes_shape),
        "algorithms": [name_of(each) for each in searches],
        "simulations": search.num_simulations,
        "mostSimulations": searches[0].num_simulations,
        "actions": names_of(game),
        "board": game.board.described(),
        **memory,
    }
    return Module(wasm, layout)


def task_of(
    name: str, options: Mapping[str, Any], search: SearchConfig, network: NetworkCode
) -> tuple[Game, list[SearchConfig], dict[str, Any]]:
    """Return the game, its searches, the run's own first, and the arguments of `compile_here`.

    Raises:
        UserError: the game cannot be exported.
    """
    if name.startswith(OPENSPIEL):
        raise UserError(f"{name} cannot be exported: OpenSpiel's rules are not compiled code.")
    game = make_game(name, **options)
    mark_bits = find_mark_bits(game)
    action_cells = find_cells(game, mark_bits)
    searches = searches_of(search, game)
    task = {
        "name": name,
        "options": dict(options),
        "searches": [asdict(each) for each in searches],
        "mark_bits": mark_bits.tolist(),
        "action_cells": [cells.tolist() for cells in action_cells],
        "network": network.ir,
        "weights": len(network.weights),
        "scratch_floats": network.scratch_floats,
    }
    return game, searches, task


def names_of(game: Game) -> list[str] | None:
    """Return the names of the actions; None: they depend on the position, and the page makes them."""
    if not game.fixed_names:
        return None
    return [game.action_name(game.initial_state(), action) for action in range(game.num_actions)]


def searches_of(search: SearchConfig, game: Game) -> list[SearchConfig]:
    """Return the search, and PUCT if that cannot end early. The simulations are what LARGEST_TREE holds."""
    kinds = [search.kind] if find_kind(search.kind).anytime else [search.kind, SearchConfig().kind]
    searches = [as_played(with_kind(search, kind), game) for kind in kinds]
    most = min(MOST_SIMULATIONS, LARGEST_TREE // node_bytes(game, game.num_actions) - 1)
    return [replace(each, num_simulations=most) for each in searches]


def compile_once(task: dict[str, Any]) -> tuple[bytes, dict[str, Any]]:
    """Return what `compile_apart` returns for a page, and keep it beside this version's kernels.

    All champions of a recipe have the same module, for their weights are not in it. Compiling takes a quarter
    of a minute or more. A person's own game or search, which may read any file, is compiled each time.
    """
    own = task["name"] not in SHIPPED or any(search["kind"].endswith(".py") for search in task["searches"])
    place = Path(kernel_folder(), "modules", digest(json.dumps([task, sys.version]).encode()))
    if not own:
        with contextlib.suppress(OSError, ValueError):  # not there, or damaged
            checksum, kept = place.read_bytes().split(b"\n", 1)
            if checksum.decode() == digest(kept):
                memory, wasm = kept.split(b"\n", 1)
                return wasm, json.loads(memory)
    wasm, described = compile_apart(task)
    unchanged = described.pop("sources") == sources_digest()  # since this process began
    if unchanged and not own:
        kept = json.dumps(described).encode() + b"\n" + wasm
        with contextlib.suppress(OSError):
            place.parent.mkdir(exist_ok=True)
            with replacing(place, synced=False) as temporary:
                temporary.write_bytes(digest(kept).encode() + b"\n" + kept)
    return wasm, described


def compile_apart(task: dict[str, Any], weights: np.ndarray | None = None) -> tuple[bytes, dict[str, Any]]:
    """Return what `compile_here` returns, from a process of its own.

    weights: for this machine's code, which contains them; None: for a page's.

    Raises:
        UserError: neither a page nor a library can run this.
    """
    settings = {key: value for key, value in os.environ.items() if not key.startswith("NUMBA_")}
    settings |= {"NUMBA_OPT": "0", "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "task.json").write_text(json.dumps(task))
        if weights is not None:
            np.save(Path(folder, WEIGHTS), weights)
        done = subprocess.run(
            [sys.executable, "-W", "ignore", "-m", __name__, folder],
            capture_output=True,
            env=settings | {"NUMBA_CACHE_DIR": folder, "PYTHONHASHSEED": "0"},
            check=False,
        )
        if done.returncode:
            raise RuntimeError(f"{task['name']} was not compiled:\n{done.stderr.decode(errors='replace')}")
        answer = json.loads(Path(folder, "answer.json").read_text())
        if "refused" in answer:
            raise UserError(answer["refused"])
        return Path(folder, "module.wasm").read_bytes(), answer


def compile_here(
    name: str,
    options: dict[str, Any],
    searches: list[dict[str, Any]],
    mark_bits: list[Any],
    action_cells: list[list[int]],
    network: str,
    weights: int,
    scratch_floats: int,
    own_weights: np.ndarray | None = None,
) -> tuple[bytes, dict[str, Any]]:
    """Return the module and the part of its layout that is about memory.

    An array is its address, the type of its numbers and its length. With `own_weights` the module is code for
    this machine's kind, which contains them, and has no layout.
    """
    game, played = make_game(name, **options), [SearchConfig(**each) for each in searches]
    bits, cells = (
        np.array(mark_bits, np.int16),
        ActionCells(*(np.array(each, np.int32) for each in action_cells)),
    )
    values = memory_of(game, played, bits, cells, weights, scratch_floats)
    known = (bits, *cells)  # the page does not read them
    memory, texts = Memory(), [network]
    if own_weights is not None:
        values["weights"] = own_weights
        memory = NamedMemory(values)
    stop_emitting()
    for entry, function in entry_points(game, played).items():
        bound = values | {"algorithm": values.get(entry.partition("_")[2])}
        texts.append(entry_point(entry, function, bound, memory))
    pointers = [values[each] for each in ("planes", "weights", "floats", "logits", "value")]
    texts.append(call_of("evaluate_network", "infer", pointers, memory))
    if own_weights is not None:
        return build_object(texts, memory), {}
    arrays = {
        each: [memory.address(array), array.dtype.name, array.size]
        for each, array in values.items()
        if isinstance(array, np.ndarray) and not any(array is each for each in known)
    }
    return build(texts, memory), {"arrays": arrays, "stack": STACK_TOP, "bytes": memory.size + HEAP}


if __name__ == "__main__":
    gc.disable()  # it would take a fifth of the time, to save a third of a gigabyte
    place = Path(sys.argv[1])
    try:
        own = np.load(place / WEIGHTS) if (place / WEIGHTS).exists() else None
        wasm, answer = compile_here(**json.loads((place / "task.json").read_text()), own_weights=own)
        (place / "module.wasm").write_bytes(wasm)
    except UserError as error:
        answer = {"refused": str(error)}
    (place / "answer.json").write_text(json.dumps(answer | {"sources": sources_digest()}))
