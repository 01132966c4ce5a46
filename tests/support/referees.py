"""Random games played beside an independent implementation of the same rules, every ply compared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from azero.games import make_game
from azero.games.breakthrough import goal_of, start_of
from azero.games.game import Game
from azero.games.laws.check import look_compiled, step_compiled

# azero's game and its options: OpenSpiel's game
OPENSPIEL: dict[str, tuple[str, dict[str, int], str]] = {
    "tictactoe": ("tictactoe", {}, "tic_tac_toe"),
    "connect_four": ("connect_four", {}, "connect_four"),
    "connect_four 5x9": ("connect_four", {"rows": 5, "columns": 9}, "connect_four(rows=5,columns=9)"),
    "othello": ("othello", {}, "othello"),
    "gomoku": ("gomoku", {}, "mnk(m=15,n=15,k=5)"),
    "gomoku 7x5x4": ("gomoku", {"rows": 5, "columns": 7, "connect": 4}, "mnk(m=7,n=5,k=4)"),
    "hex 5": ("hex", {"size": 5}, "hex(board_size=5)"),
    "hex 11": ("hex", {"size": 11}, "hex(board_size=11)"),
}
# options of Breakthrough: OpenSpiel's game, in which the first player begins at the top
BREAKTHROUGH: dict[str, tuple[dict[str, int], str]] = {
    "breakthrough": ({}, "breakthrough"),
    "breakthrough 6": ({"rows": 6, "columns": 6}, "breakthrough(rows=6,columns=6)"),
    "breakthrough 6x3": ({"rows": 6, "columns": 3}, "breakthrough(rows=6,columns=3)"),
}
FIRST, SECOND, EMPTY = (
    "xyzX",
    "opqO",
    ".-",
)  # OpenSpiel's signs for pieces; Hex has several, by the edges they are joined to


@dataclass
class Comparison:
    """What was compared, and every difference in words."""

    games: int = 0
    plies: int = 0
    mismatches: list[str] = field(default_factory=list)


class Compiled:
    """One game's compiled rules at one state after the other."""

    def __init__(self, game: Game, state: np.ndarray | None = None) -> None:
        """Begins at a state, by default the initial one."""
        self.game = game
        self.state = game.initial_state() if state is None else state
        self.mask, self.listed = np.zeros(game.num_actions, np.bool_), np.zeros(game.num_actions, np.int32)
        self.planes = np.zeros(game.planes_shape, np.float32)
        self.key = np.zeros(game.key_words, np.uint64)
        self.look()

    def look(self) -> None:
        """Ask the rules about the state."""
        addresses = self.game.rule_addresses
        self.to_play, self.terminal, self.outcome, count = look_compiled(
            addresses, self.state, self.mask, self.listed, self.planes, self.key
        )
        if self.game.lists_moves:
            self.mask[:] = False
            self.mask[self.listed[:count]] = True

    def step(self, action: int) -> None:
        """Play."""
        successor = np.zeros_like(self.state)
        step_compiled(self.game.rule_addresses, self.state, action, successor)
        self.state = successor
        self.look()


def openspiel_marks(text: str, height: int, width: int) -> np.ndarray:
    """The board in OpenSpiel's text of a state, [H, W] int8 as `Board.marks`."""
    rows = []
    for line in text.splitlines():
        cells = line.split() if " " in line.strip() else list(line.strip())
        cells = [cell for cell in cells if len(cell) == 1 and cell in FIRST + SECOND + EMPTY]
        if len(cells) == width:
            rows.append([1 if cell in FIRST else 2 if cell in SECOND else 0 for cell in cells])
    return np.array(rows, np.int8).reshape(height, width)


def difference(ours: Compiled, theirs: Any) -> str:
    """What OpenSpiel says otherwise of the same position; empty if nothing."""
    if ours.terminal != theirs.is_terminal():
        return f"over: {ours.terminal} and {theirs.is_terminal()}"
    if ours.game.board:
        marks = ours.game.board.marks(ours.state)
        if not np.array_equal(marks, openspiel_marks(str(theirs), *marks.shape)):
            return "the boards differ"
    if ours.terminal:
        returns = theirs.returns()[ours.to_play]
        return "" if returns == ours.outcome else f"outcome {ours.outcome} and {returns}"
    if ours.to_play != theirs.current_player():
        return f"to play: {ours.to_play} and {theirs.current_player()}"
    legal = np.flatnonzero(ours.mask).tolist()
    return "" if legal == theirs.legal_actions() else f"legal: {legal} and {theirs.legal_actions()}"


def go_marks(text: str, size: int) -> np.ndarray:
    """The board in OpenSpiel's text of a Go state, [size, size] int8 as `Board.marks`."""
    words = [line.split()[-1] for line in text.splitlines() if line.strip()]
    rows = [word for word in words if len(word) == size and set(word) <= set("XO+")]
    return np.array([["+XO".index(cell) for cell in row] for row in rows], np.int8).reshape(size, size)


def named_difference(ours: Compiled, theirs: Any, marks: np.ndarray, legal: set[str], other: set[str]) -> str:
    """As `difference`, with OpenSpiel's board as `marks`, and the names of both's legal moves."""
    assert ours.game.board
    if ours.terminal != theirs.is_terminal():
        return f"over: {ours.terminal} and {theirs.is_terminal()}"
    if not np.array_equal(ours.game.board.marks(ours.state), marks):
        return "the boards differ"
    if ours.terminal:
        returns = theirs.returns()[ours.to_play]
        return "" if returns == ours.outcome else f"outcome {ours.outcome} and {returns}"
    if ours.to_play != theirs.current_player():
        return f"to play: {ours.to_play} and {theirs.current_player()}"
    return "" if legal == other else f"legal on one side only: {legal ^ other}"


def go_difference(ours: Compiled, theirs: Any, names: list[str]) -> str:
    """As `difference`, for Go, whose actions OpenSpiel numbers from the bottom row.

    `names` of its actions.
    """
    size = ours.game.options["size"]
    legal = {ours.game.action_name(ours.state, action) for action in np.flatnonzero(ours.mask).tolist()}
    other = {names[action] for action in theirs.legal_actions()}
    return named_difference(ours, theirs, go_marks(str(theirs), size), legal, other)


def compare_go_with_openspiel(games: int, seed: int, size: int = 9) -> Comparison:
    """Compare Go with simple ko up to the first repetition of the board, a draw in OpenSpiel."""
    import pyspiel

    game = make_game("go", size=size, superko="simple")
    opening = pyspiel.load_game(f"go(board_size={size},komi=7.5)").new_initial_state()
    names = [opening.action_to_string(0, action).split()[1].lower() for action in range(game.num_actions)]
    theirs_of = [
        names.index(game.action_name(game.initial_state(), action)) for action in range(game.num_actions)
    ]
    differ = partial(go_difference, names=names)
    number_of = partial(listed_number, numbers=theirs_of)
    return play_beside(game, opening, games, seed, differ, number_of, passing=game.num_actions - 1)


def breakthrough_marks(text: str, rows: int) -> np.ndarray:
    """The board in OpenSpiel's text of a Breakthrough state, upside down, [H, W] int8 as `Board.marks`."""
    lines = text.splitlines()[:rows]
    return np.array([[".bw".index(cell) for cell in line[1:]] for line in reversed(lines)], np.int8)


def breakthrough_name(ours: Compiled, action: int) -> str:
    """OpenSpiel's name of an action, without the sign of a capture: its rows are counted from the other side.

    a7a6 where the first player's a2a3 is meant.
    """
    board = ours.game.board
    assert board
    size = len(board.rows), len(board.columns)
    cells = start_of(ours.state, action, *size), goal_of(ours.state, action, *size)
    return "".join(board.columns[cell % size[1]] + str(1 + cell // size[1]) for cell in cells)


def their_names(theirs: Any) -> dict[str, int]:
    """OpenSpiel's legal actions of Breakthrough by name."""
    player = theirs.current_player()
    return {theirs.action_to_string(player, action)[:4]: action for action in theirs.legal_actions()}


def breakthrough_difference(ours: Compiled, theirs: Any) -> str:
    """As `difference`, for Breakthrough, whose board stands upside down in OpenSpiel."""
    marks = breakthrough_marks(str(theirs), ours.game.options["rows"])
    legal = {breakthrough_name(ours, action) for action in np.flatnonzero(ours.mask).tolist()}
    return named_difference(ours, theirs, marks, legal, set(their_names(theirs)))


def compare_breakthrough_with_openspiel(name: str, games: int, seed: int) -> Comparison:
    """Random games of an entry of BREAKTHROUGH."""
    import pyspiel

    options, theirs_name = BREAKTHROUGH[name]
    game, opening = make_game("breakthrough", **options), pyspiel.load_game(theirs_name).new_initial_state()

    def number_of(ours: Compiled, theirs: Any, action: int) -> int:
        return their_names(theirs)[breakthrough_name(ours, action)]

    return play_beside(game, opening, games, seed, breakthrough_difference, number_of)


def compare_with_openspiel(name: str, games: int, seed: int) -> Comparison:
    """Random games of an entry of OPENSPIEL."""
    import pyspiel

    game_name, options, theirs_name = OPENSPIEL[name]
    game, opening = make_game(game_name, **options), pyspiel.load_game(theirs_name).new_initial_state()
    return play_beside(game, opening, games, seed, difference, lambda _ours, _theirs, action: action)


def listed_number(_ours: Compiled, _theirs: Any, action: int, numbers: list[int]) -> int:
    """OpenSpiel's number of our action, from a list of them."""
    return numbers[action]


def play_beside(
    game: Game,
    opening: Any,
    games: int,
    seed: int,
    differ: Callable[[Compiled, Any], str],
    number_of: Callable[[Compiled, Any, int], int],
    passing: int | None = None,
) -> Comparison:
    """Play random games on both sides; a game stops at its first difference.

    Args:
        game: ours.
        opening: OpenSpiel's first state.
        games, seed: how many, and where their moves come from.
        differ: says in words what differs in a position, "" for nothing.
        number_of: OpenSpiel's number of our action in a position of both.
        passing: given, a game stops where another action than this one brings back an earlier board.
    """
    rng = np.random.default_rng(seed)
    result = Comparison()
    for _ in range(games):
        ours, theirs = Compiled(game), opening.clone()
        boards = {board_text(theirs)}
        while True:
            found = differ(ours, theirs)
            if found:
                result.mismatches.append(f"{game.name}: {found}\n{game.format_state(ours.state)}\n{theirs}")
            if found or ours.terminal:
                break
            action = int(rng.choice(np.flatnonzero(ours.mask)))
            theirs.apply_action(number_of(ours, theirs, action))
            ours.step(action)
            result.plies += 1
            if passing is not None and action != passing and board_text(theirs) in boards:
                break
            boards.add(board_text(theirs))
        result.games += 1
    return result


def board_text(theirs: Any) -> str:
    """OpenSpiel's text of a Go board, without the two lines above it that count plies."""
    return str(theirs).split("\n", 2)[-1]
