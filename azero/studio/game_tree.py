"""A game with its variations: nodes reached by moves, and where in it the board stands."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from azero.config.reading import is_whole
from azero.games.ending import captured, end_json
from azero.games.game import Game
from azero.games.kit.board import EMPTY, FIRST, Board, owner_of
from azero.games.playing import GameInProgress, outcome_after
from azero.page.board import is_by_column
from azero.records.cell_signs import arrows_of, signs_of
from azero.records.record import NONE, RecordNode
from azero.records.signs import glyphs_of, without_commands
from azero.studio.losses import size_of
from azero.studio.safety import Refusal

MOST_NODES = 20_000  # of one game with its variations
START = 0  # the node of the initial position


@dataclass
class Node:
    """A position of the game.

    Attributes:
        number: its place in `GameTree.nodes`.
        parent: the node before it; None at the start.
        action: the move that led here; -1 at the start.
        state: [S] uint64.
        value: what a search or the rules found, for the player who moves first in the game; None: unknown.
        comment: of a person, or of the file that the game was read from.
        kept: what else that file says: properties, and visits and policy of the search of `value`.
        children: continuations, the main one first.
        loss: how much value the move that led here gave away, by a review, 0 to 2; None: unknown.
        better: the best move there instead, by a review; -1: unknown.
        judged_by: who judged the position in a review; "": nobody did.
        shown: the move that led here as people write it; "" at the start.
    """

    number: int
    parent: Node | None
    action: int
    state: np.ndarray
    value: float | None = None
    comment: str = ""
    kept: RecordNode = field(default_factory=RecordNode)
    children: list[Node] = field(default_factory=list)
    loss: float | None = None
    better: int = NONE
    judged_by: str = ""
    shown: str = ""


class GameTree:
    """A game, its variations, and the node on the board.

    Attributes:
        nodes: by number; None where a variation was deleted.
        current: the node on the board.
        deleted: what was deleted: the place among its siblings, the node, what was on the board.
        start: the first position as `Game.text` writes it; "" for the game's own.
    """

    def __init__(self, game: Game, start: str = "") -> None:
        """Begin a game; UserError: `start` is not a position of it."""
        at = GameInProgress(game, state=game.position(start) if start else None)
        self.game, self.start = game, at.start if start else ""
        root = Node(START, None, -1, at.state)
        self.nodes: list[Node | None] = [root]
        self.current = self.root = root
        self.deleted: list[tuple[int, Node, Node]] = []
        self.count = 1  # of positions that are not deleted

    def find(self, number: object) -> Node:
        """Return a node by its number; Refusal: there is none."""
        node = self.nodes[number] if type(number) is int and 0 <= number < len(self.nodes) else None
        if node is None:
            raise Refusal(400, f"This game has no position {str(number)[:20]!r}.")
        return node

    def path(self, node: Node | None = None) -> list[Node]:
        """Return the nodes from the start to a node, by default the current one."""
        node, found = node or self.current, list[Node]()
        while node is not None:
            found.append(node)
            node = node.parent
        return found[::-1]

    def line(self, node: Node | None = None) -> list[Node]:
        """Return the path to a node, by default the current one, and on along its main continuation."""
        found = self.path(node)
        while found[-1].children:
            found.append(found[-1].children[0])
        return found

    def main_line(self) -> list[Node]:
        """Return the nodes from the start to the end of the main line."""
        return self.line(self.root)

    def below(self, node: Node) -> list[Node]:
        """Return a node and all that follow, a parent before its children, the main line first."""
        found, pending = list[Node](), [node]
        while pending:
            found.append(pending.pop())
            pending += reversed(found[-1].children)
        return found

    def at(self, node: Node | None = None) -> GameInProgress:
        """Return the game up to a node, by default the current one."""
        path = self.path(node)
        return GameInProgress.along(
            self.game, [each.action for each in path[1:]], [each.state for each in path]
        )

    def banned(self, node: Node | None = None) -> np.ndarray | None:
        """Return which actions the game's history forbids at a node, [A] bool; None: none of them."""
        return self.at(node).banned()

    def legal(self, node: Node | None = None) -> np.ndarray:
        """Return the moves that may be played at a node, [A] bool; none when the game is over."""
        over = self.is_over(node)
        return np.zeros(self.game.num_actions, np.bool_) if over else self.at(node).legal_mask()

    def is_over(self, node: Node | None = None) -> bool:
        """Return whether the game is over at a node."""
        return self.outcome(node) is not None

    def outcome(self, node: Node | None = None) -> float | None:
        """Return the result for the first player at a node, see `outcome_after`."""
        node = node or self.current
        return outcome_after(self.game, node.state, len(self.path(node)) - 1)

    def mover(self, node: Node) -> int:
        """Return who is to move at a node: 0 for the player who moves first in the game."""
        return self.game.to_play(node.state)

    def action_of(self, move: object) -> int:
        """Return the legal action of a move's name or number; Refusal: why it cannot be played."""
        if self.is_over():
            raise Refusal(409, "The game is over.")
        if isinstance(move, str):
            try:
                action = self.game.parse_action(self.current.state, move[:100])
            except ValueError as mistake:
                raise Refusal(400, str(mistake)) from mistake
        elif is_whole(move, 0, self.game.num_actions - 1):
            action = move
        else:
            raise Refusal(400, f"{str(move)[:20]!r} is not a move of this game.")
        if not self.legal()[action]:
            name = self.game.move_text(self.current.state, action)
            raise Refusal(409, f"{name} is not legal: {self.why_not([action])}.")
        return action

    def action_at(self, cell: object, start: object = None) -> int:
        """Return the one legal action that puts its piece on a cell, from the cell `start` if one is given.

        Raises:
            Refusal: why there is none.
        """
        board, state, legal = self.game.board, self.current.state, self.legal()
        if self.is_over():
            raise Refusal(409, "The game is over.")
        if board is None or type(cell) is not int or not 0 <= cell < len(board.rows) * len(board.columns):
            raise Refusal(400, f"{str(cell)[:20]!r} is not a cell of this game.")
        here = [action for action in range(len(legal)) if self.game.cell_of(state, action) == cell]
        if board.from_of is not None:
            return self.move_to(board, [action for action in here if legal[action]], cell, start)
        actions = [action for action in here if legal[action]]
        if len(actions) == 1:
            return actions[0]
        if actions:
            raise Refusal(409, "Several moves end there; choose one beside the board.")
        if is_by_column(self.game, board):
            raise Refusal(409, f"Column {board.columns[cell % len(board.columns)]} is full.")
        cells = [
            each
            for action in np.flatnonzero(legal).tolist()
            if (each := self.game.cell_of(state, action)) is not None
        ]
        if len(set(cells)) < len(cells):  # moves from one cell to another
            raise Refusal(
                409,
                f"No move goes to {board.cell_name(cell)}. Several moves of this game can go to one cell; "
                "choose one beside the board.",
            )
        raise Refusal(409, f"{board.cell_name(cell)} is not legal: {self.why_not(here)}.")

    def move_to(self, board: Board, here: list[int], cell: int, start: object) -> int:
        """Return the one of some legal moves to a cell that comes from the cell `start`; Refusal: why not."""
        leaves = {action: self.game.from_of(self.current.state, action) for action in here}
        actions = [action for action in here if leaves[action] == start]
        if len(actions) == 1:
            return actions[0]
        name = board.cell_name(cell)
        if actions:
            raise Refusal(409, f"Several moves end on {name}; choose one of them.")
        if type(start) is int and 0 <= start < len(board.rows) * len(board.columns):
            raise Refusal(409, f"{board.cell_name(start)} cannot move to {name}.")
        marks = board.marks(self.current.state).ravel()
        if owner_of(int(marks[cell])) == FIRST + self.mover(self.current):
            raise Refusal(409, f"The piece on {name} cannot move.")
        raise Refusal(409, "Choose one of your pieces first, then the cell where it goes.")

    def why_not(self, actions: list[int]) -> str:
        """Return why none of some actions that share a cell can be played."""
        banned, cells = self.banned(), [self.game.cell_of(self.current.state, action) for action in actions]
        if banned is not None and any(banned[action] for action in actions):
            return "it would repeat an earlier position"
        if self.game.board and any(
            cell is not None and self.game.board.marks(self.current.state).ravel()[cell] != EMPTY
            for cell in cells
        ):
            return "a piece is there"
        special = self.game.board.why_not if self.game.board else None
        return (special(self.current.state, actions[0]) if special and actions else "") or (
            "the rules forbid it here"
        )

    def play(self, action: int, instead: bool = False) -> Node:
        """Play a legal action at the current node, as a variation if another one was played there.

        instead: it becomes the main continuation.

        Raises:
            BrokenGame: the game would go on without a legal move.
        """
        node = next((child for child in self.current.children if child.action == action), None)
        if node is None:
            self.check_room(1)
            state = self.game.step(self.current.state, action)
            shown = self.game.move_text(self.current.state, action)
            node = Node(len(self.nodes), self.current, action, state, shown=shown)
            self.at(node).some_legal_actions()
            self.nodes.append(node)
            self.count += 1
            self.current.children.append(node)
            if self.game.is_terminal(state):
                node.value = self.game.first_outcome(state)
        self.current = node
        if instead:
            self.put_first(node)
        return node

    def check_room(self, more: int) -> None:
        """Check that so many more positions may be added; Refusal: they would be too many."""
        if self.count + more > MOST_NODES:
            raise Refusal(409, f"This game has {self.count:,} positions; delete a variation or start anew.")

    def put_first(self, node: Node) -> None:
        """Make a node the main continuation of its parent."""
        if node.parent is not None:
            node.parent.children.remove(node)
            node.parent.children.insert(0, node)

    def delete(self, node: Node) -> None:
        """Delete a node and what follows; the board goes to its parent if it stood there."""
        if node.parent is None:
            raise Refusal(409, "The start of the game cannot be deleted.")
        self.deleted.append((node.parent.children.index(node), node, self.current))
        if node in self.path():
            self.current = node.parent
        node.parent.children.remove(node)
        for gone in self.below(node):
            self.nodes[gone.number] = None
            self.count -= 1
        while (
            len(self.deleted) > 1 and sum(len(self.below(each)) for _, each, _ in self.deleted) > MOST_NODES
        ):
            self.deleted.pop(0)  # the oldest cannot be restored any more

    def restore(self) -> dict[int, int]:
        """Bring back what was deleted last; return the nodes that got other numbers, by their old ones.

        What was played again meanwhile stays.

        Raises:
            Refusal: nothing was deleted, or there is no room.
        """
        if not self.deleted:
            raise Refusal(409, "Nothing was deleted.")
        self.check_room(len(self.below(self.deleted[-1][1])))
        place, node, shown = self.deleted.pop()
        pending, renamed = [(place, node, False)], dict[int, int]()
        while pending:
            place, node, is_new = pending.pop()
            assert node.parent is not None
            siblings = node.parent.children
            twin = next((each for each in siblings if each.action == node.action), None)
            if twin is None:
                siblings.insert(place, node)
                for each in self.below(node):
                    assert each.parent is not None
                    if is_new or each.number < each.parent.number:  # a parent's must be smaller
                        renamed[each.number] = each.number = len(self.nodes)
                        self.nodes.append(None)
                    self.nodes[each.number] = each
                    self.count += 1
                continue
            renamed[node.number] = twin.number
            for child in (*node.children, *(gone for _, gone, _ in self.deleted if gone.parent is node)):
                child.parent = twin
            pending += [(len(twin.children), child, True) for child in reversed(node.children)]
        self.current = self.nodes[shown.number] or self.current
        return renamed

    def line_cells(self, node: Node, actions: tuple[int, ...]) -> list[int | None]:
        """Return the cells of a line of actions that begins at a node."""
        state, cells = node.state, list[int | None]()
        for action in actions:
            cells.append(self.game.cell_of(state, action))
            state = self.game.step(state, action)
        return cells

    def nodes_json(self) -> list[dict[str, Any]]:
        """Return all nodes as the page reads them."""
        return [
            {
                "id": node.number,
                "parent": None if node.parent is None else node.parent.number,
                "action": None if node.parent is None else node.action,
                "move": None
                if node.parent is None
                else self.game.action_name(node.parent.state, node.action),
                "shown": node.shown,
                "glyphs": glyphs_of(node.kept),
                "main": node.parent is None or node.parent.children[0] is node,
                "mover": None if node.parent is None else self.mover(node.parent),
                "value": node.value,
                "loss": node.loss,
                "size": size_of(node.loss),
                **self.better_json(node),
                "cell": None if node.parent is None else self.game.cell_of(node.parent.state, node.action),
                "from": None if node.parent is None else self.game.from_of(node.parent.state, node.action),
                "comment": without_commands(node.comment),
                "signs": signs_of(self.game, node.kept.properties, node.comment),
                "arrows": arrows_of(self.game, node.kept.properties, node.comment),
            }
            for node in self.nodes
            if node is not None
        ]

    def better_json(self, node: Node) -> dict[str, Any]:
        """Return the best move instead of a bad one that led to a node, and its cell; None: there is none."""
        if node.parent is None or node.better == NONE or size_of(node.loss) in (None, "good"):
            return {"better": None, "better_cell": None}
        text = self.game.move_text(node.parent.state, node.better)
        return {"better": text, "better_cell": self.game.cell_of(node.parent.state, node.better)}

    def position_json(self) -> dict[str, Any]:
        """Return the position on the board as the page reads it."""
        node, game = self.current, self.game
        outcome = self.outcome()
        moves = [
            {
                "action": action,
                "move": game.action_name(node.state, action),
                "shown": game.move_text(node.state, action),
                "cell": self.game.cell_of(node.state, action),
                "from": game.from_of(node.state, action),
            }
            for action in np.flatnonzero(self.legal()).tolist()
        ]
        before = node.parent.state if node.parent else None
        shown = shown_position(game, node.state, before, node.action)
        line = "" if game.board is None else game.text(node.state)
        taken = None
        if game.board is not None and game.board.captures:
            taken = captured(game.board, (each.state for each in self.path()))[-1]
        return {
            **shown,
            "over": outcome is not None,
            "outcome": outcome,
            "moves": moves,
            "line": line,
            "captured": taken,
        }


def shown_position(game: Game, state: np.ndarray, before: np.ndarray | None, action: int) -> dict[str, Any]:
    """Return what the page draws of a position; `action` led to it from `before`, None at the start."""
    board, last = game.board, None
    marks = board.marks(state).ravel().tolist() if board else []
    if before is not None and (cell := game.cell_of(before, action)) is not None:
        last = None if marks[cell] == EMPTY else cell  # a piece that was taken is not marked
    return {
        "marks": marks,
        "last": last,
        "last_from": None if before is None else game.from_of(before, action),
        "alert": game.alert(state),
        "to_play": game.to_play(state),
        "text": "" if board else game.format_state(state),
        **end_json(game, state),
    }
