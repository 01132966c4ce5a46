"""A table: one game with its sides, its search under way, and the pages that look at it.

A table changes only in the server's event loop. Searches run in threads, one at a time for a table, and are
stopped when the position changes.
"""

from __future__ import annotations

import asyncio
import contextlib
import math
import secrets
import threading
import time
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from azero.config.schema import UserError
from azero.games.ending import outcome_text, player_name
from azero.games.game import Game
from azero.games.titles import game_heading, game_title
from azero.kernels.compiling import CompileNotice
from azero.page.board import board_json
from azero.players import Move, Thought
from azero.studio.about import RESIGNED, About, shown_result
from azero.studio.game_tree import GameTree, Node
from azero.studio.pool import MOST_SECONDS, Side
from azero.studio.results import called, result_words
from azero.studio.review import Review, make_judge, report_of, value_of
from azero.studio.safety import Refusal, is_number
from azero.studio.searches import BoardAnalysis, SharedSearches
from azero.studio.threads import call_in, in_thread

MOST_WATCHERS = 20  # pages that look at one table
WAITING_MESSAGES = 64  # to a page that reads slowly; then it is sent away and connects again
PATIENCE_SECONDS = 0.5  # with a player that was stopped, before the table goes on without it
LONGEST_DELAY = 10.0  # seconds between two moves of machines
COMPILING = "Compiling, once on this machine; it may take a minute."
WATCH_SECONDS = 0.1  # between two looks at whether a page watches
UNWATCHED_SECONDS = 5.0  # after the last page has left, an analysis or a review goes on, as for a reload
LONGEST_LINE = 12  # moves
LEAST_NOTED = 50  # simulations, before what a search finds counts as the value of a position
ANALYSIS_KEYS = {"player": str, "run": str, "cycle": int, "simulations": int, "kind": str}
KINDS = {str: "word", int: "whole number"}
T = TypeVar("T")


class GameTable:
    """One game on a board; see the module."""

    def __init__(
        self, searches: SharedSearches, game: Game, sides: tuple[Side, Side], start: str = ""
    ) -> None:
        self.searches, self.game, self.sides = searches, game, sides
        self.id = secrets.token_urlsafe(9)
        self.tree, self.about = GameTree(game, start), About()
        self.unkept, self.opened = "", str(time.time_ns())
        self.in_trash = False  # deleted from the library, and not played on since
        self.version, self.delay, self.paused, self.steps = 0, 0.5, False, 0
        self.taken_back: Node | None = None  # where the board stands since somebody took moves back
        self.notice, self.resigned, self.thinking = "", -1, False
        self.analysis: BoardAnalysis | None = None
        self.reviewing: Review | None = None  # the latest
        self.reviewed: list[Node] = []  # the line that the report is about
        self.latest: tuple[Node, Thought, str, float] | None = None  # what a search has found last
        self.watchers: set[asyncio.Queue[dict[str, Any] | None]] = set()
        self.stop = threading.Event()  # of the search under way
        self.stopped = asyncio.Event()  # the same for tasks
        self.work: asyncio.Task[None] | None = None
        self.used, self.seen = time.monotonic(), 0.0  # by a page; 0.0: none has looked at it yet

    # --- what a page asks for -----------------------------------------------------------------------------

    def move(self, move: object, cell: object = None, start: object = None) -> None:
        """Play a person's move: one by its name or number, or the one to a cell, from the cell `start`."""
        if self.is_over():
            raise Refusal(409, "The game is over.")
        side = self.sides[self.tree.mover(self.tree.current)]
        if side.spec is not None and not self.paused:
            raise Refusal(409, f"It is the turn of {side.title}.")
        action = self.tree.action_of(move) if cell is None else self.tree.action_at(cell, start)
        self.tree.play(action, instead=self.tree.current is self.taken_back)
        self.judge_another_try()
        self.paused = self.machines_only()
        self.changed()

    def go(self, number: object, actions: object = ()) -> None:
        """Put a node on the board, or where actions lead from it; a machine waits there until it is asked."""
        before = self.tree.current
        self.tree.current = self.tree.find(number)
        try:
            for action in actions if isinstance(actions, list) else []:
                self.tree.play(self.tree.action_of(action))
        except Refusal:
            self.tree.current = before
            raise
        self.resigned, self.paused, self.steps, self.taken_back = -1, True, 0, None
        self.changed()

    def promote(self, number: object) -> None:
        """Make the line to a node the main line."""
        for node in self.tree.path(self.tree.find(number)):
            self.tree.put_first(node)
        self.changed()

    def undo(self) -> None:
        """Take back a resignation, else go back to a person's last turn, or one move if no person plays."""
        if self.resigned >= 0:
            self.revoke_resignation()
            return
        before = self.tree.path()[:-1]
        turns = [node for node in before if self.sides[self.tree.mover(node)].spec is None]
        if not before:
            raise Refusal(409, "There is nothing to take back.")
        self.go((turns or before)[-1].number)
        self.taken_back = self.tree.current  # what is played instead of what followed is the game

    def delete(self, number: object) -> None:
        """Delete a variation."""
        node = self.tree.find(number)
        self.tree.delete(node)
        self.resigned, self.paused = -1, True
        self.changed()

    def resign(self) -> None:
        """Let the person to move resign."""
        mover = self.tree.mover(self.tree.current)
        if self.is_over():
            raise Refusal(409, "The game is over.")
        if self.sides[mover].spec is not None:
            raise Refusal(409, f"It is the turn of {self.sides[mover].title}, which does not resign.")
        self.resigned = mover
        self.about.resign(mover, self.tree.line()[-1].number)
        self.changed()

    def revoke_resignation(self) -> None:
        """Take a resignation back; the game goes on where it was."""
        if self.resigned < 0 and self.about.before is None:
            raise Refusal(409, "Nobody has resigned.")
        self.resigned = -1
        self.about.revoke()
        self.changed()

    def tell(self, asked: dict[str, Any]) -> None:
        """Take what a person says of the game; see `About.change`."""
        last, names = self.tree.main_line()[-1].number, called(self.game)
        self.about.change(asked, self.tree.root.kept.properties, last, names)
        self.send_table()

    def seat(self, sides: tuple[Side, Side]) -> None:
        """Change who plays; names go with the sides that change places."""
        if sides == self.sides[::-1] != self.sides:
            self.about.players = self.about.players[::-1]
        self.sides, self.paused = sides, False
        self.changed()

    def play(self, paused: object, delay: object) -> None:
        """Let machines play or pause, with a delay between their moves."""
        if delay is not None:
            if not is_number(delay, 0, LONGEST_DELAY):
                raise Refusal(400, f"delay must be a number of seconds between 0 and {LONGEST_DELAY:g}.")
            self.delay = delay
        if paused is not None:
            if not isinstance(paused, bool):
                raise Refusal(400, "paused must be true or false.")
            self.paused = paused
        self.changed()

    def step(self) -> None:
        """Let the machine make one move."""
        if self.is_over() or self.sides[self.tree.mover(self.tree.current)].spec is None:
            raise Refusal(409, "No machine is to move.")
        self.paused, self.steps = True, 1
        self.changed()

    def analyse(self, asked: dict[str, Any]) -> None:
        """Begin, change, stop or continue the analysis of the position on the board."""
        if not asked.get("on", True):
            if self.analysis:
                self.analysis.on = False
            self.changed()
            return
        seconds = asked.get("seconds", 0)
        if not is_number(seconds, 0, MOST_SECONDS):
            raise Refusal(400, f"seconds must be a number between 0 and {MOST_SECONDS:g}.")
        wanted = {key: asked[key] for key in ANALYSIS_KEYS if asked.get(key)}
        if not asked.get("run"):
            wanted = {**self.champion(), **wanted}
        for key, value in wanted.items():
            if not isinstance(value, ANALYSIS_KEYS[key]) or isinstance(value, bool) or len(str(value)) > 100:
                raise Refusal(400, f"{key} of an analysis must be a {KINDS[ANALYSIS_KEYS[key]]}.")
        if self.analysis is None or self.analysis.asked != wanted:
            self.analysis = BoardAnalysis(wanted)
        self.analysis.seconds, self.analysis.on = seconds, True
        self.analysis.spent, self.analysis.done = 0.0, False
        self.note_asked()
        self.changed()

    def champion(self) -> dict[str, Any]:
        """Return the run and the cycle of the champion at this table; nothing if there is none."""
        for side in self.sides:
            if side.spec is not None and side.cycle:
                return {"run": side.spec.options["run"], "cycle": side.cycle}
        return {}

    def review(self, asked: dict[str, Any]) -> None:
        """Begin to judge the moves of the line on the board, or stop it."""
        self.end_review()
        if asked.get("on", True):
            self.begin_review(self.tree.line())
            self.reviewed = self.tree.line()
        self.note_asked()
        self.changed()

    def begin_review(self, line: list[Node]) -> None:
        """Begin to judge the moves of a line; Refusal: too many games are being reviewed."""
        chosen = self.analysis.asked if self.analysis else {}
        champion = chosen if chosen.get("run") else self.champion()
        asked: dict[str, Any] = {key: champion[key] for key in ("run", "cycle") if key in champion}
        review = Review(self.tree, line, asked)
        self.searches.begin_review(review)
        self.reviewing = review

    def judge_another_try(self) -> None:
        """Judge the move to the current node if another one was judged there: someone tries again."""
        node, before = self.tree.current, self.tree.current.parent
        if before is None or node.loss is not None or (self.reviewing and self.reviewing.on):
            return
        if any(other.loss is not None for other in before.children):
            with contextlib.suppress(Refusal):
                self.begin_review([before, node])

    def note_asked(self) -> None:
        """Let what a page has just asked for go on for a while, although none may look at the table."""
        self.seen = time.monotonic() if self.seen else 0.0

    def end_review(self) -> None:
        """End the review, if one is under way."""
        if self.reviewing:
            self.searches.end_review(self.reviewing)

    # --- what it does -------------------------------------------------------------------------------------

    def changed(self) -> None:
        """Stop the search under way, tell the pages, and do what is to be done now."""
        self.stop.set()
        self.stopped.set()
        self.used, self.notice, self.thinking = time.monotonic(), "", False
        if self.work is None or self.work.done():
            self.work = asyncio.get_running_loop().create_task(self.work_on())
        self.send_table()

    async def work_on(self) -> None:
        """Move, analyse and review until nothing is left to do."""
        watching = asyncio.ensure_future(self.end_unwatched())
        try:
            await self.do_jobs()
        finally:
            watching.cancel()

    async def end_unwatched(self) -> None:
        """End the analysis and the review when no page has looked at the table for a while."""
        while True:
            now = time.monotonic()
            if self.watchers:
                self.seen = now
            elif self.seen and now - self.seen >= UNWATCHED_SECONDS:
                self.seen = 0.0
                if self.analysis:
                    self.analysis.on = False
                self.end_review()
                self.changed()
            await asyncio.sleep(WATCH_SECONDS)

    async def do_jobs(self) -> None:
        """Do what is to be done until nothing is left."""
        while (job := self.next_job()) is not None:
            self.stop, self.stopped = threading.Event(), asyncio.Event()  # an old search stays stopped
            try:
                await job
            except UserError as mistake:
                self.fail(str(mistake))
            except Exception as failure:
                self.searches.report(failure)
                self.fail(f"The search failed: {type(failure).__name__}; the server's terminal says more.")

    def fail(self, sentence: str) -> None:
        """Stop what cannot be done and tell why."""
        self.paused, self.thinking = True, False
        self.end_review()
        if self.analysis:
            self.analysis.on = False
        self.notice = sentence
        self.send_table()

    def next_job(self) -> Coroutine[Any, Any, object] | None:
        """Return what is to be done next, or None."""
        if self.machine_is_due():
            return self.machines_move()
        analysis, review = self.analysis, self.reviewing
        if analysis is not None and analysis.on and not self.is_over():
            is_done = analysis.done and analysis.node == self.tree.current.number
            if not is_done:
                return self.analyse_on(analysis)
        if review is not None and review.on:
            return self.review_on(review)
        return self.make_ready()

    def make_ready(self) -> Coroutine[Any, Any, object] | None:
        """Return what makes a machine that is to move later; None: all are ready."""
        if self.paused or self.is_over():
            return None
        pool = self.searches.pool
        missing = [side for side in self.sides if side.spec is not None and not pool.has(self.game, side)]
        return self.in_thread(lambda: pool.get(self.game, missing[0])) if missing else None

    def machine_is_due(self) -> bool:
        """Return whether a machine is to move now."""
        is_machine = self.sides[self.tree.mover(self.tree.current)].spec is not None
        return not self.is_over() and is_machine and (not self.paused or self.steps > 0)

    def is_over(self) -> bool:
        """Return whether the game is over on the board, or someone has resigned."""
        return self.resigned >= 0 or self.tree.is_over()

    def machines_only(self) -> bool:
        """Return whether both sides are machines."""
        return all(side.spec is not None for side in self.sides)

    async def machines_move(self) -> None:
        """Let the machine whose turn it is move, after the delay if it plays against a machine."""
        node = self.tree.current
        side, stepped = self.sides[self.tree.mover(node)], self.steps > 0
        if self.machines_only() and node.parent is not None and not stepped and self.delay:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self.stopped.wait(), self.delay)
        if self.stop.is_set():
            return
        self.steps = 0
        self.thinking = True
        self.send_table()
        pool, at, report = self.searches.pool, self.tree.at(node), self.reporter(node, side.title)
        action = await self.until_stopped(
            self.in_thread(lambda: pool.choose(side, at, self.stop.is_set, report))
        )
        if action is not None and not self.stop.is_set():
            self.tree.play(action)
            self.changed()

    async def until_stopped(self, work: Coroutine[Any, Any, T]) -> T | None:
        """Return what `work` returns; None if it goes on when it should have stopped."""
        task, stopped = asyncio.ensure_future(work), asyncio.ensure_future(self.stopped.wait())
        try:
            await asyncio.wait((task, stopped), return_when=asyncio.FIRST_COMPLETED)
            done, _ = await asyncio.wait((task,), timeout=PATIENCE_SECONDS)
            return task.result() if done else None
        finally:
            stopped.cancel()
            task.cancel()

    async def analyse_on(self, analysis: BoardAnalysis) -> None:
        """Search the position on the board until the analysis ends or the position changes."""
        node = self.tree.current
        if analysis.search is None:
            await self.searches.make_room()
            analysis.search, analysis.title = await self.in_thread(
                lambda: self.searches.pool.search(self.game, analysis.asked)
            )
            if self.stop.is_set():
                return
        self.searches.note_used(analysis)
        report, banned = self.reporter(node, analysis.title), self.tree.banned(node)
        await self.in_thread(lambda: analysis.search_node(node, banned, self.stop.is_set, report))
        self.send_table()

    async def review_on(self, review: Review) -> None:
        """Judge the next position of a review."""
        if review.judge is None:
            judge = await self.in_thread(lambda: make_judge(self.game, self.searches.pool, review.asked))
            if review.on:
                review.begin(judge)
            return
        job, opinion = review.next_job(self.stop.is_set), None
        if job is not None:
            opinion = await self.in_thread(job)
        if not review.on or (opinion is None and self.stop.is_set()):
            return
        if opinion is not None:
            review.note(opinion)
        else:
            if job is not None:
                review.give_up()
            self.searches.end_review(review)
        self.send_table()

    def note_value(self, node: Node, thought: Thought) -> None:
        """Keep what a search found a node worth, unless a review has judged it."""
        if not node.judged_by and not self.tree.is_over(node):
            node.value = value_of(thought) * (1.0 if self.tree.mover(node) == 0 else -1.0)

    async def in_thread(self, work: Callable[[], T]) -> T:
        """Return what `work` returns, computed in a thread; a note says when it has to compile."""
        loop = asyncio.get_running_loop()

        def note() -> None:
            self.notice = COMPILING
            self.send_table()

        def run() -> T:
            with CompileNotice(lambda _: call_in(loop, note)):
                return work()

        try:
            return await in_thread(run)
        finally:
            if self.notice == COMPILING:
                self.notice = ""
                self.send_table()

    # --- what the pages see -------------------------------------------------------------------------------

    def reporter(self, node: Node, by: str) -> Callable[[Thought], None]:
        """Return a function for a search's thread that sends what it found of a node to the pages."""
        loop, began = asyncio.get_running_loop(), (time.perf_counter(), 0)

        def send(thought: Thought, per_second: float) -> None:
            if thought.visits >= LEAST_NOTED:
                self.note_value(node, thought)
            self.latest = (node, thought, by, per_second)
            if node is self.tree.current and self.watchers:
                self.send(self.analysis_json(node, thought, by, per_second))

        def report(thought: Thought) -> None:
            nonlocal began
            now = time.perf_counter()
            speed = (thought.visits - began[1]) / max(now - began[0], 1e-6)
            began = (now, thought.visits)
            call_in(loop, send, thought, max(0.0, speed))

        return report

    def found(self, node: Node) -> tuple[Thought, str] | None:
        """Return what a search has found of a node, and who searched; None if the last one was elsewhere."""
        return self.latest[1:3] if self.latest is not None and self.latest[0] is node else None

    def analysis_json(self, node: Node, thought: Thought, by: str, per_second: float) -> dict[str, Any]:
        """Return what a search has found as the page reads it."""
        return {
            "type": "analysis",
            "table": self.id,
            "node": node.number,
            "running": not self.stop.is_set(),
            "by": by,
            "simulations": thought.visits,
            "per_second": round(per_second),
            "value": json_number(value_of(thought)),
            "best": thought.best,
            "moves": [self.move_json(node, move) for move in thought.best_first()],
            "busy": self.searches.busy(),
        }

    def move_json(self, node: Node, move: Move) -> dict[str, Any]:
        """Return what a search knows of a move as the page reads it."""
        cells = self.tree.line_cells(node, move.line)
        return {
            "action": move.action,
            "move": self.game.action_name(node.state, move.action),
            "shown": self.game.move_text(node.state, move.action),
            "cell": cells[0],
            "from": self.game.from_of(node.state, move.action),
            "visits": move.visits,
            "value": json_number(move.value),
            "prior": json_number(move.prior),
            "line": self.game.move_texts(move.line[:LONGEST_LINE], node.state),
            "line_cells": cells,
            "lower": move.lower,
            "upper": move.upper,
        }

    def read_tree(self, path: list[int]) -> list[dict[str, Any]]:
        """Return the moves at a node of the search tree, below the position on the board."""
        analysis = self.analysis
        node, missing = self.tree.current, "There is no search of this position; switch the analysis on."
        if analysis is None:
            raise Refusal(409, missing)
        state = node.state
        for action in path:
            if self.game.is_terminal(state) or not 0 <= action < self.game.num_actions:
                return []
            if not self.game.legal_mask(state)[action]:
                return []
            state = self.game.step(state, action)
        with analysis.lock:
            if analysis.search is None or analysis.node != node.number:
                raise Refusal(409, missing)
            thought = analysis.search.read(path)
        below = Node(-1, node, path[-1] if path else node.action, state)
        return [self.move_json(below, move) for move in thought.moves] if thought else []

    def to_json(self) -> dict[str, Any]:
        """Return the table as the page reads it."""
        mover = self.tree.mover(self.tree.current)
        position = self.tree.position_json()
        if self.resigned >= 0:
            position |= {"over": True, "outcome": RESIGNED[self.resigned][0], "moves": []}
        is_machine = self.sides[mover].spec is not None
        result = shown_result(self.tree, self.about, self.resigned)
        state = "your move"
        if position["over"]:
            state = "over"
        elif self.thinking or (is_machine and not self.paused):
            state = "thinking"
        elif is_machine:
            state = "paused"
        return {
            "id": self.id,
            "version": self.version,
            "game": {
                "name": self.game.name,
                "title": game_title(self.game.name, self.game.options),
                "heading": game_heading(self.game),
                "options": self.game.options,
                "board": board_json(self.game),
            },
            "sides": [side.to_json() for side in self.sides],
            "start": self.tree.start,
            "nodes": self.tree.nodes_json(),
            "node": self.tree.current.number,
            "line": [node.number for node in self.tree.line()],
            "position": position,
            "state": state,
            "message": self.message(position["outcome"]),
            "delay": self.delay,
            "paused": self.paused,
            "review": self.reviewing.to_json() if self.reviewing else None,
            "report": report_of(self.tree, self.reviewed),
            "analysis": self.analysis.to_json() if self.analysis else None,
            "about": self.about.to_json(self.tree.root.kept.properties)
            | {"result": result, "said": result_words(result, called(self.game))},
            "deleted": len(self.tree.deleted),
            "unkept": self.unkept,
            "in_trash": self.in_trash,
            "opened": self.opened,
        }

    def message(self, outcome: float | None) -> str:
        """Return how the game has ended, or what else there is to say."""
        if outcome is None:
            return self.notice
        winner, game = 0 if outcome > 0 else 1, self.game
        people, titles = [side.spec is None for side in self.sides], [side.title for side in self.sides]
        alike = titles[0] == titles[1]
        named = self.about.players[winner] or (player_name(game, winner) if alike else titles[winner])
        who = f"{named} wins"
        if people[winner] != people[1 - winner]:
            who = "You win" if people[winner] else f"You lose: {who}"
        if self.resigned >= 0:
            return f"{who} by resignation."
        return outcome_text(game, self.tree.current.state, outcome, (who, who)) + "."

    def send_table(self) -> None:
        """Send the table, which has changed, to its pages; they drop what comes after a later version."""
        self.version += 1
        self.searches.keep(self)
        if self.watchers:
            self.send({"type": "table", "table": self.to_json()})

    def send(self, message: dict[str, Any]) -> None:
        """Send a message to all pages; one that does not read is sent away by None."""
        for queue in list(self.watchers):
            try:
                queue.put_nowait(message)
            except asyncio.QueueFull:
                self.watchers.discard(queue)
                while not queue.empty():
                    queue.get_nowait()
                queue.put_nowait(None)

    def watch(self) -> asyncio.Queue[dict[str, Any] | None]:
        """Return a queue of messages for one more page, the table first."""
        if len(self.watchers) >= MOST_WATCHERS:
            raise Refusal(429, f"{MOST_WATCHERS} pages look at this game already.")
        queue: asyncio.Queue[dict[str, Any] | None] = asyncio.Queue(WAITING_MESSAGES)
        queue.put_nowait({"type": "table", "table": self.to_json()})
        if self.latest and self.latest[0] is self.tree.current:
            queue.put_nowait(self.analysis_json(*self.latest))
        self.watchers.add(queue)
        self.seen = time.monotonic()
        return queue

    def close(self) -> None:
        """End all work."""
        self.stop.set()
        self.end_review()
        if self.work:
            self.work.cancel()


def json_number(value: float) -> float | None:
    """Return a value for JSON, None for nan."""
    return None if math.isnan(value) else round(float(value), 4)
