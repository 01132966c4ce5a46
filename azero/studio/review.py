"""A review: what each position of a game was worth, and what each move gave away.

A position is judged exactly where a solver or a table of endings knows it, else by a search of a champion.
Without both it is not judged: random games say too little. Positions are judged from the last to the first,
so what a move leads to is known before the move is judged.

A *loss* is the value that a move gave away, from 0 to 2, because values go from -1 (lost) to 1 (won).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

from azero.cli.player_spec import run_of
from azero.games.game import Game
from azero.games.playing import GameInProgress
from azero.games.titles import game_heading
from azero.players import Move, Thought
from azero.players.growing import GrowingSearch, grow
from azero.records.record import NONE
from azero.studio.game_tree import GameTree, Node
from azero.studio.losses import SIZES, accuracy_of, size_of
from azero.studio.pool import Pool

if TYPE_CHECKING:
    from azero.truth.exact import ExactValues

MOST_REVIEWS = 3  # at once, on all tables
SIMULATIONS = 1600  # of a position; docs/lab/review.md has what they find
LONGER = 6400  # where a move seems to be a mistake
SOLVE_SECONDS = 0.5  # of CPU for one position; after one that takes longer, earlier ones are not tried
COSTLIEST = 3  # moves of each side that a report names
SOLVER, RULES = "a solver", "the rules"


def report_of(tree: GameTree, reviewed: list[Node]) -> dict[str, Any] | None:
    """Return what a review of a line found of each side; None: nothing is judged there."""
    line = [node for node in reviewed if tree.nodes[node.number] is node]
    if all(node.loss is None for node in line):
        return None
    made: tuple[list[Node], list[Node]] = [], []
    for before, node in pairwise(line):
        made[tree.mover(before)].append(node)
    return {"line": [node.number for node in line], "sides": [side_report(each) for each in made]}


def side_report(made: list[Node]) -> dict[str, Any]:
    """Return the report of one side by the nodes that its moves led to."""
    losses = {node.number: node.loss for node in made if node.loss is not None}
    sizes = Counter(size_of(loss) for loss in losses.values())
    wrong = [number for number in losses if size_of(losses[number]) != "good"]
    accuracies = [accuracy_of(loss) for loss in losses.values()]
    return {
        "moves": len(made),
        "judged": len(losses),
        "accuracy": round(sum(accuracies) / len(accuracies), 1) if accuracies else None,
        "sizes": {size: sizes[size] for size in reversed(SIZES)},
        "worst": sorted(wrong, key=lambda number: -losses[number])[:COSTLIEST],
    }


def value_of(found: Thought | Move, lower: float = -1.0, upper: float = 1.0) -> float:
    """Return the mean value of a search's root or of one of its moves, within its proven bounds."""
    if isinstance(found, Move):
        lower, upper = found.lower, found.upper
    elif found.moves:
        lower, upper = max(move.lower for move in found.moves), max(move.upper for move in found.moves)
    return min(max(found.value, lower), upper)


class Opinion(NamedTuple):
    """What is known of a position."""

    value: float  # for the player who moves first in the game
    by: str
    loss: float | None = None  # of the move that was played there; None: there is none
    best: int = NONE  # the best move there; -1: not looked for
    after: float | None = None  # what it led to, if that was judged anew; for the player who moves first


class Reviewer:
    """Knows what positions are worth: a solver, and the champion where that knows nothing."""

    def __init__(
        self,
        exact: ExactValues,
        search: GrowingSearch | None,
        title: str,
        longer: GrowingSearch | None = None,
    ) -> None:
        """Take a solver and searches.

        Args:
            exact: the solver.
            search: the champion's; None if there is none.
            title: what it is called.
            longer: of more simulations, for moves that seem to be mistakes; None: they are not judged anew.
        """
        self.exact, self.search, self.title, self.longer = exact, search, title, longer
        self.solves = True  # until a position takes too long; earlier ones take longer

    def judge(
        self, at: GameInProgress, played: int | None, after: float | None, stopped: Callable[[], bool]
    ) -> Opinion | None:
        """Return what a position and the move played there are worth; None: stopped, or nothing knows it.

        A search compares its best move with `after`, a search of its own: it hardly looks at bad moves. If
        that makes a mistake of the move, longer searches of both positions decide.

        Args:
            at: the game up to the position.
            played: the move; None at the end of the line.
            after: the value of what it led to, for the first player.
            stopped: asked many times a second.
        """
        sign = 1.0 if at.to_play == 0 else -1.0
        if self.solves:
            value = self.exact.value(at.state, stopped)
            if value is not None:
                loss = None if after is None else max(0.0, value - sign * after)
                is_bad = loss is not None and size_of(loss) != "good"
                best_move = self.exact.best_move(at.state, stopped) if is_bad else None
                return Opinion(sign * value, SOLVER, loss, NONE if best_move is None else best_move)
            self.solves = stopped()
        opinion = self.opinion(self.search, at, played, after, stopped)
        if opinion and opinion.loss is not None and opinion.loss >= SIZES["mistake"] and self.longer:
            assert played is not None and after is not None
            reply = GameInProgress.along(at.game, at.actions, at.states)
            reply.play(played)
            thought = None if reply.is_over else self.think(self.longer, reply, stopped)
            after = after if thought is None else -sign * value_of(thought)
            opinion = self.opinion(self.longer, at, played, after, stopped)
            return opinion and opinion._replace(after=after)
        return opinion

    def opinion(
        self,
        search: GrowingSearch | None,
        at: GameInProgress,
        played: int | None,
        after: float | None,
        stopped: Callable[[], bool],
    ) -> Opinion | None:
        """Return what a search says, as `judge` does."""
        thought, sign = self.think(search, at, stopped), 1.0 if at.to_play == 0 else -1.0
        if thought is None:
            return None
        opinion, best = Opinion(sign * value_of(thought), self.title), thought.best_move()
        if after is None or best is None:
            return opinion
        loss = 0.0 if best.action == played else max(0.0, value_of(best) - sign * after)
        return opinion._replace(loss=loss, best=best.action)

    def think(
        self, search: GrowingSearch | None, at: GameInProgress, stopped: Callable[[], bool]
    ) -> Thought | None:
        """Return what a search of the champion's finds; None: stopped, or there is no champion."""
        if search is None or stopped():
            return None
        search.begin(at.state, at.banned())
        grow(search, stopped)
        return None if stopped() else search.read()


def make_judge(game: Game, pool: Pool, asked: dict[str, Any]) -> Reviewer:
    """Return a judge of a game: the champion asked for by `run` and `cycle`, else that of the game's run."""
    from azero.truth.exact import ExactValues

    exact, run = ExactValues(game, SOLVE_SECONDS), asked.get("run") or run_of(game, pool.config)
    if run is None:
        return Reviewer(exact, None, "")
    asked = {**asked, "player": "pv_mcts", "run": run}
    search, title = pool.search(game, {**asked, "simulations": SIMULATIONS})
    longer, _ = pool.search(game, {**asked, "simulations": LONGER})
    return Reviewer(exact, search, f"{title}, {SIMULATIONS:,} simulations", longer)


class Review:
    """The review of one line of a game, under way or ended.

    Attributes:
        left: positions of the line that are not judged yet, its first ones.
        judge: who judges, while the review is under way.
        on: whether it is under way.
        by: who has judged by searches; "" if no champion has.
        why: a sentence on what could not be judged; "" if nothing is missing.
    """

    def __init__(self, tree: GameTree, line: list[Node], asked: dict[str, Any]) -> None:
        """`asked`: the champion, see `make_judge`."""
        self.tree, self.line, self.asked = tree, line, asked
        self.left = len(line)
        self.judge: Reviewer | None = None
        self.on, self.by, self.why = True, "", ""

    @classmethod
    def ended(cls, tree: GameTree, line: list[Node], why: str) -> Review:
        """Return the review of a kept game, as far as its nodes were judged."""
        review = cls(tree, line, {})
        review.on, review.why = False, why
        judges = [node.judged_by for node in line]
        review.left = next((place for place, by in enumerate(judges) if by), len(line))
        review.by = next((by for by in judges if by not in ("", SOLVER, RULES)), "")
        return review

    @property
    def done(self) -> int:
        """The number of moves that are judged."""
        return max(0, len(self.line) - 1 - self.left)

    def begin(self, judge: Reviewer) -> None:
        """Begin to judge."""
        self.judge, self.by = judge, judge.title

    def next_job(self, stopped: Callable[[], bool]) -> Callable[[], Opinion | None] | None:
        """Return a function for a thread that judges the next position; None: all are judged."""
        assert self.judge is not None
        while self.left and self.is_settled(self.line[self.left - 1], self.judge):
            self.left -= 1
        if not self.left:
            return None
        at, child, judge = self.tree.at(self.line[self.left - 1]), self.child(), self.judge
        played, after = (None, None) if child is None else (child.action, child.value)
        return lambda: judge.judge(at, played, after, stopped)

    def child(self) -> Node | None:
        """Return the node after the one that is judged next; None at the end of the line, or if deleted."""
        after = self.line[self.left : self.left + 1]
        return after[0] if after and self.tree.nodes[after[0].number] is after[0] else None

    def is_settled(self, node: Node, judge: Reviewer) -> bool:
        """Return whether a node needs no judge: it is deleted, the game is over, or it was judged before."""
        if self.tree.nodes[node.number] is not node:
            return True
        if (outcome := self.tree.outcome(node)) is not None:
            node.value, node.judged_by = outcome, RULES
            return True
        if not node.judged_by or node.judged_by not in (SOLVER, judge.title):
            return False
        judge.solves = judge.solves and node.judged_by == SOLVER
        child = self.child()
        return child is None or child.loss is not None

    def note(self, opinion: Opinion) -> None:
        """Note what was found of the next position."""
        node, child = self.line[self.left - 1], self.child()
        if node.judged_by != opinion.by:
            for other in node.children:
                other.loss = None
        node.value, node.judged_by = opinion.value, opinion.by
        if child is not None:
            child.loss, child.better = opinion.loss, opinion.best
            child.value = child.value if opinion.after is None else opinion.after
        self.left -= 1

    def end(self) -> None:
        """End it, and free the memory of its searches."""
        self.on, self.judge = False, None

    def give_up(self) -> None:
        """End it where nothing knows the positions that are left, and say so."""
        heading = game_heading(self.tree.game)
        missing = f"no run has a champion of this game ({heading}) yet, and no solver knows"
        self.why = f"This game cannot be judged: {missing} its positions."
        if self.done:
            moves = "move is" if self.done == 1 else f"{self.done} moves are"
            self.why = f"Only the last {moves} judged: {missing} the positions before."
        self.end()

    def to_json(self) -> dict[str, Any]:
        """Return the review as the page reads it."""
        judges, moves = {node.judged_by for node in self.line}, len(self.line) - 1
        by = " and ".join(judge for judge in (self.by, SOLVER) if judge and judge in judges)
        return {"on": self.on, "done": self.done, "of": moves, "by": by, "why": self.why}
