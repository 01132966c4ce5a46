"""The interface of a game, and its laws.

Letters: A actions, C H W planes, S state words, K key words, R repetition words.

A state is a vector of S `uint64` words. The rules are scalar functions over it, each decorated with `rule` and one of the
signatures below, so that one compiled search serves every game. `function.__wrapped__` is the same rule in plain Python.

Laws (`tests/test_games.py` and `python -m azero.check_game` hold every game to them):

1. `step`, `legal_mask`, `planes` and the others never write to the state they read.
2. A state that is not terminal has at least one legal action; only legal actions are ever passed to `step`.
3. A value is always meant for the player to move: `outcome` of a terminal state is +1.0, 0.0 or -1.0 (or between) for
   `to_play` of that state, although nobody moves there any more.
4. `planes` shows the board from the view of the player to move, or with a plane that says who moves; states with equal
   `evaluation_key` have equal planes and equal legal masks, and the key holds nothing more.
5. A symmetry maps games to games: after playing the mapped actions, the mask and the planes are the mapped ones.
6. Every game ends within `max_plies`.
7. Rules never raise: an exception inside a compiled rule is printed and swallowed.

A rule against repetition (superko) needs the game's history, which no state holds. Such a game says by `repetition_key` what must
not come back: a move is forbidden if the key after it is the key of an earlier position of the game other than the present one.
Self-play and matches take such moves out of the mask of the position that is really on the board (`search/repetition.py`). At
least one legal move must never repeat, such as the pass in Go.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numba import cfunc, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from azero.games.board import Board

WORDS = types.Array(types.uint64, 1, "C")
MASK = types.Array(types.boolean, 1, "C")
PLANES = types.Array(types.float32, 3, "C")

INITIAL = types.void(WORDS)  # (state): write the initial state
STEP = types.void(WORDS, types.int64, WORDS)  # (state, action, successor): write the successor
LEGAL_MASK = types.void(WORDS, MASK)  # (state, mask[A]): True = legal; the mask of a terminal state is never read
IS_TERMINAL = types.boolean(WORDS)  # (state)
OUTCOME = types.float64(WORDS)  # (terminal state): value for to_play(state), in [-1, 1]
TO_PLAY = types.int64(WORDS)  # (state): 0 for the player who moves first in the initial state, 1 for the other
WRITE_PLANES = types.void(WORDS, PLANES)  # (state, planes[C, H, W]): write every element
EVALUATION_KEY = types.void(WORDS, WORDS)  # (state, key[K]): exactly what planes and legal_mask read
REPETITION_KEY = types.void(WORDS, WORDS)  # (state, key[R]): what must not come back; writes nothing where R is 0


def rule(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a rule: a cfunc of one of the signatures above, kept on disk, that allocates nothing.

    Without Numba's run time a rule cannot allocate, and arrays passed to it are not counted, which costs up to a third of a step.
    """
    return cfunc(signature, cache=True, _nrt=False)  # type: ignore[call-arg]  # missing in Numba's stubs


@rule(REPETITION_KEY)
def no_repetition_key(state, key):
    pass


class Rules(NamedTuple):
    """The compiled rules of one game, passed to the search kernels as an argument."""

    initial: Any
    step: Any
    legal_mask: Any
    is_terminal: Any
    outcome: Any
    to_play: Any
    planes: Any
    evaluation_key: Any
    repetition_key: Any = no_repetition_key

    def plain(self) -> Rules:
        """The same rules as plain Python functions: the twin that tests and `check_game` run."""
        return Rules(*(rule.__wrapped__ for rule in self))


def function_at(signature: Any) -> Any:
    """A compiled function that turns the address of a cfunc of that signature into the cfunc itself."""
    function_type = types.FunctionType(signature)

    @intrinsic
    def at(_typing_context, _address):
        def generate(context, builder, _signature, arguments):
            function = cgutils.create_struct_proxy(function_type)(context, builder)
            function.c_addr = builder.inttoptr(arguments[0], cgutils.voidptr_t)
            function.py_addr = cgutils.get_null_value(cgutils.voidptr_t)
            function.jit_addr = cgutils.get_null_value(cgutils.voidptr_t)
            return function._getvalue()

        return function_type(types.int64), generate

    return at


initial_at = function_at(INITIAL)
step_at = function_at(STEP)
legal_mask_at = function_at(LEGAL_MASK)
is_terminal_at = function_at(IS_TERMINAL)
outcome_at = function_at(OUTCOME)
to_play_at = function_at(TO_PLAY)
planes_at = function_at(WRITE_PLANES)
evaluation_key_at = function_at(EVALUATION_KEY)
repetition_key_at = function_at(REPETITION_KEY)


@njit(cache=True, nogil=True)
def rules_at(addresses):
    """The rules whose cfuncs stand at `Game.rule_addresses`, for the beginning of a kernel that Python calls.

    Passing `Rules` themselves from Python costs 100 microseconds a call, because Numba looks every function up anew.
    """
    return Rules(
        initial_at(addresses[0]),
        step_at(addresses[1]),
        legal_mask_at(addresses[2]),
        is_terminal_at(addresses[3]),
        outcome_at(addresses[4]),
        to_play_at(addresses[5]),
        planes_at(addresses[6]),
        evaluation_key_at(addresses[7]),
        repetition_key_at(addresses[8]),
    )


@dataclass(frozen=True)
class Game:
    """Everything azero knows of a game.

    Attributes:
        name: what it is called; of a shipped game as in `game.name`.
        num_actions: A, the same in every state.
        planes_shape: (C, H, W).
        state_words: S.
        key_words: K.
        max_plies: no game is longer.
        rules: the compiled rules.
        action_symmetries: [symmetries, A] int64; `action_symmetries[k, a]` is where symmetry k takes a. Row 0 is the identity.
        cell_symmetries: [symmetries, H*W] int64; likewise for the cells of a plane, row by row.
        format_state: a state as text, several lines, with coordinates.
        action_name: an action as people write it, in lower case.
        options: those the game was made with, defaults filled in.
        board: how the game is drawn; None where it has no board of cells.
        repetition_words: R, 0 for a game whose positions may come back.
    """

    name: str
    num_actions: int
    planes_shape: tuple[int, int, int]
    state_words: int
    key_words: int
    max_plies: int
    rules: Rules
    action_symmetries: np.ndarray
    cell_symmetries: np.ndarray
    format_state: Callable[[np.ndarray], str]
    action_name: Callable[[int], str]
    options: dict[str, Any] = field(default_factory=dict)
    board: Board | None = None
    repetition_words: int = 0

    @cached_property
    def rule_addresses(self) -> np.ndarray:
        """[9] int64: where the compiled rules stand, for `rules_at`."""
        return np.array([rule.address for rule in self.rules], np.int64)

    def parse_action(self, text: str) -> int:
        """The action of that name.

        Raises:
            ValueError: no action has that name; the text lists how actions are written.
        """
        names = [self.action_name(action) for action in range(self.num_actions)]
        if text.strip().lower() not in names:
            raise ValueError(f"{text!r} is no move of {self.name}; moves are written {names[0]} … {names[-1]}.")
        return names.index(text.strip().lower())

    def initial_state(self) -> np.ndarray:
        """The initial state, [S] uint64."""
        state = np.zeros(self.state_words, np.uint64)
        self.rules.initial(state)
        return state

    def step(self, state: np.ndarray, action: int) -> np.ndarray:
        """The successor of a state, [S] uint64. The action must be legal; `legal_mask` tells."""
        successor = np.zeros(self.state_words, np.uint64)
        self.rules.step(state, action, successor)
        return successor

    def legal_mask(self, state: np.ndarray) -> np.ndarray:
        """[A] bool, True = legal."""
        mask = np.zeros(self.num_actions, np.bool_)
        self.rules.legal_mask(state, mask)
        return mask

    def legal_actions(self, state: np.ndarray) -> list[int]:
        """The legal actions in rising order."""
        return np.flatnonzero(self.legal_mask(state)).tolist()

    def is_terminal(self, state: np.ndarray) -> bool:
        """Whether the game is over."""
        return bool(self.rules.is_terminal(state))

    def outcome(self, state: np.ndarray) -> float:
        """The value of a terminal state for `to_play(state)`."""
        return float(self.rules.outcome(state))

    def first_outcome(self, state: np.ndarray) -> float:
        """The value of a terminal state for the player who moves first in the game."""
        return self.outcome(state) * (1.0 if self.to_play(state) == 0 else -1.0)

    def to_play(self, state: np.ndarray) -> int:
        """Who moves, 0 or 1; at a terminal state, who would."""
        return int(self.rules.to_play(state))

    def planes(self, state: np.ndarray) -> np.ndarray:
        """[C, H, W] float32, from the view of the player to move, or with a plane that says who moves."""
        planes = np.zeros(self.planes_shape, np.float32)
        self.rules.planes(state, planes)
        return planes
