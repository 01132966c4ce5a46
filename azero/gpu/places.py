"""A place: all that one game of self-play needs, so that one thread can play it.

A place is a worker of one game: its tree, its record, a cache and scratch of its own. The places of a GPU are
one record of the same kind, each of whose arrays has an axis more, the places. In compiled code `row` makes a
place of it again. So the same functions play a game on the CPU, where a worker has many games, and here.

Letters: B places.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from azero.config.schema import SearchConfig
from azero.games.game import Game
from azero.search.algorithm import sound_for
from azero.search.cache import EvaluationCache, cache_of
from azero.search.exact import Exact
from azero.search.scratch import Scratch
from azero.search.tree import Tree
from azero.workers.games import Worker, make_searches, make_worker

Record = TypeVar("Record")


class Place(NamedTuple):
    """One game, or B of them, each array with an axis [B] in front."""

    tree: Tree
    cache: EvaluationCache
    worker: Worker
    algorithm: Any
    scratch: Scratch
    exact: Exact | None  # () in many places: None is no argument of a kernel
    evaluations: np.ndarray  # [1] int64: the network's answers to leaves of this place


def make_place(game: Game, search: SearchConfig, cached: int) -> Place:
    """Return an idle place with room for `cached` evaluations."""
    tree, algorithm, scratch, exact = make_searches(game, sound_for(search, game), 1, cached)
    return Place(
        tree=tree,
        cache=cache_of(game, cached),
        worker=make_worker(game, 1),
        algorithm=algorithm,
        scratch=scratch,
        exact=exact,
        evaluations=np.zeros(1, np.int64),
    )


def map_arrays(function: Any, record: Any) -> Any:
    """Return a record with `function` of each of its arrays; numbers stay, None becomes ()."""
    if isinstance(record, tuple):
        parts = (map_arrays(function, part) for part in record)
        return type(record)(*parts) if hasattr(record, "_fields") else tuple(parts)
    if record is None:
        return ()
    return record if isinstance(record, (bool, int, float)) else function(record)


def arrays_of(record: Any) -> list[Any]:
    """Return the arrays of a record, in their order."""
    found = list[Any]()
    map_arrays(found.append, record)
    return found


def bytes_of(record: Any) -> int:
    """Return the bytes of a record's arrays."""
    return sum(array.nbytes for array in arrays_of(record))


def repeated(record: Record, count: int) -> Record:
    """Return a record of places, each of them as `record` is."""
    copied: Record = map_arrays(lambda array: np.repeat(array[None], count, axis=0), record)
    return copied


def place_in(places: Record, b: int) -> Record:
    """Return place b of some places in NumPy's memory, as views."""
    one: Record = map_arrays(lambda array: array[b], places)
    return one


def _row(_typing_context: Any, places: Any, number: Any) -> Any:
    """Return place `number` of a record of places: row `number` of each array, and None for ()."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        number = context.cast(builder, arguments[1], signature.args[1], types.intp)
        return row_value(context, builder, places, arguments[0], number)

    return row_type(places)(places, number), generate


row: Any = intrinsic(_row)  # in compiled code only


def row_type(kind: Any) -> Any:
    """Return the type of a place in many of type `kind`."""
    if isinstance(kind, types.Array):
        return kind.copy(ndim=kind.ndim - 1)
    if isinstance(kind, types.BaseNamedTuple):
        parts: Any = kind
        return types.BaseTuple.from_types([row_type(part) for part in parts], parts.instance_class)
    return types.none if isinstance(kind, types.BaseTuple) else kind


def row_value(context: Any, builder: Any, kind: Any, places: Any, number: Any) -> Any:
    """Generate the code of `row`. The rows have no owner, as `borrowed` arrays have none."""
    if isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, places)
        row = context.make_array(row_type(kind))(context, builder)
        shape, strides = (cgutils.unpack_tuple(builder, each) for each in (array.shape, array.strides))
        first = cgutils.pointer_add(builder, array.data, builder.mul(number, strides[0]))
        row.data, row.itemsize = builder.bitcast(first, row.data.type), array.itemsize
        row.shape, row.strides = (cgutils.pack_array(builder, each[1:]) for each in (shape, strides))
        row.nitems = functools.reduce(builder.mul, shape[1:])
        row.meminfo, row.parent = (cgutils.get_null_value(each.type) for each in (row.meminfo, row.parent))
        return row._getvalue()
    if isinstance(kind, types.BaseNamedTuple):
        parts: Any = kind
        values = [
            row_value(context, builder, part, builder.extract_value(places, place), number)
            for place, part in enumerate(parts)
        ]
        return context.make_tuple(builder, row_type(kind), values)
    return context.get_dummy_value() if isinstance(kind, types.BaseTuple) else places
