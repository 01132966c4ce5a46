"""Games of OpenSpiel: any that two players play in turn, to zero sum, without chance and with everything in the open.

Letters: A actions, C H W planes, S state words.

state words: [0] plies played, [1] ... the actions played, packed without gaps (1, 2 or 4 bytes each, as A needs), zeros behind

So a state is the history of its game: a plain value, which means the same in every process. `Engine` turns it into a
`pyspiel.State`, whose rules are asked, and remembers the latest; a new position is its parent's copy and one action.

The compiled rules below only call back into Python, one at a time, because Python's interpreter lock is held. Measured with
tic-tac-toe on one core, and beside it with azero's own rules: 120 thousand random plies a second (17 million); 78 thousand
simulations a second of a search whose network costs nothing (1.9 million); 150 to 240 thousand simulations a second of self-play,
which remembers positions, with a network of 4 blocks of 32 channels (1 to 1.2 million). Where the network costs more, the rules
matter less: Breakthrough on 8 x 8 makes 33 thousand simulations a second without a network, and 4 thousand with that one.
"""

from __future__ import annotations

import ctypes
import difflib
import threading
from collections import Counter, OrderedDict
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
from numba import cfunc

from azero.config import OPENSPIEL, UserError
from azero.games import game as interface
from azero.games.game import Game, Rules

POSITIONS_KEPT = 32_768  # of a game; each a few kilobytes
RECORD_BYTES = 2**28  # self-play keeps as much, at most, of every game in flight: all plies it might have, with their targets
ACTIONS_NAMED = 100_000  # legal actions looked at to learn what they are called

MADE: dict[tuple[str, int], Game] = {}  # by OpenSpiel's text of the game and max_plies: stages of one process share positions

# How compiled code calls Python: arrays are given by the address of their first element.
WRITE = ctypes.CFUNCTYPE(None, ctypes.c_size_t)
STEP = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_int64, ctypes.c_size_t)
READ = ctypes.CFUNCTYPE(ctypes.c_double, ctypes.c_size_t)
READ_AND_WRITE = ctypes.CFUNCTYPE(None, ctypes.c_size_t, ctypes.c_size_t)


class Position:
    """A state of OpenSpiel and what azero asks of it.

    Attributes:
        state: the `pyspiel.State`.
        to_play: 0 for who moves first in the game, 1 for the other; at the end, whoever did not make the last move.
        over: whether the game is.
        view: planes, legal mask and evaluation key as bytes; None until they are asked for.
    """

    __slots__ = ("over", "state", "to_play", "view")

    def __init__(self, state: Any, to_play: int, over: bool) -> None:
        self.state, self.to_play, self.over = state, to_play, over
        self.view: tuple[bytes, bytes, bytes] | None = None


class Engine:
    """One game of OpenSpiel behind azero's rules, which are its methods of the same names; arrays are given by their address."""

    def __init__(self, game: Any, max_plies: int) -> None:
        """`max_plies`: a game that lasts longer is a draw."""
        from open_spiel.python.observation import make_observation

        self.max_plies = max_plies
        self.num_actions: int = game.num_distinct_actions()
        self.action_bytes = 1 if self.num_actions <= 2**8 else 2 if self.num_actions <= 2**16 else 4
        self.state_words = 1 - (-max_plies * self.action_bytes // 8)
        self.planes_shape = planes_shape(game)
        self.largest_utility = max(abs(game.min_utility()), abs(game.max_utility()))
        self.observation = make_observation(game)
        self.observing = threading.Lock()  # lanes share the observation's buffer
        self.role_planes = [np.full(self.planes_shape[1:], role, np.float32).tobytes() for role in (0, 1)]
        start = game.new_initial_state()
        self.first_player: int = start.current_player()  # 1 in a few games, such as chess
        self.start = Position(start, 0, False)
        self.kept: OrderedDict[bytes, Position] = OrderedDict()  # by history, the latest used last

    # A state's words and its position

    def history(self, words_at: int) -> bytes:
        """The actions played, packed."""
        words = ctypes.string_at(words_at, 8 * self.state_words)
        return words[8 : 8 + self.action_bytes * int.from_bytes(words[:8], "little")]

    def write(self, history: bytes, words_at: int) -> None:
        """Write the words of a state."""
        words = (len(history) // self.action_bytes).to_bytes(8, "little") + history
        ctypes.memmove(words_at, words.ljust(8 * self.state_words, b"\0"), 8 * self.state_words)

    def position(self, words_at: int) -> Position:
        """The position that a state's words stand for."""
        return self.find(self.history(words_at))

    def find(self, history: bytes) -> Position:
        """The position after some actions: a remembered one, or played from the nearest that is remembered."""
        try:
            self.kept.move_to_end(history)
            return self.kept[history]
        except KeyError:  # not remembered, or another lane has just pushed it out
            pass
        position, known = self.nearest(history)
        for place in range(known, len(history), self.action_bytes):
            action = int.from_bytes(history[place : place + self.action_bytes], "little")
            position = self.after(position, action, place // self.action_bytes + 1)
        self.kept[history] = position
        if len(self.kept) > POSITIONS_KEPT:
            self.kept.popitem(last=False)
        return position

    def nearest(self, history: bytes) -> tuple[Position, int]:
        """The latest position on the way that is remembered, and the length of its history."""
        for known in range(len(history) - self.action_bytes, 0, -self.action_bytes):
            position = self.kept.get(history[:known])
            if position is not None:
                return position, known
        return self.start, 0

    def after(self, before: Position, action: int, plies: int) -> Position:
        """The position after one more action; `plies` with it."""
        state = before.state.child(action)
        if state.is_terminal() or plies >= self.max_plies:
            return Position(state, 1 - before.to_play, True)
        return Position(state, state.current_player() ^ self.first_player, False)

    def view(self, words_at: int) -> tuple[bytes, bytes, bytes]:
        """Planes, legal mask and evaluation key, made once for each position that is remembered."""
        position = self.position(words_at)
        if position.view is None:
            with self.observing:
                self.observation.set_from(position.state, position.to_play ^ self.first_player)
                planes = self.observation.tensor.tobytes()
            planes += self.role_planes[position.to_play]
            mask = bytearray(self.num_actions)
            for action in position.state.legal_actions():
                mask[action] = 1
            position.view = planes, bytes(mask), blake2b(planes + mask, digest_size=16).digest()
        return position.view

    # The rules

    def initial(self, words_at: int) -> None:
        self.write(b"", words_at)

    def step(self, words_at: int, action: int, successor_at: int) -> None:
        self.write(self.history(words_at) + action.to_bytes(self.action_bytes, "little"), successor_at)

    def legal_mask(self, words_at: int, mask_at: int) -> None:
        ctypes.memmove(mask_at, self.view(words_at)[1], self.num_actions)

    def is_terminal(self, words_at: int) -> float:
        return self.position(words_at).over

    def outcome(self, words_at: int) -> float:
        position = self.position(words_at)
        if not position.state.is_terminal():
            return 0.0  # it has lasted max_plies
        return position.state.returns()[position.to_play ^ self.first_player] / self.largest_utility

    def to_play(self, words_at: int) -> float:
        return self.position(words_at).to_play

    def planes(self, words_at: int, planes_at: int) -> None:
        planes = self.view(words_at)[0]
        ctypes.memmove(planes_at, planes, len(planes))

    def evaluation_key(self, words_at: int, key_at: int) -> None:
        ctypes.memmove(key_at, self.view(words_at)[2], 16)

    # For people

    def format_state(self, state: np.ndarray) -> str:
        """The board as OpenSpiel writes it."""
        return str(self.position(state.ctypes.data).state)

    def action_name(self, action: int) -> str:
        """What OpenSpiel calls an action, where it is called the same in all positions; else its number."""
        return self.action_names[action]

    @cached_property
    def action_names(self) -> list[str]:
        """Every action's name. OpenSpiel can only name what is legal, so random games are played until most actions were seen."""
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
    """What both players' texts of an action end with, as x(0,0) and o(0,0) with (0,0); its number where that is not one's own."""
    names = [common_end([each[action] for each in texts if action in each]) for action in range(len(numbers))]
    times = Counter(names)
    alone = [times[name] == 1 and name != "" and not name.isdecimal() for name in names]
    return [name if single else number for name, single, number in zip(names, alone, numbers, strict=True)]


def common_end(texts: list[str]) -> str:
    """The longest text that all end with."""
    longest = texts[0] if texts else ""
    return next(longest[cut:] for cut in range(len(longest) + 1) if all(text.endswith(longest[cut:]) for text in texts))


def planes_shape(game: Any) -> tuple[int, int, int]:
    """(C, H, W) of OpenSpiel's tensor and one plane more, which is 1 where the second player is to move.

    The tensor is the observation of the player to move, or the information state where a game has no other. Many show the players
    in fixed colours, which is why the network must be told who moves.
    """
    kind = game.get_type()
    if kind.provides_observation_tensor:
        shape = tuple(game.observation_tensor_shape())
    elif kind.provides_information_state_tensor:
        shape = tuple(game.information_state_tensor_shape())
    else:
        raise UserError(f"{OPENSPIEL}{kind.short_name} describes its positions by no tensor that a network could read.")
    if len(shape) == 3:
        return shape[0] + 1, shape[1], shape[2]
    if len(shape) == 2:
        return 2, shape[0], shape[1]
    return int(np.prod(shape)) + 1, 1, 1


def make_rules(engine: Engine) -> Rules:
    """The engine's rules as functions that compiled code can call. Compiled anew in every process, in a fifth of a second."""
    write_initial, write_successor = WRITE(engine.initial), STEP(engine.step)
    read_terminal, read_outcome, read_to_play = READ(engine.is_terminal), READ(engine.outcome), READ(engine.to_play)
    write_mask, write_planes = READ_AND_WRITE(engine.legal_mask), READ_AND_WRITE(engine.planes)
    write_key = READ_AND_WRITE(engine.evaluation_key)

    @cfunc(interface.INITIAL)
    def initial(state):
        write_initial(state.ctypes.data)

    @cfunc(interface.STEP)
    def step(state, action, successor):
        write_successor(state.ctypes.data, action, successor.ctypes.data)

    @cfunc(interface.LEGAL_MASK)
    def legal_mask(state, mask):
        write_mask(state.ctypes.data, mask.ctypes.data)

    @cfunc(interface.IS_TERMINAL)
    def is_terminal(state):
        return read_terminal(state.ctypes.data) != 0.0

    @cfunc(interface.OUTCOME)
    def outcome(state):
        return read_outcome(state.ctypes.data)

    @cfunc(interface.TO_PLAY)
    def to_play(state):
        return np.int64(read_to_play(state.ctypes.data))

    @cfunc(interface.WRITE_PLANES)
    def planes(state, out):
        write_planes(state.ctypes.data, out.ctypes.data)

    @cfunc(interface.EVALUATION_KEY)
    def evaluation_key(state, key):
        write_key(state.ctypes.data, key.ctypes.data)

    return Rules(initial, step, legal_mask, is_terminal, outcome, to_play, planes, evaluation_key)


# Which games


def load_game(name: str, parameters: dict[str, Any]) -> Any:
    """OpenSpiel's game of that name, which may hold parameters of its own, such as ``breakthrough(rows=6,columns=6)``."""
    try:
        import pyspiel
    except ImportError as error:
        raise UserError('OpenSpiel is not installed; pip install "azero[openspiel]" brings it.') from error
    known = {kind.short_name: kind for kind in pyspiel.registered_games()}
    short_name, bracket, _ = name.partition("(")
    if short_name not in known:
        near = difflib.get_close_matches(short_name, known, n=3) or ["breakthrough", "hex", "othello"]
        raise UserError(f"game.name={name} is no game of OpenSpiel; there are {', '.join(near)} and others.")
    specification = known[short_name].parameter_specification
    try:
        given = pyspiel.game_parameters_from_string(name) if bracket else {}
        given |= {key: fitting(short_name, key, value, specification) for key, value in parameters.items()}
        return pyspiel.load_game(short_name, {key: value for key, value in given.items() if key != "name"})
    except pyspiel.SpielError as error:
        said = " ".join(str(error).split())[:200].rstrip(".")
        raise UserError(f"OpenSpiel cannot make {name} with game.options={parameters}: {said}.") from error


def fitting(name: str, key: str, value: Any, specification: dict[str, Any]) -> Any:
    """A parameter's value, of the type that OpenSpiel wants; asked here because OpenSpiel itself prints lines of its own."""
    if key not in specification:
        options = ", ".join(["max_plies", *specification])
        raise UserError(f"game.options.{key} is unknown to {OPENSPIEL}{name}; it has {options}.")
    wanted = type(specification[key])
    if wanted is float and type(value) is int:
        return float(value)
    if type(value) is not wanted:
        raise UserError(f"game.options.{key}={value} must be of type {wanted.__name__}, as in {key}={specification[key]}.")
    return value


def refuse_other_kinds(game: Any) -> None:
    """Refuse a game that the search cannot play.

    Raises:
        UserError: says why.
    """
    kind = game.get_type()
    reasons = {
        "players move at the same time": kind.dynamics != kind.Dynamics.SEQUENTIAL,
        "chance has a part in it": kind.chance_mode != kind.ChanceMode.DETERMINISTIC,
        "players do not see everything": kind.information != kind.Information.PERFECT_INFORMATION,
        f"it has {game.num_players()} players": game.num_players() != 2,
        "one side's gain is not the other's loss": kind.utility != kind.Utility.ZERO_SUM,
    }
    reason = next((text for text, holds in reasons.items() if holds), None)
    if reason:
        raise UserError(f"{OPENSPIEL}{kind.short_name} cannot be learned by azero, because {reason}; choose another game.name=.")


def plies_allowed(game: Any, max_plies: int | None) -> int:
    """The longest game: OpenSpiel's bound, or a lower one that was asked for.

    Raises:
        UserError: the number is out of range, or records of so long games would not fit into memory (chess: 17,695 plies).
    """
    name, longest = game.get_type().short_name, game.max_game_length()
    plies = longest if max_plies is None else max_plies
    if type(plies) is not int or not 1 <= plies <= longest:
        raise UserError(f"game.options.max_plies={plies} must be a whole number between 1 and {longest}.")
    needed = plies * 4 * (plies + game.num_distinct_actions())  # about: actions played before each ply, and its policy target
    if needed > RECORD_BYTES:
        raise UserError(
            f"{OPENSPIEL}{name} may last {plies:,} plies, which is too long for the memory of a game in flight "
            f"({needed / 2**20:,.0f} MiB); set game.options.max_plies=500, say, and longer games are draws."
        )
    return plies


def make_game(name: str, max_plies: int | None = None, **parameters: Any) -> Game:
    """A game of OpenSpiel.

    Args:
        name: as OpenSpiel has it, such as ``breakthrough``.
        max_plies: games that last longer are draws; by default none does.
        parameters: of OpenSpiel's game, such as ``rows=6``.

    Raises:
        UserError: OpenSpiel is not installed, has no such game or parameter, or the game is of a kind that azero cannot play.
    """
    game = load_game(name, parameters)
    refuse_other_kinds(game)
    made = str(game), plies_allowed(game, max_plies)
    if made not in MADE:
        MADE[made] = adapt(game, made[1])
    return MADE[made]


def adapt(game: Any, max_plies: int) -> Game:
    """The game of OpenSpiel as a game of azero."""
    engine = Engine(game, max_plies)
    parameters = game.get_parameters().items()
    options = {key: value if isinstance(value, bool | int | float) else str(value) for key, value in parameters}
    return Game(
        name=OPENSPIEL + game.get_type().short_name,
        num_actions=engine.num_actions,
        planes_shape=engine.planes_shape,
        state_words=engine.state_words,
        key_words=2,  # 128 bits of a digest of planes and mask: among 2^32 positions, two are equal with a chance of 1 in 2^65
        max_plies=max_plies,
        rules=make_rules(engine),
        action_symmetries=np.arange(engine.num_actions)[None],
        cell_symmetries=np.arange(engine.planes_shape[1] * engine.planes_shape[2])[None],
        format_state=engine.format_state,
        action_name=engine.action_name,
        options={**options, "max_plies": max_plies},
    )
