"""Search algorithms: how one is registered, and how kernels call it.

A search algorithm is one module. `config.schema.SEARCH_ALGORITHMS` names it, or `search.kind` is the path of
its file, and it ends with `KIND = SearchKind(...)`. Kernels receive a record of the algorithm's constants and
arrays, a NamedTuple class of that module, as `algorithm`. Numba compiles a kernel once for each type of
record, so a running search looks nothing up.

Letters: B games, A actions, M legal moves of the root.
"""

from __future__ import annotations

import functools
import importlib
import itertools
from collections import namedtuple
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field, replace
from typing import Any, cast

from numba.extending import overload

from azero.config.reading import check_value
from azero.config.schema import SEARCH_ALGORITHMS, SearchConfig, Setting, UserError, settings
from azero.games.game import Game
from azero.games.own_files import FAILS, explaining, own_part
from azero.kernels.compiled import inner
from azero.process.kernel_cache import OWN_SEARCH
from azero.search.tree import ROOT, edge_range

_PLACES = itertools.count()  # of the classes of records of people's searches, in the order of first use


@dataclass(frozen=True, eq=False)
class SearchKind:
    """What azero needs to know about a search algorithm.

    Attributes:
        name: the value of `search.kind`.
        make: ``make(search, num_games, num_actions)`` returns the record for kernels. It has a field
            `solver`: whether the search proves values.
        next_child: compiled; the function of that name below documents it, as it does the next five.
        begin_search: compiled, called in self-play only.
        write_target: compiled, called in self-play only.
        search_value: compiled.
        choose_move: compiled.
        draw_noise: compiled, called by players only. None: the search needs no noise.
        reuses_tree: whether a search can begin with a kept subtree (`search.tree_reuse`).
        anytime: whether a search may end early, when its time is up or its move is decided.
        play_settings: settings that differ outside self-play, such as exploration for training.
        options: the algorithm's settings in `search.options`, with their defaults.
        widen: advice for a search that tries too few moves, such as "raise search.c_puct".
    """

    name: str
    make: Callable[[SearchConfig, int, int], Any]
    next_child: Callable[..., Any]
    begin_search: Callable[..., Any]
    write_target: Callable[..., Any]
    search_value: Callable[..., Any]
    choose_move: Callable[..., Any]
    draw_noise: Callable[..., Any] | None = None
    reuses_tree: bool = True
    anytime: bool = True
    play_settings: Mapping[str, Any] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    widen: str = "raise selfplay.temperature"


def find_kind(name: str) -> SearchKind:
    """Return the search algorithm of that name, one of SEARCH_ALGORITHMS or a person's file with KIND.

    Raises:
        UserError: the file fails, may not be run here, or has none.
    """
    own = name.endswith(".py")
    kind = (
        own_part("search", name, "KIND", "search.kind=")
        if own
        else importlib.import_module(SEARCH_ALGORITHMS[name]).KIND
    )
    if not isinstance(kind, SearchKind):
        raise UserError(f"KIND of {name} must be a SearchKind (azero/search/algorithm.py).")
    return kind


def check(search: SearchConfig) -> None:
    """Check the settings of a search with its algorithm.

    Raises:
        UserError: the algorithm does not know an option, or settings do not work together.
    """
    kind = find_kind(search.kind)
    for option, value in search.options.items():
        if option not in kind.options:
            known = ", ".join(kind.options) or "none"
            raise UserError(f"unknown option search.options.{option}; search.kind={kind.name} has {known}.")
        default = kind.options[option]
        check_value(f"search.options.{option}", value, Setting(default, "", kind=type(default).__name__))
    if search.tree_reuse and not kind.reuses_tree:
        raise UserError(
            f"search.kind={kind.name} begins each search with an empty tree; set search.tree_reuse=false."
        )


def with_kind(search: SearchConfig, name: str) -> SearchConfig:
    """Return the search with an algorithm, and settings that only others read at their defaults."""
    others = {
        key.removeprefix("search."): known.default
        for key, known in settings().items()
        if known.only and known.only.lower() != name
    }
    options = search.options if name == search.kind else {}
    reuse = search.tree_reuse and find_kind(name).reuses_tree
    return replace(search, **others, kind=name, options=options, tree_reuse=reuse)


def sound_for(search: SearchConfig, game: Game) -> SearchConfig:
    """Return the search without proofs if positions must not repeat: the tree does not know the history."""
    return replace(search, solver=search.solver and not game.repetition_words)


def make_algorithm(search: SearchConfig, num_games: int, num_actions: int) -> Any:
    """Return the algorithm's record for kernels that search `num_games` games."""
    kind = find_kind(search.kind)
    with explaining_search(search):
        record = kind.make(search, num_games, num_actions)
        if not search.kind.endswith(".py"):
            return record
        own = own_class(kind, type(record).__name__, type(record)._fields)
        return own(*record, own.place)


@functools.cache
def own_class(kind: SearchKind, name: str, fields: tuple[str, ...]) -> Any:
    """Return a class for the records of a person's search: theirs, and a field whose type no other class has.

    Numba takes records for the same whose fields have the same types, whatever their classes are.
    """
    own = cast(Any, namedtuple(name, (*fields, "own"), module=OWN_SEARCH))
    own.kind, own.place = kind, (None,) * next(_PLACES)
    return own


def explaining_search(search: SearchConfig) -> AbstractContextManager[None]:
    """Let a block that compiles or calls a person's own search fail with one sentence that names its file."""
    return explaining(search.kind, FAILS) if search.kind.endswith(".py") else nullcontext()


def dispatched(stub: Callable[..., Any]) -> Callable[..., Any]:
    """Let compiled code call, by the name of `stub`, the function that the algorithm's module registers."""
    place = stub.__code__.co_varnames.index("algorithm")

    @functools.wraps(stub)
    def find_function(*types: Any) -> Any:
        record = types[place].instance_class
        if record.__module__ != OWN_SEARCH:
            return getattr(importlib.import_module(record.__module__).KIND, stub.__name__).py_func
        function = getattr(record.kind, stub.__name__)
        return CHECKED[stub.__name__](function) if stub.__name__ in CHECKED else function.py_func

    # as a call, the function would cost a search a tenth (measured: 305 ns a simulation, 278 inlined)
    overload(stub, strict=False, jit_options={"forceinline": True})(find_function)
    return stub


def checked_child(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a person's `next_child` that refuses what is no edge, which would be read beside the tree."""

    @inner
    def checked(tree, b, node, algorithm):
        edge = function(tree, b, node, algorithm)
        if edge not in edge_range(tree, b, node):
            raise ValueError("next_child must return an edge of its node, one of edge_range(tree, b, node)")
        return edge

    return checked


def checked_move(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a person's `choose_move` that refuses what is no edge of the root."""

    @inner
    def checked(tree, b, algorithm, temperature, stream):
        edge = function(tree, b, algorithm, temperature, stream)
        if edge not in edge_range(tree, b, ROOT):
            raise ValueError("choose_move must return an edge of the root, one of edge_range(tree, b, ROOT)")
        return edge

    return checked


CHECKED = {"next_child": checked_child, "choose_move": checked_move}


@dispatched
def next_child(tree, b, node, algorithm):
    """Return the edge by which a simulation leaves an expanded node of game b, a place in its pool.

    Like all functions below, it exists in compiled code only.
    """
    raise NotImplementedError


@dispatched
def begin_search(tree, b, algorithm, temperature, stream):
    """Prepare game b's expanded root for a search of self-play, with noise for example.

    temperature: of the move. stream: [2] uint64, the game's random numbers.
    """
    raise NotImplementedError


@dispatched
def draw_noise(algorithm, b, temperature, stream):
    """Draw the noise of a player's next search of game b, before its root is known."""
    raise NotImplementedError


@dispatched
def write_target(tree, b, algorithm, out):
    """Write the policy target of game b's root into out [M or more] float32: a share for each edge."""
    raise NotImplementedError


@dispatched
def search_value(tree, b, algorithm):
    """Return the value of game b's root after its search, in [-1, 1] for the player to move."""
    raise NotImplementedError


@dispatched
def choose_move(tree, b, algorithm, temperature, stream):
    """Return the edge to play after game b's search."""
    raise NotImplementedError
