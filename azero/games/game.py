"""The interface of a game, and the laws that every game keeps.

Letters: A actions; C, H, W planes; S state words; K key words; R repetition words.

A state is a vector of S `uint64` words. The rules are functions of a state. Each is decorated with `rule` and
one of the signatures below, so the same compiled search plays every game. `function.__wrapped__` is the plain
Python twin of a rule. `docs/your_own_game.md` writes a game step by step.

Laws (`python -m azero.check_game` tests a game against them):

1. A rule never writes to the state it reads.
2. A state that is not terminal has at least one legal action. `step` receives only legal actions.
3. A value is for the player to move. `outcome` of a terminal state is between -1.0 (lost) and +1.0 (won) for
   `to_play` of that state, and 0.0 is a draw.
4. `planes` shows the board from the view of the player to move, or has a plane that says who moves. Two
   states have equal evaluation keys exactly when they have equal planes and equal legal moves.
5. A symmetry maps games to games: play the mapped actions, and legal actions and planes are the mapped ones.
6. Every game ends within `max_plies`.
7. A rule never raises an exception: inside compiled code it would be printed and ignored.
8. `plies_left` is never negative and falls with every ply, unless it is UNBOUNDED.
9. A game writes its legal actions as a mask or as a list; if it writes both, they are equal. A list rises,
   holds each action once, and the rule writes nothing after it. A game that has few legal actions among many
   should write a list: whatever reads it then costs what the legal actions cost, not what all cost.

A rule against repetition (superko) needs the history of the game, which a state does not contain. Such a game
defines `repetition_key`. A move is forbidden if the key after it equals the key of an earlier position, other
than the present one. Self-play and matches remove these moves from those of the position on the board
(`games/repetition.py`). At least one legal move, such as a pass, must never repeat.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numba import cfunc, njit, types
from numba.core import cgutils
from numba.extending import intrinsic

from azero.config.schema import UserError
from azero.games.kit.board import NO_CELL, Board
from azero.process import kernel_cache  # noqa: F401  before the first function is compiled

WORDS = types.Array(types.uint64, 1, "C")
MASK = types.Array(types.boolean, 1, "C")
ACTIONS = types.Array(types.int32, 1, "C")
PLANES = types.Array(types.float32, 3, "C")

# Each signature: (arguments): what the rule returns or writes. A rule writes every element of its last array,
# of a list as many as it returns.
INITIAL = types.void(WORDS)  # (state): write the initial state
STEP = types.void(WORDS, types.int64, WORDS)  # (state, action, successor): write the successor
LEGAL_MASK = types.void(WORDS, MASK)  # (state, mask[A]): write True where legal; never called at the end
IS_TERMINAL = types.boolean(WORDS)  # (state): whether the game is over
OUTCOME = types.float64(WORDS)  # (terminal state): value for to_play(state), in [-1, 1]
TO_PLAY = types.int64(WORDS)  # (state): 0 for who makes the first move of the game, 1 for the other
WRITE_PLANES = types.void(WORDS, PLANES)  # (state, planes[C, H, W]): write the network's input
EVALUATION_KEY = types.void(WORDS, WORDS)  # (state, key[K]): write what planes and legal moves depend on
REPETITION_KEY = types.void(WORDS, WORDS)  # (state, key[R]): write what must not come back; nothing if R is 0
PLIES_LEFT = types.int64(WORDS)  # (state): an upper bound of the plies until the end; UNBOUNDED: unknown
# (state, actions[A]): write the legal actions in rising order, return how many; never called at the end
LEGAL_ACTIONS = types.int64(WORDS, ACTIONS)

UNBOUNDED = 1 << 62
UNLISTED = -1  # of `legal_actions`: the game writes a mask


def signature_of(rule_name: str) -> str:
    """Return the name of a rule's signature in this module."""
    return "WRITE_PLANES" if rule_name == "planes" else rule_name.upper()


def rule(signature: Any) -> Callable[[Callable[..., Any]], Any]:
    """Decorate a rule: compile it with one of the signatures above and cache it on disk.

    A rule cannot allocate memory: it runs without Numba's runtime, which would cost up to a third of a step.

    Raises:
        TypeError: the signature is missing.
    """
    if inspect.isfunction(signature):
        name = signature_of(signature.__name__)
        raise TypeError(f"write @interface.rule(interface.{name}) above {signature.__name__}")
    return cfunc(signature, cache=True, _nrt=False)  # type: ignore[call-arg]  # missing in Numba's stubs


@rule(REPETITION_KEY)
def no_repetition_key(state: np.ndarray, key: np.ndarray) -> None:
    pass


@rule(PLIES_LEFT)
def no_plies_left(state: np.ndarray) -> int:
    return UNBOUNDED


@rule(LEGAL_ACTIONS)
def no_legal_actions(state: np.ndarray, actions: np.ndarray) -> int:
    return UNLISTED


@rule(LEGAL_MASK)
def no_legal_mask(state: np.ndarray, mask: np.ndarray) -> None:
    pass


class Rules(NamedTuple):
    """The compiled rules of one game, passed to the search kernels as an argument.

    A game writes its legal moves as a mask or as a list: as a list if a position has few legal moves among
    many actions. Then `legal_mask` is `no_legal_mask`. Kernels read them with `games/legal.py`.
    """

    initial: Any
    step: Any
    legal_mask: Any
    is_terminal: Any
    outcome: Any
    to_play: Any
    planes: Any
    evaluation_key: Any
    repetition_key: Any = no_repetition_key
    plies_left: Any = no_plies_left
    legal_actions: Any = no_legal_actions

    def plain(self) -> Rules:
        """Return the plain Python twins of the rules, for tests and `check_game`."""
        return Rules(*(rule.__wrapped__ for rule in self))


def function_at(signature: Any) -> Any:
    """Return a compiled function that turns the address of a cfunc with that signature into the cfunc."""
    function_type = types.FunctionType(signature)

    @intrinsic
    def at(_typing_context: Any, _address: Any) -> Any:
        def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
            function = cgutils.create_struct_proxy(function_type)(context, builder)
            function.c_addr = builder.inttoptr(arguments[0], cgutils.voidptr_t)
            function.py_addr = cgutils.get_null_value(cgutils.voidptr_t)
            function.jit_addr = cgutils.get_null_value(cgutils.voidptr_t)
            return function._getvalue()

        return function_type(types.int64), generate

    return at


def _is_written(_typing_context: Any, function: Any) -> Any:
    """Return whether a compiled rule has an address; `legal_actions` of a game of masks has none."""

    def generate(context: Any, builder: Any, _signature: Any, arguments: Any) -> Any:
        if isinstance(function, types.Dispatcher):  # compiled into a module, as `azero export` does
            known = function.dispatcher.py_func is not no_legal_actions.__wrapped__
            return context.get_constant(types.boolean, known)
        at = cgutils.create_struct_proxy(function)(context, builder, arguments[0]).c_addr
        return cgutils.is_not_null(builder, at)

    return types.boolean(function), generate


is_written: Any = intrinsic(_is_written)

initial_at = function_at(INITIAL)
step_at = function_at(STEP)
legal_mask_at = function_at(LEGAL_MASK)
is_terminal_at = function_at(IS_TERMINAL)
outcome_at = function_at(OUTCOME)
to_play_at = function_at(TO_PLAY)
planes_at = function_at(WRITE_PLANES)
evaluation_key_at = function_at(EVALUATION_KEY)
repetition_key_at = function_at(REPETITION_KEY)
plies_left_at = function_at(PLIES_LEFT)
legal_actions_at = function_at(LEGAL_ACTIONS)


@njit(cache=True, nogil=True)
def rules_at(addresses: np.ndarray) -> Rules:
    """Return the rules at `Game.rule_addresses`; the first line of a kernel that Python calls.

    Passing `Rules` from Python would cost 100 microseconds a call, because Numba looks up every function
    again.
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
        plies_left_at(addresses[9]),
        legal_actions_at(addresses[10]),
    )


def is_count(value: object) -> bool:
    """Return whether a value is a whole number from 1."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool) and bool(value >= 1)


def takes_one(function: Callable[..., Any]) -> bool:
    """Return whether a function can be called with one argument, as far as Python knows."""
    try:
        inspect.signature(function).bind(None)
    except TypeError:
        return False
    except ValueError:  # of some built-in classes, such as str
        return True
    return True


class FixedNames(NamedTuple):
    """Names of actions that are the same in every state, called as others are."""

    of_action: Callable[[int], str]

    def __call__(self, _state: np.ndarray, action: int) -> str:
        """Return the name of an action."""
        return self.of_action(action)


@dataclass(frozen=True)
class Game:
    """Everything azero knows about a game.

    Attributes:
        name: its name; of a shipped game as in `game.name`.
        num_actions: A, the same in every state.
        planes_shape: (C, H, W).
        state_words: S.
        key_words: K.
        max_plies: an upper bound of a game's length.
        rules: the compiled rules.
        action_symmetries: [symmetries, A] int64; symmetry k maps action a to `action_symmetries[k, a]`. Row 0
            is the identity.
        cell_symmetries: [symmetries, H*W] int64; the same for the cells of a plane, row by row.
        format_state: returns a state as text of several lines, with coordinates.
        action_name: returns for (state, legal action) the name of the action, in lower case. A game whose
            names never depend on the state may give a function of the action alone.
        options: the options the game was made with, defaults included.
        board: how to draw the game; None if it has no board of cells.
        repetition_words: R; 0 if positions may repeat.
        read_action: returns for (state, text) the legal action that is meant in another spelling, or None.
        write_action: returns for (state, legal action) how people write the move, such as Nf3, if that is not
            its name.
        set_up: returns the state of marks [H, W], as `Board.marks`, and who is to play, 0 or 1. ValueError:
            no game has this position; the message says why.
        write_position, read_position: a state as a line of text, and back, where the game has a notation of
            its own, such as FEN. `read_position` raises as `set_up` does.
        steps: what each of a cell's moves is, such as how far it goes, where boards of several sizes have
            other ones; () elsewhere. By them `init_from` knows the moves that two boards share.
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
    action_name: Callable[..., str]
    options: dict[str, Any] = field(default_factory=dict)
    board: Board | None = None
    repetition_words: int = 0
    read_action: Callable[[np.ndarray, str], int | None] | None = None
    write_action: Callable[[np.ndarray, int], str] | None = None
    set_up: Callable[[np.ndarray, int], np.ndarray] | None = None
    write_position: Callable[[np.ndarray], str] | None = None
    read_position: Callable[[str], np.ndarray] | None = None
    steps: tuple[Any, ...] = ()

    def __post_init__(self) -> None:
        """Check what counts something, and let `action_name` take a state in every game.

        Raises:
            TypeError: a number is not whole.
        """
        for name in ("num_actions", "state_words", "key_words", "max_plies"):
            if not is_count(value := getattr(self, name)):
                raise TypeError(f"{name} must be a whole number from 1, not {value!r}")
        shape = self.planes_shape
        if not isinstance(shape, tuple) or len(shape) != 3 or not all(map(is_count, shape)):
            raise TypeError(
                f"planes_shape must be how many planes, rows and columns there are, not {shape!r}"
            )
        if takes_one(self.action_name):
            object.__setattr__(self, "action_name", FixedNames(self.action_name))

    @cached_property
    def rule_addresses(self) -> np.ndarray:
        """Return the addresses of the compiled rules, [11] int64, for `rules_at`.

        That of `no_legal_actions` is 0: a call would cost a third of a ply of tic-tac-toe.
        """
        written = [rule.address if rule is not no_legal_actions else 0 for rule in self.rules]
        return np.array(written, np.int64)

    @property
    def fixed_names(self) -> bool:
        """Whether the names of actions are the same in every state."""
        return isinstance(self.action_name, FixedNames)

    @property
    def lists_moves(self) -> bool:
        """Whether the game writes its legal moves as a list, not as a mask."""
        return self.rules.legal_actions is not no_legal_actions

    def move_names(self, actions: Iterable[int], state: np.ndarray | None = None) -> list[str]:
        """Return the names of moves that are played one after the other, by default from the start."""
        return self._written(self.action_name, actions, state)

    def move_text(self, state: np.ndarray, action: int) -> str:
        """Return a legal move as people write it: SAN in chess, else the name of the action."""
        return (self.write_action or self.action_name)(state, action)

    def move_texts(self, actions: Iterable[int], state: np.ndarray | None = None) -> list[str]:
        """Return moves as `move_names` does, each as `move_text`."""
        return self._written(self.write_action or self.action_name, actions, state)

    def _written(
        self, write: Callable[[Any, int], str], actions: Iterable[int], state: np.ndarray | None
    ) -> list[str]:
        texts, state = list[str](), self.initial_state() if state is None else state
        if isinstance(write, FixedNames):
            return [write(state, action) for action in actions]
        for action in actions:
            texts.append(write(state, action))
            state = self.step(state, action)
        return texts

    def parse_action(self, state: np.ndarray, text: str) -> int:
        """Return the action that a text means in a state. In a game of fixed names it may be illegal there.

        Raises:
            ValueError: no action has that name.
        """
        if not self.fixed_names and self.is_terminal(state):
            raise ValueError("the game is over.")
        actions = list(range(self.num_actions)) if self.fixed_names else self.legal_actions(state)
        names = [self.action_name(state, action) for action in actions]
        if (name := text.strip().lower()) in names:
            return actions[names.index(name)]
        read = None if self.read_action is None else self.read_action(state, text.strip())
        if read is None:
            raise ValueError(
                f"{text!r} is not a move of {self.name}{'' if self.fixed_names else ' here'}; "
                f"moves are written {names[0]} … {names[-1]}."
            )
        return read

    def text(self, state: np.ndarray) -> str:
        """Return a state as one line that `position` reads: FEN, or the board's rows and who is to play.

        A state may hold more than its line, such as that a player has passed.

        Raises:
            UserError: the game has no such line.
        """
        if self.write_position is not None:
            return self.write_position(state)
        if self.board is None:
            raise UserError(f"{self.name} has no text for positions, because it has no board of cells.")
        return self.board.line(state, self.to_play(state))

    @property
    def reads_positions(self) -> bool:
        """Whether the game can begin at any position, see `position`."""
        return self.read_position is not None or (self.board is not None and self.set_up is not None)

    def position(self, text: str) -> np.ndarray:
        """Return the state, [S] uint64, that a line of `text` describes.

        Raises:
            UserError: the line describes none, or the game cannot begin at any position.
        """
        try:
            if self.read_position is not None:
                return self.read_position(text)
            if self.board is None or self.set_up is None:
                raise ValueError("this game cannot begin at any position")
            return self.set_up(*self.board.read_line(text))
        except UserError:  # a sentence already
            raise
        except ValueError as mistake:
            raise UserError(f"{text[:90]!r} is not a position of {self.name}: {mistake}.") from mistake

    def initial_state(self) -> np.ndarray:
        """Return the initial state, [S] uint64."""
        state = np.zeros(self.state_words, np.uint64)
        self.rules.initial(state)
        return state

    def step(self, state: np.ndarray, action: int) -> np.ndarray:
        """Return the successor of a state, [S] uint64; the action must be legal."""
        successor = np.zeros(self.state_words, np.uint64)
        self.rules.step(state, action, successor)
        return successor

    def legal_mask(self, state: np.ndarray) -> np.ndarray:
        """Return the legal actions as a mask, [A] bool."""
        mask = np.zeros(self.num_actions, np.bool_)
        if self.lists_moves:
            mask[self.legal_actions(state)] = True
        else:
            self.rules.legal_mask(state, mask)
        return mask

    def legal_actions(self, state: np.ndarray) -> list[int]:
        """Return the legal actions in rising order."""
        if not self.lists_moves:
            return np.flatnonzero(self.legal_mask(state)).tolist()
        actions = np.zeros(self.num_actions, np.int32)
        listed: list[int] = actions[: int(self.rules.legal_actions(state, actions))].tolist()
        return listed

    def is_terminal(self, state: np.ndarray) -> bool:
        """Return whether the game is over."""
        return bool(self.rules.is_terminal(state))

    def outcome(self, state: np.ndarray) -> float:
        """Return the value of a terminal state for `to_play(state)`, in [-1, 1]."""
        return float(self.rules.outcome(state))

    def first_outcome(self, state: np.ndarray) -> float:
        """Return the value of a terminal state for the player who made the first move of the game."""
        return self.outcome(state) * (1.0 if self.to_play(state) == 0 else -1.0)

    def to_play(self, state: np.ndarray) -> int:
        """Return who is to play: 0 for the player who made the first move of the game, else 1."""
        return int(self.rules.to_play(state))

    def cell_of(self, state: np.ndarray, action: int) -> int | None:
        """Return the cell where an action puts its piece; None: there is none, or no board."""
        cell = NO_CELL if self.board is None else self.board.cell_of(state, action)
        return None if cell == NO_CELL else int(cell)

    def from_of(self, state: np.ndarray, action: int) -> int | None:
        """Return the cell that an action's piece leaves; None: it comes from outside, or there is none."""
        if self.board is None or self.board.from_of is None:
            return None
        cell = int(self.board.from_of(state, action))
        return None if cell == NO_CELL else cell

    def alert(self, state: np.ndarray) -> int | None:
        """Return the cell that a board warns of, such as that of a king in check; None: there is none."""
        cell = NO_CELL if self.board is None or self.board.alert is None else int(self.board.alert(state))
        return None if cell == NO_CELL else cell

    def planes(self, state: np.ndarray) -> np.ndarray:
        """Return the network's input for a state, [C, H, W] float32."""
        planes = np.zeros(self.planes_shape, np.float32)
        self.rules.planes(state, planes)
        return planes
