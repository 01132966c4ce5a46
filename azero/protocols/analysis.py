"""KataGo's JSON analysis for every game: queries of many positions, searched side by side.

One line is one JSON object, in both directions. Queries are read while positions are searched. A position's
answer is written when its search ends. `docs/protocols.md` documents the fields; KataGo's
`docs/Analysis_Engine.md` is where they come from.

Letters: A actions, S state words.
"""

from __future__ import annotations

import heapq
import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import azero
from azero.config.reading import is_whole
from azero.config.schema import UserError
from azero.config.suggest import did_you_mean
from azero.games import go
from azero.games.kit.board import EMPTY, FIRST
from azero.games.playing import GameInProgress
from azero.players import Thought
from azero.players.policy import PolicyPlayer
from azero.players.pv_mcts import LARGEST_TREE, PvMcts
from azero.protocols.lines import MOST_BYTES, Lines, TooLong
from azero.protocols.positions import Position, SideBySide
from azero.protocols.turning import go_turn
from azero.search.tree import ROOT, edge_to

COLOURS = "BW"
PLAYERS = {"b": 0, "black": 0, "w": 1, "white": 1}
PERSPECTIVES = {"BLACK": 0, "WHITE": 1, "SIDETOMOVE": None}
AREA_RULES = ("chinese", "chinese-ogs", "chinese-kgs", "tromp-taylor")  # as azero plays Go, suicide aside
MOST_POSITIONS = 64  # searched at once
MOST_PRIORITY = 2**31 - 1
LONGEST = 1e9  # seconds: never
KNOWN = (
    *("id", "moves", "initialStones", "initialPlayer", "rules", "komi", "boardXSize", "boardYSize"),
    *("analyzeTurns", "maxVisits", "priority", "priorities", "includePolicy", "includePVVisits"),
    *("includeOwnership", "includeMovesOwnership", "overrideSettings", "reportDuringSearchEvery"),
    *("avoidMoves", "allowMoves", "game", "position"),
)
OVERRIDES = ("reportAnalysisWinratesAs", "maxTime", "maxVisits")
ACTIONS = ("query_version", "clear_cache", "terminate", "terminate_all")
PAIRS = 'Must be an array of moves, or of pairs of the form: ["B" or "W", move]'
RESTRICTIONS = "Must be a list of dicts with subfields 'player', 'moves', 'untilDepth'"

Json = dict[str, Any]


class Refused(Exception):
    """A field of a query is wrong."""

    def __init__(self, name: str, message: str) -> None:
        super().__init__(message)
        self.name = name


@dataclass(eq=False)  # two queries may have one id
class Turn:
    """One position of a query.

    Attributes:
        id: the query's.
        number: moves of the query that lead here.
        state: [S].
        to_play: 0 or 1.
        forbidden: the moves [A] that the game's history forbids; None for a game that forbids none.
        avoided: the moves [A] that the query leaves out; None for none.
        visits: simulations.
        seconds: of its search at most.
        every: seconds between reports of its search.
        perspective: the player for whom values are; None: the player to move.
        policy: whether the network's policy is asked for.
        line_visits: whether the visits along the principal variations are asked for.
        priority: the highest is searched first.
        search: once it has begun.
        began: when.
        next_report: when.
    """

    id: str
    number: int
    state: np.ndarray
    to_play: int
    forbidden: np.ndarray | None
    avoided: np.ndarray | None = None
    visits: int = 1
    seconds: float = LONGEST
    every: float = LONGEST
    perspective: int | None = None
    policy: bool = False
    line_visits: bool = False
    priority: int = 0
    search: Position | None = None
    began: float = 0.0
    next_report: float = 0.0

    @property
    def banned(self) -> np.ndarray | None:
        """All moves [A] that its search leaves out."""
        if self.forbidden is None or self.avoided is None:
            return self.avoided if self.forbidden is None else self.forbidden
        both: np.ndarray = self.forbidden | self.avoided
        return both


class Analysis:
    """The queries under way.

    Attributes:
        player: its network and search settings are used. Its number of simulations is that of a position
            whose query asks for none.
        write: receives the answers.
        waiting: the turns to search, as a heap: (-priority, order, turn).
        active: the turns that are searched.
    """

    def __init__(self, player: PvMcts, write: Callable[[Json], None]) -> None:
        """Make the searches' buffers."""
        self.player, self.game, self.write = player, player.game, write
        self.waiting: list[tuple[int, int, Turn]] = []
        self.active: list[Turn] = []
        self.order = 0
        self.side_by_side = SideBySide(player, MOST_POSITIONS)
        self.network = PolicyPlayer(self.game, player.inference)

    def warm_up(self) -> None:
        """Search a few moves, so that no query waits for compilation."""
        turn = Turn("", 0, self.game.initial_state(), 0, None, visits=2)
        turn.search = Position(self.player, turn.state, None, turn.visits)
        while not turn.search.done:
            self.side_by_side.wave([turn.search])
        self.answer(turn, is_during_search=False)
        self.side_by_side.clear_cache()

    @property
    def busy(self) -> bool:
        """Whether a position waits or is searched."""
        return bool(self.waiting or self.active)

    # Search

    def step(self) -> None:
        """Begin the turns that there is room for, and search all for one batch of the network."""
        self.begin_turns()
        if not self.active:
            return
        try:
            self.side_by_side.wave([turn.search for turn in self.active if turn.search])
        except UserError as mistake:  # of the network, or broken rules
            for turn in self.active:
                self.write({"error": str(mistake), "id": turn.id})
            self.active = []
            return
        now = time.monotonic()
        for turn in list(self.active):
            assert turn.search
            if turn.search.done or (now >= turn.began + turn.seconds and self.has_moves(turn)):
                self.end(turn)
            elif now >= turn.next_report and self.has_moves(turn):
                self.write(self.answer(turn, is_during_search=True))
                turn.next_report = now + turn.every

    def begin_turns(self) -> None:
        """Begin the waiting turns of the highest priority, as far as trees and rows allow."""
        free = LARGEST_TREE - sum(self.side_by_side.tree_bytes(turn.visits) for turn in self.active)
        while self.waiting and len(self.active) < MOST_POSITIONS:
            turn = self.waiting[0][2]
            free -= self.side_by_side.tree_bytes(turn.visits)
            if free < 0 and self.active:
                return
            heapq.heappop(self.waiting)
            if self.game.is_terminal(turn.state):
                self.write(self.over(turn))
                continue
            turn.search = Position(self.player, turn.state, turn.banned, turn.visits)
            turn.began = time.monotonic()
            turn.next_report = turn.began + turn.every
            self.active.append(turn)

    def end(self, turn: Turn) -> None:
        """Write the last answer of a turn."""
        self.write(self.answer(turn, is_during_search=False))
        self.active.remove(turn)

    def has_moves(self, turn: Turn) -> bool:
        """Return whether the search of a turn has something to report."""
        return turn.search is not None and (thought := turn.search.read()) is not None and thought.visits > 0

    def terminate(self, query: str | None, numbers: list[int] | None) -> None:
        """End turns now with what is known of them: those of a query, or all."""

        def meant(turn: Turn) -> bool:
            return (query is None or turn.id == query) and (numbers is None or turn.number in numbers)

        for turn in [turn for turn in self.active if meant(turn)]:
            self.end(turn)
        for _, _, turn in sorted(entry for entry in self.waiting if meant(entry[2])):
            self.write(self.answer(turn, is_during_search=False))
        self.waiting = [entry for entry in self.waiting if not meant(entry[2])]
        heapq.heapify(self.waiting)

    # Answer

    def answer(self, turn: Turn, is_during_search: bool) -> Json:
        """Return what is known of a turn."""
        head = {"id": turn.id, "isDuringSearch": is_during_search, "turnNumber": turn.number}
        thought = turn.search.read() if turn.search else None
        if thought is None or not thought.visits:
            return {**head, "noResults": True}
        answer = {
            **head,
            "moveInfos": self.move_infos(turn, thought),
            "rootInfo": self.root_info(turn, thought.value, thought.visits),
        }
        if turn.policy:
            answer["policy"] = self.policy(turn, thought)
        return answer

    def over(self, turn: Turn) -> Json:
        """Return the answer of a turn at which the game is over: its result, and no moves."""
        answer = {
            "id": turn.id,
            "isDuringSearch": False,
            "turnNumber": turn.number,
            "moveInfos": [],
            "rootInfo": self.root_info(turn, self.game.outcome(turn.state), 0),
        }
        return {**answer, "policy": [-1.0] * self.game.num_actions} if turn.policy else answer

    def root_info(self, turn: Turn, value: float, visits: int) -> Json:
        """Return what is known of a position; the value is for the player to move."""
        return {"currentPlayer": COLOURS[turn.to_play], "visits": visits, **self.values(turn, value)}

    def values(self, turn: Turn, value: float) -> Json:
        """Return a value for the player to move as KataGo writes it, for the turn's perspective."""
        seen = value if turn.perspective in (None, turn.to_play) else -value
        return {"utility": seen, "winrate": (1.0 + seen) / 2.0}

    def move_infos(self, turn: Turn, thought: Thought) -> list[Json]:
        """Return what is known of the visited moves, the best first."""
        visited = [move for move in thought.best_first() if move.visits]
        infos = []
        for order, move in enumerate(visited):
            info = {
                "move": self.names(turn.state, [move.action])[0],
                "order": order,
                "prior": move.prior,
                "pv": self.names(turn.state, move.line),
                "visits": move.visits,
                **self.values(turn, move.value),
            }
            if turn.line_visits:
                info["pvVisits"] = self.line_visits(turn, move.line)
            infos.append(info)
        return infos

    def names(self, state: np.ndarray, line: Sequence[int]) -> list[str]:
        """Return the names of moves that follow each other; Go's as GTP and KataGo write them."""
        names = self.game.move_names(line, state)
        return (
            [name if name == "pass" else name.upper() for name in names] if self.game.name == "go" else names
        )

    def line_visits(self, turn: Turn, line: tuple[int, ...]) -> list[int]:
        """Return the visits of each move along a line from the root."""
        assert turn.search
        tree, node, visits = turn.search.searches.tree, ROOT, list[int]()
        for action in line:
            edge = edge_to(tree, 0, node, action)
            assert edge is not None
            visits.append(int(edge["child_visits"]))
            node = int(edge["child"])
        return visits

    def policy(self, turn: Turn, thought: Thought) -> list[float]:
        """Return the network's policy by action, -1 for moves that are not legal."""
        policy = np.full(self.game.num_actions, -1.0)
        if turn.avoided is None:
            for move in thought.moves:
                policy[move.action] = move.prior
        else:  # the search does not know the policy of moves that it leaves out
            legal = self.game.legal_mask(turn.state)
            legal = legal if turn.forbidden is None else legal & ~turn.forbidden
            asked = self.network.ask(turn.state[None])[0][0]
            policy[legal] = asked[legal] / asked[legal].sum()
        return policy.tolist()

    # Read

    def receive(self, line: str) -> None:
        """Obey one line: begin a query or an action, or answer why not."""
        if isinstance(line, TooLong):
            self.write({"error": f"The line is longer than {MOST_BYTES:,} bytes and was ignored."})
            return
        if not line.strip():
            return
        try:
            asked = json.loads(line, parse_constant=finite, parse_float=finite)
        except (ValueError, RecursionError) as mistake:
            self.write({"error": f"{mistake} - could not parse input line as json request: {line[:200]}"})
            return
        if not isinstance(asked, dict):
            self.write({"error": f"Request line was valid json but was not an object: {line[:200]}"})
            return
        if not isinstance(asked.get("id"), str):
            self.write({"error": 'Request must have a string "id" field'})
            return
        warnings: list[tuple[str, str]] = []
        try:
            if "action" in asked:
                self.act(asked)
                return
            turns = self.read_query(asked, warnings)
        except Refused as refused:
            self.write({"error": str(refused), "field": refused.name, "id": asked["id"]})
            return
        for name, text in warnings:
            self.write({"warning": text, "field": name, "id": asked["id"]})
        for turn in turns:
            heapq.heappush(self.waiting, (-turn.priority, self.order, turn))
            self.order += 1

    def act(self, asked: Json) -> None:
        """Obey an action; Refused: it is unknown or lacks something."""
        action = asked["action"]
        if action not in ACTIONS:
            raise Refused("action", f"'action' field must be one of: {', '.join(ACTIONS)}")
        numbers = asked.get("turnNumbers")
        if numbers is not None and not (isinstance(numbers, list) and all(map(is_whole, numbers))):
            raise Refused("turnNumbers", "Must be an array of integers")
        if action == "terminate" and not isinstance(asked.get("terminateId"), str):
            raise Refused("terminateId", "Requests for a terminate action must have a string terminateId")
        if action == "query_version":
            asked |= {"version": azero.__version__, "git_hash": "<omitted>"}
        elif action == "clear_cache":
            self.side_by_side.clear_cache()
        self.write(asked)
        if action in ("terminate", "terminate_all"):
            self.terminate(asked["terminateId"] if action == "terminate" else None, numbers)

    def read_query(self, asked: Json, warnings: list[tuple[str, str]]) -> list[Turn]:
        """Return the turns of a query; Refused: it is wrong."""
        for name in sorted(asked.keys() - set(KNOWN)):
            warnings.append((name, f"Unexpected or unused field{did_you_mean(name, KNOWN, '.')}"))
        self.check_board(asked, warnings)
        turns = self.read_turns(asked)
        chosen = self.read_numbers(asked, "analyzeTurns", [len(turns) - 1])
        if not chosen:  # KataGo would be silent
            raise Refused("analyzeTurns", "Must name at least one turn")
        for number in chosen:
            if not 0 <= number < len(turns):
                raise Refused("analyzeTurns", f"Invalid turn number: {number}")
        first = whole(asked, "priority", 0, -MOST_PRIORITY, MOST_PRIORITY)
        priorities = self.read_numbers(asked, "priorities", [first] * len(chosen))
        if len(priorities) != len(chosen):
            raise Refused("priorities", "Must be of the same length as analyzeTurns")
        override = self.read_override(asked, warnings)
        visits = whole(asked, "maxVisits", override["maxVisits"], 1, 2**50)
        if visits > (most := self.side_by_side.most_simulations):
            warnings.append(
                ("maxVisits", f"Only {most:,} visits fit into memory, so that many are searched.")
            )
        policy, line_visits = flag(asked, "includePolicy"), flag(asked, "includePVVisits")
        for name in ("includeOwnership", "includeMovesOwnership"):
            if flag(asked, name):
                warnings.append((name, "azero predicts no ownership, so the answers have none."))
        every = real(asked, "reportDuringSearchEvery", LONGEST, 0.001, LONGEST)
        wanted = dict(zip(chosen, priorities, strict=True))
        for place, priority in wanted.items():
            turn = turns[place]
            turn.priority, turn.visits, turn.seconds = priority, min(visits, most), override["maxTime"]
            turn.perspective, turn.every = override["reportAnalysisWinratesAs"], every
            turn.policy, turn.line_visits = policy, line_visits
            turn.avoided = self.read_restrictions(asked, turn, warnings)
        return [turns[place] for place in wanted]

    def check_board(self, asked: Json, warnings: list[tuple[str, str]]) -> None:
        """Refuse a query about another game or board; warn of rules that azero does not play."""
        game, board = self.game, self.game.board
        if asked.get("game", game.name) != game.name:
            raise Refused("game", f"This engine plays {game.name}")
        if board:
            for name, size in (("boardXSize", len(board.columns)), ("boardYSize", len(board.rows))):
                if asked.get(name, size) != size or isinstance(asked.get(name), bool):
                    raise Refused(name, f"Must be {size}: this engine knows no other board")
        rules, komi = asked.get("rules", "tromp-taylor"), game.options.get("komi")
        if not isinstance(rules, str | dict):
            raise Refused("rules", 'Must be a string, such as "tromp-taylor", or a JSON object')
        if game.name == "go" and (not isinstance(rules, str) or rules.lower() not in AREA_RULES):
            warnings.append(("rules", "azero plays by area scoring without suicide, and analyses so."))
        if komi is not None and real(asked, "komi", komi, -400, 400) != komi:
            warnings.append(("komi", f"This engine has learned with komi {komi:g}, and analyses so."))

    def read_turns(self, asked: Json) -> list[Turn]:
        """Return the positions before and after each move, without what is asked about them."""
        game = self.game
        stones = self.read_moves(asked, "initialStones", [])
        if "moves" not in asked:
            raise Refused("moves", PAIRS)
        moves = self.read_moves(asked, "moves", [])
        first = moves[0][0] if moves and game.name == "go" and "position" not in asked else None
        if "initialPlayer" in asked:
            first = read_player(asked["initialPlayer"], "initialPlayer")
        at, turns = GameInProgress(game, state=self.first_state(asked, stones, first)), list[Turn]()
        for number, (mover, text) in enumerate([*moves, (None, None)]):
            side = at.to_play if mover is None else mover
            if game.name == "go" and side != at.to_play and not at.is_over:
                at = GameInProgress(game, state=go_turn(game, at.state, side))
            forbidden = None if at.is_over else at.banned()
            turns.append(Turn(asked["id"], number, at.state, at.to_play, forbidden))
            if text is None:
                break
            action = self.read_action(at.state, text, "moves")
            if game.name == "go" and at.is_over and game.action_name(at.state, action) == "pass":
                state = at.state.copy()
                state[go.PLY] += 1  # the game stays over
                at = GameInProgress(game, state=state)
                continue
            if game.name == "go" and at.is_over:  # it goes on, as between people who settle dead stones
                at = GameInProgress(game, state=go_turn(game, at.state, side))
            if not at.is_legal(action):
                raise Refused("moves", f"Illegal move {number}: {self.names(at.state, [action])[0]}")
            if mover not in (None, at.to_play):
                name, other = self.names(at.state, [action])[0], COLOURS[at.to_play]
                raise Refused("moves", f"Illegal move {number}: {name}, it is {other}'s turn")
            at.play(action)
        return turns

    def first_state(
        self, asked: Json, stones: list[tuple[int | None, object]], first: int | None
    ) -> np.ndarray:
        """Return the state before the first move, from `position` or stones of Go; Refused: it cannot be."""
        game, state = self.game, self.game.initial_state()
        if "position" in asked:
            if stones or first is not None or not isinstance(asked["position"], str):
                raise Refused("position", "Must be a string, without initialStones and initialPlayer")
            try:
                return game.position(asked["position"])
            except UserError as mistake:
                raise Refused("position", str(mistake)) from mistake
        if game.name != "go":
            if stones:
                raise Refused("initialStones", f"azero cannot set up stones in {game.name}")
            if first not in (None, 0):
                raise Refused("initialPlayer", 'Must be "B": the first player begins')
            return state
        assert game.board and game.set_up
        marks = np.zeros_like(game.board.marks(state))
        for colour, text in stones:
            cell = self.read_action(state, text, "initialStones")
            if colour is None or cell >= marks.size:
                raise Refused("initialStones", PAIRS)
            if marks.flat[cell] != EMPTY:
                raise Refused("initialStones", f"{self.names(state, [cell])[0]} is taken")
            marks.flat[cell] = FIRST + colour
        try:
            return game.set_up(marks, first or 0)
        except ValueError as mistake:
            raise Refused("initialStones", str(mistake).capitalize()) from mistake

    def read_moves(self, asked: Json, name: str, default: list[Any]) -> list[tuple[int | None, object]]:
        """Return players (None where not named) and texts of a list of moves."""
        given, moves = asked.get(name, default), list[tuple[int | None, object]]()
        if not isinstance(given, list):
            raise Refused(name, PAIRS)
        for each in given:
            pair = [None, each] if isinstance(each, str) else each
            if not isinstance(pair, list) or len(pair) != 2:
                raise Refused(name, PAIRS)
            mover = None if pair[0] is None else read_player(pair[0], name)
            moves.append((mover, pair[1]))
        return moves

    def read_action(self, state: np.ndarray, text: object, name: str) -> int:
        """Return the action of a move in a state; Refused: there is none."""
        try:
            return self.game.parse_action(state, str(text) if isinstance(text, str) else "")
        except ValueError as mistake:
            raise Refused(name, f"Could not parse board location: {str(text)[:50]}") from mistake

    def read_numbers(self, asked: Json, name: str, default: list[int]) -> list[int]:
        """Return a list of whole numbers."""
        numbers: list[int] = asked.get(name, default)
        if not isinstance(numbers, list) or not all(map(is_whole, numbers)):
            raise Refused(name, "Must be an array of integers")
        return numbers

    def read_override(self, asked: Json, warnings: list[tuple[str, str]]) -> Json:
        """Return the settings of OVERRIDES; warn of others, which azero has not."""
        given = asked.get("overrideSettings", {})
        if not isinstance(given, dict):
            raise Refused("overrideSettings", "Must be an object")
        for name in sorted(given.keys() - set(OVERRIDES)):
            if given[name] not in (0, False, None):
                warnings.append(("overrideSettings", f"{name} is not a setting of azero and was ignored."))
        try:
            seconds = real(given, "maxTime", LONGEST, 0.0, LONGEST)
            visits = whole(given, "maxVisits", self.player.search.num_simulations, 1, 2**50)
        except Refused as refused:
            raise Refused("overrideSettings", f"{refused.name}: {refused}") from refused
        seen = str(given.get("reportAnalysisWinratesAs", "SIDETOMOVE")).upper()
        if seen not in PERSPECTIVES:
            text = f"reportAnalysisWinratesAs must be one of: {', '.join(PERSPECTIVES)}"
            raise Refused("overrideSettings", text)
        return {
            "maxTime": seconds,
            "maxVisits": visits,
            "reportAnalysisWinratesAs": PERSPECTIVES[seen],
        }

    def read_restrictions(
        self, asked: Json, turn: Turn, warnings: list[tuple[str, str]]
    ) -> np.ndarray | None:
        """Return the moves [A] that avoidMoves or allowMoves leaves out at a turn, or None."""
        if "avoidMoves" in asked and "allowMoves" in asked:
            raise Refused("allowMoves", "Cannot specify both allowMoves and avoidMoves")
        name = "allowMoves" if "allowMoves" in asked else "avoidMoves"
        given = asked.get(name, [])
        if not isinstance(given, list) or (name == "allowMoves" and len(given) > 1):
            raise Refused(name, RESTRICTIONS if name == "avoidMoves" else "Must be a list of one dict")
        avoided = np.zeros(self.game.num_actions, np.bool_)
        for each in given:
            if not isinstance(each, dict) or not {"player", "moves", "untilDepth"} <= each.keys():
                raise Refused(name, RESTRICTIONS)
            if not isinstance(each["moves"], list):
                raise Refused(name, "Must be an array of moves")
            actions = [self.read_action(turn.state, move, name) for move in each["moves"]]
            depth = whole(each, "untilDepth", 1, 1, 10**9)
            warning = (name, "Only the first move is restricted: azero knows no untilDepth beyond 1.")
            if depth > 1 and warning not in warnings:
                warnings.append(warning)
            if read_player(each["player"], name) != turn.to_play:
                continue
            listed = np.zeros_like(avoided)
            listed[actions] = True
            avoided |= listed if name == "avoidMoves" else ~listed
        if not avoided.any() or self.game.is_terminal(turn.state):
            return None
        legal = self.game.legal_mask(turn.state)
        if not (legal & ~avoided if turn.forbidden is None else legal & ~avoided & ~turn.forbidden).any():
            raise Refused(name, f"No move is left at turn {turn.number}")
        avoided &= legal
        return avoided


def answer_lines(analysis: Analysis, lines: Lines, is_gone: Callable[[], bool], wait: bool) -> None:
    """Obey all lines; return when the input has ended and nothing is left to search.

    Args:
        analysis: the queries.
        lines: the input.
        is_gone: whether nobody reads the answers any more.
        wait: whether positions are searched to their ends after the end of the input; False: they are
            answered with what is known of them.
    """
    while True:
        while lines.waiting() or not analysis.busy:
            if (line := lines.read()) is None:
                finish(analysis, is_gone, wait)
                return
            analysis.receive(line)
        analysis.step()


def finish(analysis: Analysis, is_gone: Callable[[], bool], wait: bool) -> None:
    """Search on after the end of the input; see `serve`."""
    while wait and analysis.busy and not is_gone():
        analysis.step()
    analysis.terminate(None, None)


def finite(text: str) -> float:
    """Return the number of a JSON text; ValueError: it is too large, or no number."""
    if not math.isfinite(value := float(text)):
        raise ValueError(f"{text[:20]} is not a finite number")
    return value


def whole(asked: Json, name: str, default: int, low: int, high: int) -> int:
    """Return a whole number of a query; Refused: it is none, or out of range."""
    value: int = asked.get(name, default)
    if not is_whole(value, low, high):
        raise Refused(name, f"Must be an integer from {low} to {high}")
    return value


def real(asked: Json, name: str, default: float, low: float, high: float) -> float:
    """Return a number of a query; Refused: it is none, or out of range."""
    value = asked.get(name, default)
    if not (is_whole(value) or isinstance(value, float)) or not low <= value <= high:
        raise Refused(name, f"Must be a number from {low:g} to {high:g}")
    return float(value)


def flag(asked: Json, name: str) -> bool:
    """Return a boolean of a query, false by default; Refused: it is none."""
    value = asked.get(name, False)
    if not isinstance(value, bool):
        raise Refused(name, "Must be a boolean")
    return value


def read_player(text: object, name: str) -> int:
    """Return the player of a colour, 0 or 1; Refused: it is none."""
    player = PLAYERS.get(text.lower()) if isinstance(text, str) else None
    if player is None:
        raise Refused(name, 'Must be "B" or "W"')
    return player
