"""Games of OpenSpiel: two-player, turn-based, zero-sum, deterministic, perfect-information.

Letters: A actions; C, H, W planes; S state words.

state words: [0] plies played, [1] ... the actions played, packed (1, 2 or 4 bytes each, as A needs), then
zeros

So a state is the history of its game: a plain value with the same meaning in every process. `OpenSpielEngine`
turns it into a `pyspiel.State` and caches the latest ones. A new position is a copy of its parent plus one
action.

The compiled rules call back into Python, one at a time, because Python holds its interpreter lock. That is
slow: on one core tic-tac-toe plays 120 thousand random plies a second, 17 million by azero's own rules. An
expensive network hides the cost. `docs/lab/notebook.md` has the measurements.
"""

from __future__ import annotations

import ctypes
import difflib
import threading
from collections import Counter, OrderedDict
from functools import cached_property
from hashlib import blake2b
from itertools import takewhile
from typing import Any

import numpy as np
from numba import cfunc

from azero.config.reading import read_value, unknown_setting, whole_number
from azero.config.schema import OPENSPIEL, Setting, UserError
from azero.games import game as interface
from azero.games.game import Game, Rules
from azero.games.kit.options import PREFIX

POSITIONS_KEPT = 32_768  # of a game; each takes a few kilobytes
RECORD_BYTES = 2**28  # most memory for the record of one game of self-play, with all plies it may have
ACTION_BYTES = 4  # of an action in a list of legal ones
ACTIONS_NAMED = 100_000  # legal actions examined to learn their names

# Games made so far, by OpenSpiel's text and max_plies, so that stages of a process share positions
MADE: dict[tuple[str, int], Game] = {}

# How compiled code calls Python: arrays are given by the address of their first element.
WRITE = ctypes.CFUNCTYPE(None, ctypes.c_size_t)
STEP = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_int64, ctypes.c_size_t)
READ = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_size_t)
READ_AND_WRITE = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t)
LIST = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_size_t, ctypes.c_size_t)


class OpenSpielPosition:
    """A state of OpenSpiel and what azero reads of it.

    Attributes:
        state: the `pyspiel.State`.
        to_play: 0 for the player who makes the first move of the game, else 1; at the end, not the last
            mover.
        over: whether the game is over.
        legal: the legal actions, rising, as bytes of int32; None until needed.
        view: planes and evaluation key as bytes; None until needed.
    """

    __slots__ = ("legal", "over", "state", "to_play", "view")

    def __init__(self, state: Any, to_play: int, over: bool) -> None:
        self.state, self.to_play, self.over = state, to_play, over
        self.legal: bytes | None = None
        self.view: tuple[bytes, bytes] | None = None


class OpenSpielEngine:
    """One game of OpenSpiel. Its methods are the rules of the same names; they get arrays by address."""

    def __init__(self, game: Any, max_plies: int) -> None:
        """Set up the game; one longer than `max_plies` is a draw."""
        from open_spiel.python.observation import make_observation

        self.max_plies = max_plies
        self.num_actions: int = game.num_distinct_actions()
        self.action_bytes = 1 if self.num_actions <= 2**8 else 2 if self.num_actions <= 2**16 else 4
        self.state_words = 1 - (-max_plies * self.action_bytes // 8)
        self.planes_shape = planes_shape(game)
        self.largest_utility = max(abs(game.min_utility()), abs(game.max_utility()))
        self.observation = make_observation(game)
        self.observing = threading.Lock()  # workers share the observation's buffer
        self.role_planes = [np.full(self.planes_shape[1:], role, np.float32).tobytes() for role in (0, 1)]
        start = game.new_initial_state()
        self.first_player: int = start.current_player()  # 1 in a few games, such as chess
        self.start = OpenSpielPosition(start, 0, False)
        self.kept: OrderedDict[bytes, OpenSpielPosition] = OrderedDict()  # by history, the latest used last

    # A state's words and its position

    def history(self, words_at: int) -> bytes:
        """Return the actions played, packed."""
        words = ctypes.string_at(words_at, 8 * self.state_words)
        return words[8 : 8 + self.action_bytes * int.from_bytes(words[:8], "little")]

    def write(self, history: bytes, words_at: int) -> None:
        """Write the words of a state."""
        words = (len(history) // self.action_bytes).to_bytes(8, "little") + history
        ctypes.memmove(words_at, words.ljust(8 * self.state_words, b"\0"), 8 * self.state_words)

    def position(self, words_at: int) -> OpenSpielPosition:
        """Return the position of a state's words."""
        return self.find(self.history(words_at))

    def find(self, history: bytes) -> OpenSpielPosition:
        """Return the position after some actions: a cached one, or played from the nearest cached one."""
        try:
            self.kept.move_to_end(history)
            return self.kept[history]
        except KeyError:  # not cached, or just removed by another worker
            pass
        position, known = self.nearest(history)
        for place in range(known, len(history), self.action_bytes):
            action = int.from_bytes(history[place : place + self.action_bytes], "little")
            position = self.after(position, action, place // self.action_bytes + 1)
        self.kept[history] = position
        if len(self.kept) > POSITIONS_KEPT:
            self.kept.popitem(last=False)
        return position

    def nearest(self, history: bytes) -> tuple[OpenSpielPosition, int]:
        """Return the latest cached position on the way and the length of its history."""
        for known in range(len(history) - self.action_bytes, 0, -self.action_bytes):
            position = self.kept.get(history[:known])
            if position is not None:
                return position, known
        return self.start, 0

    def after(self, before: OpenSpielPosition, action: int, plies: int) -> OpenSpielPosition:
        """Return the position after one more action, which is ply number `plies`."""
        state = before.state.child(action)
        if state.is_terminal() or plies >= self.max_plies:
            return OpenSpielPosition(state, 1 - before.to_play, True)
        return OpenSpielPosition(state, state.current_player() ^ self.first_player, False)

    def legal(self, position: OpenSpielPosition) -> bytes:
        """Return the legal actions as bytes; they are listed once for each cached position."""
        if position.legal is None:
            position.legal = np.array(sorted(position.state.legal_actions()), np.int32).tobytes()
        return position.legal

    def view(self, words_at: int) -> tuple[bytes, bytes]:
        """Return planes and evaluation key; they are made once for each cached position."""
        position = self.position(words_at)
        if position.view is None:
            with self.observing:
                self.observation.set_from(position.state, position.to_play ^ self.first_player)
                planes = self.observation.tensor.tobytes()
            planes += self.role_planes[position.to_play]
            position.view = planes, blake2b(planes + self.legal(position), digest_size=16).digest()
        return position.view

    # The rules

    def initial(self, words_at: int) -> None:
        self.write(b"", words_at)

    def step(self, words_at: int, action: int, successor_at: int) -> None:
        self.write(self.history(words_at) + action.to_bytes(self.action_bytes, "little"), successor_at)

    def legal_actions(self, words_at: int, actions_at: int) -> int:
        legal = self.legal(self.position(words_at))
        ctypes.memmove(actions_at, legal, len(legal))
        return len(legal) // ACTION_BYTES

    def is_terminal(self, words_at: int) -> float:
        return self.position(words_at).over

    def outcome(self, words_at: int) -> float:
        position = self.position(words_at)
        if not position.state.is_terminal():
            return 0.0  # stopped by max_plies
        return float(position.state.returns()[position.to_play ^ self.first_player]) / self.largest_utility

    def to_play(self, words_at: int) -> float:
        return self.position(words_at).to_play

    def planes(self, words_at: int, planes_at: int) -> None:
        planes = self.view(words_at)[0]
        ctypes.memmove(planes_at, planes, len(planes))

    def evaluation_key(self, words_at: int, key_at: int) -> None:
        ctypes.memmove(key_at, self.view(words_at)[1], 16)

    # For people

    def format_state(self, state: np.ndarray) -> str:
        """Return the board as OpenSpiel writes it."""
        return str(self.position(state.ctypes.data).state)

    @cached_property
    def action_names(self) -> list[str]:
        """Return OpenSpiel's name of each action if it is the same in all positions, else its number.

        OpenSpiel names only legal actions, so random games are played until most actions were seen.
        """
        numbers = [str(action) for action in range(self.num_actions)]
        texts: tuple[dict[int, str], dict[int, str]] = ({}, {})  # of each player
        rng = np.random.default_rng(0)
        state, looked = self.start.state.clone(), 0
        while looked < ACTIONS_NAMED:
            if state.is_terminal():
                state = self.start.state.clone()
            player, legal = state.current_player(), state.legal_actions()
            for action in legal:
                text = "".join(state.action_to_string(player, action).lower().split())
                if texts[player].setdefault(action, text) != text:
                    return numbers
            looked += len(legal)
            state.apply_action(int(rng.choice(legal)))
        return unique_names(texts, numbers)


def unique_names(texts: tuple[dict[int, str], dict[int, str]], numbers: list[str]) -> list[str]:
    """Return the common end of both players' texts of an action, or its number if that is not unique.

    x(0,0) and o(0,0) give (0,0).
    """
    names = [common_end([each[action] for each in texts if action in each]) for action in range(len(numbers))]
    times = Counter(names)
    alone = [times[name] == 1 and name != "" and not name.isdecimal() for name in names]
    return [name if single else number for name, single, number in zip(names, alone, numbers, strict=True)]


def common_end(texts: list[str]) -> str:
    """Return the longest common end of some texts."""
    columns = zip(*(text[::-1] for text in texts), strict=False)
    return "".join(column[0] for column in takewhile(lambda column: len(set(column)) == 1, columns))[::-1]


def planes_shape(game: Any) -> tuple[int, int, int]:
    """Return (C, H, W) of OpenSpiel's tensor plus one plane, which is 1 if the second player is to move.

    The tensor is the observation of the player to move, or the information state if a game has only that.
    Many show the players in fixed colours, so the network needs the additional plane.
    """
    kind = game.get_type()
    if kind.provides_observation_tensor:
        shape = game.observation_tensor_shape()
    elif kind.provides_information_state_tensor:
        shape = game.information_state_tensor_shape()
    else:
        name = OPENSPIEL + kind.short_name
        raise UserError(f"{name} has no tensor for a network to read; choose another game.")
    if len(shape) == 3:
        return shape[0] + 1, shape[1], shape[2]
    if len(shape) == 2:
        return 2, shape[0], shape[1]
    return int(np.prod(shape)) + 1, 1, 1


def make_rules(engine: OpenSpielEngine) -> Rules:
    """Return the engine's rules as functions that compiled code can call.

    They are compiled anew in every process, which takes a fifth of a second.
    """
    write_initial, write_successor = WRITE(engine.initial), STEP(engine.step)
    rules = (engine.is_terminal, engine.outcome, engine.to_play)
    read_terminal, read_outcome, read_to_play = map(READ, rules)
    write_planes, write_key = map(READ_AND_WRITE, (engine.planes, engine.evaluation_key))
    list_actions = LIST(engine.legal_actions)

    @cfunc(interface.INITIAL)
    def initial(state: np.ndarray) -> None:
        write_initial(state.ctypes.data)

    @cfunc(interface.STEP)
    def step(state: np.ndarray, action: int, successor: np.ndarray) -> None:
        write_successor(state.ctypes.data, action, successor.ctypes.data)

    @cfunc(interface.LEGAL_ACTIONS)
    def legal_actions(state: np.ndarray, actions: np.ndarray) -> np.int64:
        return np.int64(list_actions(state.ctypes.data, actions.ctypes.data))

    @cfunc(interface.IS_TERMINAL)
    def is_terminal(state: np.ndarray) -> bool:
        return read_terminal(state.ctypes.data) != 0.0

    @cfunc(interface.OUTCOME)
    def outcome(state: np.ndarray) -> float:
        return read_outcome(state.ctypes.data)

    @cfunc(interface.TO_PLAY)
    def to_play(state: np.ndarray) -> np.int64:
        return np.int64(read_to_play(state.ctypes.data))

    @cfunc(interface.WRITE_PLANES)
    def planes(state: np.ndarray, out: np.ndarray) -> None:
        write_planes(state.ctypes.data, out.ctypes.data)

    @cfunc(interface.EVALUATION_KEY)
    def evaluation_key(state: np.ndarray, key: np.ndarray) -> None:
        write_key(state.ctypes.data, key.ctypes.data)

    return Rules(
        *(initial, step, interface.no_legal_mask, is_terminal, outcome, to_play, planes, evaluation_key),
        legal_actions=legal_actions,
    )


# Which games


def load_game(name: str, parameters: dict[str, Any]) -> Any:
    """Return OpenSpiel's game of that name, perhaps with parameters: ``breakthrough(rows=6,columns=6)``."""
    try:
        import pyspiel
    except ImportError as error:
        raise UserError('OpenSpiel is not installed; run pip install "azero[openspiel]".') from error
    known = {kind.short_name: kind for kind in pyspiel.registered_games()}
    short_name, bracket, _ = name.partition("(")
    if short_name not in known:
        near = difflib.get_close_matches(short_name, known, n=3) or ["breakthrough", "hex", "othello"]
        raise UserError(f"unknown game.name={name} of OpenSpiel; choose one such as {', '.join(near)}.")
    specification = known[short_name].parameter_specification
    try:
        given = pyspiel.game_parameters_from_string(name) if bracket else {}
        given |= {key: fitting(short_name, key, value, specification) for key, value in parameters.items()}
        return pyspiel.load_game(short_name, {key: value for key, value in given.items() if key != "name"})
    except pyspiel.SpielError as error:
        said = " ".join(str(error).split())[:200].rstrip(".")
        raise UserError(f"OpenSpiel cannot make {name} with game.options={parameters}: {said}.") from error


def fitting(name: str, key: str, value: Any, specification: dict[str, Any]) -> Any:
    """Return a parameter's value with the type that OpenSpiel wants.

    It is checked here because OpenSpiel prints an error of several lines.
    """
    if key not in specification:
        raise unknown_setting(key, ["max_plies", *specification], PREFIX, OPENSPIEL + name)
    kind = type(specification[key]).__name__
    value = read_value(PREFIX + key, value, Setting(specification[key], "", kind=kind))
    return float(value) if kind == "float" else value


def refuse_other_kinds(game: Any) -> None:
    """Raise UserError for a game that the search cannot play."""
    kind = game.get_type()
    reasons = {
        "players move at the same time": kind.dynamics != kind.Dynamics.SEQUENTIAL,
        "it has chance moves": kind.chance_mode != kind.ChanceMode.DETERMINISTIC,
        "players have hidden information": kind.information != kind.Information.PERFECT_INFORMATION,
        f"it has {game.num_players()} players": game.num_players() != 2,
        "it is not zero-sum": kind.utility != kind.Utility.ZERO_SUM,
    }
    for reason, holds in reasons.items():
        if holds:
            name = OPENSPIEL + kind.short_name
            raise UserError(f"{name} is not supported, because {reason}; choose another game.")


def plies_allowed(game: Any, max_plies: int | None) -> int:
    """Return the upper bound of a game's length: OpenSpiel's, or a lower one that the user wants.

    Raises:
        UserError: it is out of range, or the record of so long a game needs too much memory (chess: 17,695).
    """
    name, longest = game.get_type().short_name, game.max_game_length()
    plies = longest if max_plies is None else max_plies
    whole_number(f"{PREFIX}max_plies", plies, 1, longest)
    needed = 4 * plies**2  # the actions before each ply
    if needed > RECORD_BYTES:
        raise UserError(
            f"{OPENSPIEL}{name} may last {plies:,} plies, whose record needs {needed / 2**20:,.0f} MiB; "
            "set a lower game.options.max_plies, such as 500 (longer games are draws)."
        )
    return plies


def make_game(name: str, max_plies: int | None = None, **parameters: Any) -> Game:
    """Return a game of OpenSpiel.

    Args:
        name: OpenSpiel's name, such as ``breakthrough``.
        max_plies: longer games are draws; None means OpenSpiel's bound.
        parameters: parameters of the game, such as ``rows=6``.

    Raises:
        UserError: OpenSpiel is missing, the game or a parameter is unknown, or azero cannot play the game.
    """
    game = load_game(name, parameters)
    refuse_other_kinds(game)
    made = str(game), plies_allowed(game, max_plies)
    if made not in MADE:
        MADE[made] = adapt(game, made[1])
    return MADE[made]


def adapt(game: Any, max_plies: int) -> Game:
    """Return a game of OpenSpiel as a game of azero."""
    engine = OpenSpielEngine(game, max_plies)
    options = game.get_parameters()
    options |= {key: str(value) for key, value in options.items() if not isinstance(value, int | float)}
    return Game(
        name=OPENSPIEL + game.get_type().short_name,
        num_actions=engine.num_actions,
        planes_shape=engine.planes_shape,
        state_words=engine.state_words,
        # A digest of 128 bits: two of 2^32 positions collide with a probability of 2^-65
        key_words=2,
        max_plies=max_plies,
        rules=make_rules(engine),
        action_symmetries=np.arange(engine.num_actions)[None],
        cell_symmetries=np.arange(engine.planes_shape[1] * engine.planes_shape[2])[None],
        format_state=engine.format_state,
        action_name=lambda action: engine.action_names[action],
        options={**options, "max_plies": max_plies},
    )
