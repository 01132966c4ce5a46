"""One game as people keep it: rules, players, a tree of moves with what searches found, and how it ended."""

from __future__ import annotations

import difflib
import json
import reprlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from azero.config.schema import OPENSPIEL, UserError
from azero.games import SHIPPED, installed_games, make_game
from azero.games.game import Game
from azero.games.kit.san import AmbiguousMove
from azero.games.playing import start_text

NONE = -1  # the parent of the initial position, and the action that leads to it
NOTE = "azero: "  # begins the line of a comment that shows a search
NOTED_MOVES = 3
MOST_NODES = 50_000  # of a record that is read

MakeGame = Callable[[str, dict[str, Any]], Game]  # (name, options) to the rules
Refuse = Callable[[UserError], None]  # receives what is wrong with a game of a file


@dataclass
class RecordNode:
    """A position of a game, and what a search of it found.

    Attributes:
        parent: the place of the position before, in `Record.nodes`.
        action: the move that leads here.
        value: of the position for the first player, in [-1, 1].
        visits: simulations of the search.
        policy: share of each action that the search considered.
        comment: of a person.
        properties: of SGF that azero keeps as they are, such as marks; those of the initial position are of
            the whole game, such as the event. A record in another format has none.
    """

    parent: int = NONE
    action: int = NONE
    value: float | None = None
    visits: int | None = None
    policy: dict[int, float] = field(default_factory=dict)
    comment: str = ""
    properties: dict[str, list[str]] = field(default_factory=dict, compare=False)

    def best_first(self) -> list[tuple[int, float]]:
        """Return the actions that the search considered with their shares, the largest first."""
        return sorted(self.policy.items(), key=lambda share: -share[1])

    def note(self, name_of: Callable[[int], str]) -> str:
        """Return what the search found as a line for people, "" without one; name_of: of an action."""
        noted = []
        if self.value is not None:
            noted.append(f"value {self.value:+.2f} for the first player")
        if self.visits is not None:
            noted.append(f"{self.visits} visits")
        noted += [
            f"{name_of(action)} {100 * share:.0f} %" for action, share in self.best_first()[:NOTED_MOVES]
        ]
        return NOTE + ", ".join(noted) if noted else ""

    def keep(self, properties: dict[str, list[str]]) -> None:
        """Keep properties, each value once."""
        for name, values in properties.items():
            kept = self.properties.setdefault(name, [])
            kept += [value for value in dict.fromkeys(values) if value not in kept]


@dataclass
class Record:
    """A game, with variations.

    Attributes:
        game: its rules. Files keep name and options.
        players: the first player's name and the other's.
        outcome: for the first player, in [-1, 1]; None if the game has not ended.
        result: how it ended, in SGF's words, if that is more than the outcome: "B+R" if the first player won
            because the other one resigned.
        date: such as "2026-11-23".
        source: where the game comes from.
        cycle: of a run's self-play, counted from 1; None for other games.
        nodes: the tree. Node 0 is the first position; the first child of a node continues its main line.
        start: the first position as `Game.text` writes it, however it was given; "": the game's own.

    Raises:
        UserError: the game does not have the position `start`.
    """

    game: Game = field(compare=False)
    players: tuple[str, str] = ("", "")
    outcome: float | None = None
    result: str = ""
    date: str = ""
    source: str = ""
    cycle: int | None = None
    nodes: list[RecordNode] = field(default_factory=lambda: [RecordNode()])
    start: str = ""

    def __post_init__(self) -> None:
        if self.outcome is None:
            self.outcome = outcome_of(self.result)
        if self.result in (result_text(self.outcome), "Draw"):
            self.result = ""
        if self.start:
            self.start = start_text(self.game, self.game.position(self.start))
        self._places = {(node.parent, node.action): place for place, node in enumerate(self.nodes)}

    def first_state(self) -> np.ndarray:
        """Return the first position, [S] uint64."""
        return self.game.position(self.start) if self.start else self.game.initial_state()

    def add(self, parent: int, action: int) -> int:
        """Return the place of the node after an action; it is made if it does not exist yet."""
        place = self._places.setdefault((parent, action), len(self.nodes))
        if place == len(self.nodes):
            self.nodes.append(RecordNode(parent, action))
        return place

    def add_line(self, actions: list[int], parent: int = 0) -> int:
        """Add some actions one after the other; return the place of the last node."""
        for action in actions:
            parent = self.add(parent, action)
        return parent

    def children(self) -> list[list[int]]:
        """Return the children of each node, in order."""
        children: list[list[int]] = [[] for _ in self.nodes]
        for place, node in enumerate(self.nodes):
            if node.parent != NONE:
                children[node.parent].append(place)
        return children

    def without(self, dropped: np.ndarray) -> Record:
        """Return the record without some nodes, [N] bool; what they say goes to the node before.

        Nodes after a node that is dropped are dropped too.
        """
        nodes, places = list[RecordNode](), list[int]()
        for node, is_dropped in zip(self.nodes, dropped.tolist(), strict=True):
            parent = places[node.parent] if node.parent != NONE else NONE
            if is_dropped:
                places.append(parent)
                last = nodes[parent]
                last.comment = "\n".join(filter(None, [last.comment, node.comment]))
                last.keep(node.properties)
            else:
                places.append(len(nodes))
                nodes.append(replace(node, parent=parent))
        return replace(self, nodes=nodes)

    def main_line(self) -> list[int]:
        """Return the nodes of the main line, the initial position first."""
        children, line = self.children(), [0]
        while children[line[-1]]:
            line.append(children[line[-1]][0])
        return line

    def path(self, place: int) -> list[int]:
        """Return the actions from the initial position to a node."""
        actions = []
        while place > 0:
            actions.append(self.nodes[place].action)
            place = self.nodes[place].parent
        return actions[::-1]

    def last_state(self) -> np.ndarray:
        """Return the state [S] at the end of the main line, whose moves must be legal."""
        state = self.first_state()
        for action in self.path(self.main_line()[-1]):
            state = self.game.step(state, action)
        return state

    def end_by_rules(self) -> None:
        """Take the outcome from the rules if none is given and the game is over; the moves must be legal."""
        if self.outcome is not None or self.result not in ("", "?"):
            return
        state = self.last_state()
        if self.game.is_terminal(state):
            self.outcome, self.result = self.game.first_outcome(state), ""


def named_game(name: str, options: dict[str, Any]) -> Game:
    """Return a game that a file names. A file never makes azero run or read another file.

    Raises:
        UserError: the game is not azero's, an installed package's or OpenSpiel's, or it refuses an option.
    """
    if name in SHIPPED:  # without a look at all installed packages, which takes longer than to read a game
        return make_game(name, **options)
    known = [*SHIPPED, *installed_games()]
    if name.startswith(OPENSPIEL) and "file" in f"{name} {options}".lower():
        raise UserError(f"the record is of the game {short(name)}, whose rules are in another file.")
    if name not in known and (not name.startswith(OPENSPIEL) or name.endswith(".py")):
        near = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {near[0]}?" if near else f"known are {', '.join(known)}."
        raise UserError(f"the record is of the game {short(name)}, which is unknown here; {hint}")
    return make_game(name, **options)


def known_game(own: Game | None) -> MakeGame:
    """Return `named_game`, which also knows the rules of one game of the user's own."""

    def make(name: str, options: dict[str, Any]) -> Game:
        if own is not None and (name, options) == (own.name, own.options):
            return own
        return named_game(name, options)

    return make


def game_of(content: dict[str, Any], make: MakeGame) -> Game:
    """Return the game with the name and options that were read from a file; `make` makes it.

    Raises:
        UserError: they are not a text and a dict of texts and numbers, or `make` refuses them.
    """
    name, options = content.get("game"), content.get("options", {})
    simple = isinstance(options, dict) and all(
        key.isidentifier() and isinstance(value, str | int | float) for key, value in options.items()
    )
    if not isinstance(name, str) or not simple or "name" in options:
        what = "this" if name is None else f"game={short(name)} with options={short(options)}"
        raise UserError(f"{what} names no game.")
    try:
        return make(name, options)
    except UserError as error:
        raise UserError(" ".join(str(error).split())) from error


def raise_error(error: UserError) -> None:
    """Refuse a file because of one of its games."""
    raise error


def once(make: MakeGame) -> MakeGame:
    """Return a function that makes each game once: rules take 30 ms to load, often more than their moves."""
    made: dict[str, Game] = {}

    def make_once(name: str, options: dict[str, Any]) -> Game:
        key = json.dumps([name, options])
        if key not in made:
            made[key] = make(name, options)
        return made[key]

    return make_once


def read_object(text: str | bytes, what: str) -> dict[str, Any]:
    """Return an object written as JSON; `what` names it in messages.

    Raises:
        UserError: it is not JSON, or not an object.
    """
    try:
        content = json.loads(text, parse_constant=refuse_constant)
    except (ValueError, RecursionError) as error:
        begin = text if isinstance(text, str) else text.decode("utf-8", "replace")
        raise UserError(f"{what} is not JSON: {short(begin[:50].strip())}.") from error
    if not isinstance(content, dict):
        raise UserError(f"{what} is not a JSON object: {short(content)}.")
    return content


def refuse_constant(name: str) -> float:
    """Refuse NaN and Infinity, which JSON does not have."""
    raise ValueError(name)


def number_in(content: dict[str, Any], name: str, low: float) -> float | None:
    """Return a number from `low` to 1 of a JSON object; None if it is null or missing.

    Raises:
        UserError: it is something else.
    """
    value = content.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not low <= value <= 1:
        raise UserError(f"{short(name)} must be a number from {low} to 1, not {short(value)}.")
    return float(value) + 0.0  # makes -0.0 plain


def text_in(content: dict[str, Any], name: str) -> str:
    """Return a line of text of a JSON object; "" if there is none; UserError: it is something else."""
    value = content.get(name, "")
    if not isinstance(value, str):
        raise UserError(f"{short(name)} must be a text, not {short(value)}.")
    return one_line(value)


def cycle_in(content: dict[str, Any]) -> int | None:
    """Return the cycle of a JSON object; None if there is none.

    Raises:
        UserError: it is not a whole number from 0 up.
    """
    cycle = content.get("cycle")
    if cycle is not None and (type(cycle) is not int or not 0 <= cycle < 2**31):
        raise UserError(f"'cycle' must be a whole number from 0 up, not {short(cycle)}.")
    return cycle


class MoveNames:
    """The names of the moves of a record, which in some games depend on the position."""

    def __init__(self, record: Record) -> None:
        """A node's position is looked up where names depend on it; then the moves to it must be legal."""
        self.record, self.game = record, record.game
        self.states = {0: record.first_state()}
        self.known: dict[str, int] = {}
        for action in range(self.game.num_actions) if self.game.fixed_names else ():
            self.known.setdefault(self.game.action_name(self.states[0], action), action)

    def state(self, place: int) -> np.ndarray:
        """Return the state of a node, [S] uint64; of the first node in a game of fixed names."""
        if self.game.fixed_names:
            return self.states[0]
        way = []
        while place not in self.states:
            way.append(place)
            place = self.record.nodes[place].parent
        for below in reversed(way):
            node = self.record.nodes[below]
            self.states[below] = self.game.step(self.states[node.parent], node.action)
        return self.states[way[0] if way else place]

    def name(self, place: int, action: int) -> str:
        """Return the name of an action at a node."""
        return self.game.action_name(self.state(place), action)

    def action(self, place: int, text: str) -> int | None:
        """Return the action of that name at a node; None if there is none."""
        if self.game.fixed_names:
            return self.known.get(text)
        try:
            return self.game.parse_action(self.state(place), text)
        except ValueError:
            return None

    def wrong(self, place: int, move: object) -> UserError:
        """Return the error of a move that `action` does not find at a node."""
        if self.game.fixed_names or not isinstance(move, str):
            return UserError(f"{short(move)} is not a move of {self.game.name}.")
        number = len(self.record.path(place)) + 1
        return wrong_move(self.game, self.state(place), f"move {number}", move)

    def add_texts(self, texts: Iterable[str]) -> list[int]:
        """Add moves from the start on, up to one whose name is unknown; return their actions."""
        place, actions = 0, list[int]()
        for text in texts:
            if (action := self.action(place, text)) is None:
                break
            place = self.record.add(place, action)
            actions.append(action)
        return actions

    def names(self, line: Sequence[int]) -> list[str]:
        """Return the names of the moves along nodes that follow each other; the first node is their start."""
        return [self.name(parent, self.record.nodes[place].action) for parent, place in pairwise(line)]


def wrong_move(game: Game, state: np.ndarray, place: str, text: str) -> UserError:
    """Return the error of a text that names no legal move, in a game whose names depend on the position.

    place: which move it is, such as "move 3".
    """
    if game.is_terminal(state):
        return UserError(f"{place}, {short(text)}, comes after the end of the game.")
    try:
        game.parse_action(state, text)
    except AmbiguousMove as error:
        return UserError(f"{place}: {error}")
    except ValueError:
        pass
    return UserError(f"{place}, {short(text)}, is not legal in {game.name}.")


def result_text(outcome: float | None) -> str:
    """Return an outcome for the first player as RE writes it; "" for None."""
    return "" if outcome is None else "B+" if outcome > 0 else "W+" if outcome < 0 else "0"


def outcome_of(result: str) -> float | None:
    """Return the outcome for the first player of RE; None if it is not known."""
    if result[:2].upper() in ("B+", "W+"):
        return 1.0 if result[0] in "Bb" else -1.0
    return 0.0 if result.lower() in ("0", "draw") else None


SHORT = reprlib.Repr()  # bounds depth and length
SHORT.maxstring = SHORT.maxother = 50


def short(value: object) -> str:
    """Return something read from a file as a message shows it: quoted, on one line, cut."""
    text = SHORT.repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


# Line ends become \n, other white space a space; further control characters and halves of characters go.
CLEANED: dict[int, str | None] = {
    **dict.fromkeys((*range(32), *range(127, 160), *range(0xD800, 0xE000))),
    **{ord("\n"): "\n", ord("\t"): " ", ord("\v"): " ", ord("\f"): " "},
}


def clean(text: str) -> str:
    """Return a text without control characters, and with lines that end in a line feed."""
    return text.replace("\r\n", "\n").replace("\n\r", "\n").replace("\r", "\n").translate(CLEANED)


def one_line(text: str) -> str:
    """Return a text as `clean` does, with spaces for line feeds."""
    return clean(text).replace("\n", " ")
