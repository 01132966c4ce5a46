"""Checks that a game keeps the laws of `games/game.py`, in random games.

Letters: A actions; C, H, W planes; S state words; K key words; R repetition words.

The rules run as plain Python, which stops at a wrong index or a wrong type, and then compiled. Both must
agree.
"""

from __future__ import annotations

import math
import shlex
import time
import traceback
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit, typeof, types
from numba.core.ccallback import CFunc

from azero.config.schema import OPENSPIEL, BrokenGame, UserError, option_words
from azero.games import SHIPPED
from azero.games import game as interface
from azero.games.game import UNBOUNDED, Game, Rules, is_written, rules_at
from azero.games.laws.outcomes import outcome_faults
from azero.games.laws.shown import Cells, board_faults, state_faults
from azero.games.laws.views import Look, find_turn, turn_fault

AZERO = Path(interface.__file__).parent.parent
QUICK_SECONDS = 1.5  # of the check before a run
SUCCESSORS = 4  # of one state, compared between compiled and plain rules
SHOWN_GAMES = 10  # whose positions are all shown; of later games only the last two are
TEXTS = 1000  # positions that are written as text and read again
SHOWN_ACTIONS = 64  # whose cells are asked for in one position
SHOWN = "what people see"
LISTS = "law 9: a list of legal actions rises, and equals the mask"

# What an array holds before a rule writes it
FILLERS: dict[Any, Any] = {np.uint64: 0xDEADBEEFDEADBEEF, np.float32: 77.0, np.bool_: True, np.int32: -77}


class RuleBroke(Exception):
    """A rule raised an exception; the finding is noted and this game ends."""


class Finding(NamedTuple):
    """One kind of fault and the first case of it."""

    law: str
    text: str
    board: str


class Findings:
    """The findings: the first case of each kind and the number of cases."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.first: dict[str, Finding] = {}
        self.times: dict[str, int] = {}

    def add(
        self, law: str, text: str, *states: np.ndarray | None, moves: Sequence[int] | None = None
    ) -> None:
        """Note a fault with the boards that show it; faults with equal text are one kind."""
        self.times[text] = self.times.get(text, 0) + 1
        if text not in self.first:
            boards = [self.board(state) for state in states if state is not None]
            if moves is not None:
                boards.append("moves: " + (self.names(moves) or "none"))
            self.first[text] = Finding(law, text, "\n\n".join(boards))

    def board(self, state: np.ndarray) -> str:
        """Return a state as text, or only its words if `format_state` fails."""
        words = "state words: " + " ".join(f"{int(word):#x}" for word in state)
        try:
            return f"{self.game.format_state(state.copy())}\n{words}"
        except Exception:
            return words

    def names(self, moves: Sequence[int]) -> str:
        """Return the moves of a game as people write them, or their numbers if `action_name` fails."""
        try:
            return " ".join(self.game.move_names(moves))
        except Exception:
            return " ".join(map(str, moves))

    def __bool__(self) -> bool:
        """Return whether there is any finding."""
        return bool(self.first)


class PlainCaller:
    """The plain Python rules, each called twice to find unwritten elements and results that vary."""

    def __init__(self, game: Game, findings: Findings) -> None:
        self.game, self.findings = game, findings
        self.broke = False  # whether a rule raised an exception
        self.rules: Rules = game.rules.plain()

    def call(self, rule: str, state: np.ndarray | None, *arguments: Any) -> Any:
        """Call a rule on a copy of ``state``; note it if the rule raises or writes to the state it reads.

        Raises:
            RuleBroke: the rule raised.
        """
        given = [] if state is None else [state.copy()]
        try:
            with np.errstate(all="ignore"):
                result = getattr(self.rules, rule)(*given, *arguments)
        except Exception as error:
            text = f"{rule} raised in plain Python: {last_line(error)}"
            if rule == "planes":
                text += f"; planes_shape is {self.game.planes_shape}"
            self.findings.add("law 7: rules never raise", text, state)
            self.broke = True
            raise RuleBroke from error
        if state is not None and not np.array_equal(given[0], state):
            law = "law 1: a rule never writes to the state it reads"
            self.findings.add(law, f"{rule} changed the state it was given", state)
        return result

    def written(self, rule: str, state: np.ndarray | None, shape: Any, dtype: Any, *arguments: Any) -> Any:
        """Return what a rule writes into an array; try it on arrays with two different contents."""
        first, second = np.full(shape, FILLERS[dtype], dtype), np.zeros(shape, dtype)
        self.call(rule, state, *arguments, first)
        self.call(rule, state, *arguments, second)
        if first.tobytes() != second.tobytes():
            law = "law 4 and the signatures: every element is written"
            self.findings.add(law, f"{rule} leaves elements unwritten, or differs between two calls", state)
        return second

    def initial(self) -> np.ndarray:
        """Return the initial state."""
        return np.asarray(self.written("initial", None, self.game.state_words, np.uint64))

    def step(self, state: np.ndarray, action: int) -> np.ndarray:
        """Return the successor."""
        return np.asarray(self.written("step", state, self.game.state_words, np.uint64, action))

    def legal(self, state: np.ndarray) -> np.ndarray:
        """Return the legal actions as a mask, [A] bool, however the game writes them."""
        game = self.game
        if not game.lists_moves:
            return np.asarray(self.written("legal_mask", state, game.num_actions, np.bool_))
        mask = self.listed(state)
        if game.rules.legal_mask is not interface.no_legal_mask:
            written = self.written("legal_mask", state, game.num_actions, np.bool_)
            if not np.array_equal(written, mask):
                self.findings.add(LISTS, "legal_mask and legal_actions differ; write only one of them", state)
        return mask

    def listed(self, state: np.ndarray) -> np.ndarray:
        """Return the list of legal actions as a mask; try it on arrays with two different contents."""
        size, filler = self.game.num_actions, FILLERS[np.int32]
        first, second = np.full(size, filler, np.int32), np.zeros(size, np.int32)
        count, again = (int(self.call("legal_actions", state, actions)) for actions in (first, second))
        listed, fault = second[: max(0, again)], ""
        if not 0 <= count <= size:
            fault = f"returns {count}; it must be the number of legal actions, 0 to {size}"
        elif count != again or not np.array_equal(first[:count], listed):
            fault = "leaves elements unwritten, or differs between two calls"
        elif (first[count:] != filler).any() or second[count:].any():
            fault = "writes more actions than it counts"
        elif ((listed < 0) | (listed >= size)).any():
            fault = f"lists an action outside 0 to {size - 1}"
        elif (np.diff(listed) <= 0).any():
            fault = "does not list the actions in rising order, each once"
        if fault:
            self.findings.add(LISTS, f"legal_actions {fault}", state)
        mask = np.zeros(size, np.bool_)
        mask[listed[(listed >= 0) & (listed < size)]] = True
        return mask

    def look(self, state: np.ndarray, ply: int) -> Look:
        """Call every rule on a state."""
        game = self.game
        terminal = bool(self.call("is_terminal", state))
        planes = self.written("planes", state, game.planes_shape, np.float32)
        mask = key = None
        if not terminal:
            mask = self.legal(state)
            key = self.written("evaluation_key", state, game.key_words, np.uint64)
        outcome = float(self.call("outcome", state)) if terminal else 0.0
        repetition = self.written("repetition_key", state, game.repetition_words, np.uint64)
        to_play, plies_left = (int(self.call(rule, state)) for rule in ("to_play", "plies_left"))
        return Look(state, ply, to_play, terminal, outcome, planes, mask, key, repetition, plies_left)


@njit(cache=True, nogil=True)
def look_compiled(
    addresses: np.ndarray,
    state: np.ndarray,
    mask: np.ndarray,
    actions: np.ndarray,
    planes: np.ndarray,
    key: np.ndarray,
) -> tuple[int, bool, float, int]:
    """Call every compiled rule on a state.

    Write mask or actions or both, planes and key; return (to_play, is_terminal, outcome, number of actions).
    """
    rules = rules_at(addresses)
    terminal, count = rules.is_terminal(state), 0
    rules.planes(state, planes)
    if not terminal:
        rules.legal_mask(state, mask)
        if is_written(rules.legal_actions):
            count = rules.legal_actions(state, actions)
        rules.evaluation_key(state, key)
    return rules.to_play(state), terminal, rules.outcome(state) if terminal else 0.0, count


@njit(cache=True, nogil=True)
def repetition_compiled(addresses: np.ndarray, state: np.ndarray, key: np.ndarray) -> None:
    """Write the repetition key."""
    rules_at(addresses).repetition_key(state, key)


@njit(cache=True, nogil=True)
def plies_left_compiled(addresses: np.ndarray, state: np.ndarray) -> int:
    """Return the bound of the plies left."""
    return int(rules_at(addresses).plies_left(state))


@njit(cache=True, nogil=True)
def initial_compiled(addresses: np.ndarray, state: np.ndarray) -> None:
    """Write the initial state."""
    rules_at(addresses).initial(state)


@njit(cache=True, nogil=True)
def step_compiled(addresses: np.ndarray, state: np.ndarray, action: int, successor: np.ndarray) -> None:
    """Write the successor."""
    rules_at(addresses).step(state, action, successor)


def last_line(error: BaseException) -> str:
    """Return the message of an exception, and where the game's own code led to it."""
    said = " ".join(str(error).split())[:200]
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if AZERO not in Path(frame.filename).parents
    ]
    place = f" (line {frames[-1].lineno} of {frames[-1].name})" if frames else ""
    return f"{type(error).__name__}: {said}{place}"


class GameCheck:
    """Plays random games and checks every law in them."""

    def __init__(self, game: Game, games: int, seed: int, seconds: float = math.inf) -> None:
        """``seconds``: when to stop, in the middle of a game too."""
        self.game, self.games = game, games
        self.started, self.seconds = time.monotonic(), seconds
        self.findings = Findings(game)
        self.plain: PlainCaller  # made once the rules are known to be callable
        self.rng = np.random.default_rng(np.random.SeedSequence([seed]))
        self.by_key: dict[bytes, Look] = {}
        self.by_content: dict[bytes, Look] = {}
        self.steps: list[tuple[Look, Look]] = []  # consecutive looks, for the checks of both sides' views
        self.terminals: list[Look] = []
        self.lengths: list[int] = []
        self.movers: set[int] = set()
        self.by_planes: dict[bytes, np.ndarray] = {}  # legal masks
        self.cells = Cells()
        self.warnings: set[str] = set()  # mistakes in most games, but right in some

    def run(self) -> Findings:
        """Check everything and return the findings."""
        self.check_decorators()
        if not self.findings:
            self.plain = PlainCaller(self.game, self.findings)
            self.check_record()
        if not self.findings:
            for number in range(self.games):
                with suppress(RuleBroke):
                    self.check_one_game()
                    if number % 10 == 9:
                        self.check_positions(*self.play_random(avoid_end=True))
                if self.is_late():
                    break
            if self.movers and self.movers != {0, 1} and max(self.lengths, default=0) > 1:
                text = f"to_play is never {1 - min(self.movers)} in any game"
                self.findings.add("signatures: to_play", text)
            self.check_views()
            if text := self.cells.fault():
                self.findings.add(SHOWN, text, *(self.cells.shown or ()))
            if not self.findings:  # else another law says better what is wrong
                for look, _ in self.steps[:TEXTS]:
                    self.check_text(look)
        return self.findings

    def is_late(self, part: float = 1.0) -> bool:
        """Return whether this part of the time is over."""
        return time.monotonic() > self.started + part * self.seconds

    def check_decorators(self) -> None:
        """Check that every rule is compiled with its own signature, and that one says what is legal."""
        if self.game.rules.legal_mask is interface.no_legal_mask and not self.game.lists_moves:
            self.findings.add("signatures", "the rules have neither legal_mask nor legal_actions; write one")
        for name, rule in self.game.rules._asdict().items():
            signature = interface.signature_of(name)
            if not isinstance(rule, CFunc):
                text = f"{name} is not compiled; write @interface.rule(interface.{signature}) above it"
                self.findings.add("signatures", text)
            elif typeof(rule) != types.FunctionType(getattr(interface, signature)):
                text = f"{name} is compiled with the wrong signature; it needs interface.{signature}"
                self.findings.add("signatures", text)

    def check_record(self) -> None:
        """Check the symmetries and the names of actions in the `Game` record."""
        game, law = self.game, "law 5: symmetries"
        for name, size in (("action", game.num_actions), ("cell", math.prod(game.planes_shape[1:]))):
            table, identity = getattr(game, f"{name}_symmetries"), np.arange(size)
            if table.ndim != 2 or table.shape[1] != size or (np.sort(table, axis=1) != identity).any():
                text = f"each row of {name}_symmetries must be a permutation of 0 .. {size - 1}"
                self.findings.add(law, text)
            elif not np.array_equal(table[0], identity):
                self.findings.add(law, f"row 0 of {name}_symmetries must be the identity")
        if len(game.action_symmetries) != len(game.cell_symmetries):
            text = "action_symmetries and cell_symmetries must have the same number of rows"
            self.findings.add(law, text)
        if game.board:
            for text in board_faults(game.board):
                self.findings.add(SHOWN, text)
        if game.fixed_names:
            self.check_names(np.zeros(game.state_words, np.uint64), range(game.num_actions))

    def check_names(self, state: np.ndarray, actions: Iterable[int]) -> None:
        """Check that some actions in a state have names of their own that can be typed."""
        game, law, numbers = self.game, "names of actions", dict[str, int]()
        for action in actions:
            given = f"{action}" if game.fixed_names else f"state, {action}"
            try:
                name = game.action_name(state.copy(), action)
            except Exception as error:
                self.findings.add(law, f"action_name({given}) raised {last_line(error)}")
                return
            if not isinstance(name, str) or not name:
                self.findings.add(law, f"action_name({given}) returns no text")
                return
            if name != name.strip().lower():
                text = (
                    f"parse_action cannot read action_name({given}), {name!r}: capitals, or spaces around it"
                )
                self.findings.add(law, text)
                return
            if numbers.setdefault(name, action) != action:
                text = f"actions {numbers[name]} and {action} have the same name, {name!r}"
                self.findings.add(law, text)

    def check_text(self, look: Look) -> None:
        """Check that the line of a position leads back to it, if the game can begin at any position."""
        game, law, state = self.game, "positions as text", look.state
        if look.terminal or not game.reads_positions:
            return
        try:
            line = game.text(state.copy())
            again = game.position(line)
        except UserError as refusal:
            self.findings.add(law, f"position(text(state)) is refused: {str(refusal).rstrip('.')}", state)
            return
        except Exception as error:
            self.findings.add(law, f"text or position raised {last_line(error)}", state)
            return
        if game.text(again) != line or game.to_play(again) != game.to_play(state):
            self.findings.add(law, "position(text(state)) is another position", state)

    def check_one_game(self) -> None:
        """Play a random game and check it; keep it for the checks of all games together."""
        looks, actions = self.play_random()
        self.lengths.append(len(actions))
        self.movers.update(look.to_play for look in looks[:-1])
        self.steps += pairwise(looks)
        self.terminals += [look for look in looks if look.terminal]
        self.check_positions(looks, actions)
        self.check_shown(looks, actions)

    def check_shown(self, looks: list[Look], actions: list[int]) -> None:
        """Call what shows positions to people: all of the first games, and the last two of later ones."""
        first = 0 if len(self.lengths) <= SHOWN_GAMES else max(0, len(looks) - 2)
        stride = max(1, self.game.num_actions // SHOWN_ACTIONS)
        for ply, look in enumerate(looks[first:], first):
            asked = range(ply % stride, self.game.num_actions, stride)
            for name, check in state_faults(self.game, look.state, [*actions[ply : ply + 1], *asked]):
                try:
                    text = check()
                except Exception as error:
                    text = f"{name} raised {last_line(error)}"
                if text:
                    self.findings.add(SHOWN, text, look.state, moves=actions[:ply])
            if self.findings or self.is_late(0.5):
                return
            if self.game.board and ply > first:
                self.cells.add(self.game.board, looks[ply - 1].state, actions[ply - 1], look.state)

    def check_positions(self, looks: list[Look], actions: list[int]) -> None:
        """Check the positions of a game one by one, mirrored by a random symmetry, and compiled."""
        for look in looks:
            self.check_key(look)
            if look.mask is not None and not self.game.fixed_names:
                self.check_names(look.state, np.flatnonzero(look.mask).tolist())
        self.check_symmetry(looks, actions)
        self.check_compiled(looks)

    def play_random(self, avoid_end: bool = False) -> tuple[list[Look], list[int]]:
        """Play one game with the plain rules, until it ends or breaks a law; return (looks, actions).

        avoid_end: whether to make moves that do not end the game, to reach full boards and `max_plies`.
        """
        look = self.plain.look(self.plain.initial(), 0)
        self.check_state(look, [])
        if look.to_play != 0:
            text = f"to_play of the initial state is {look.to_play}; it must be 0"
            self.findings.add("signatures: to_play", text, look.state)
        looks, actions = [look], list[int]()
        while look.mask is not None and self.can_go_on(look, actions) and not self.is_late():
            allowed = self.not_repeating(looks)
            if not allowed:
                law = "law 2: an unfinished game has a legal action"
                text = "every legal action repeats an earlier position of the game"
                self.findings.add(law, text, look.state, moves=actions)
                break
            action = int(self.rng.choice(allowed))
            while avoid_end and len(allowed) > 1 and self.ends(look, action):
                allowed.remove(action)
                action = int(self.rng.choice(allowed))
            actions.append(action)
            look = self.plain.look(self.plain.step(look.state, actions[-1]), len(actions))
            self.check_state(look, actions, looks[-1])
            looks.append(look)
        return looks, actions

    def ends(self, look: Look, action: int) -> bool:
        """Return whether a move ends the game."""
        return bool(self.plain.call("is_terminal", self.plain.step(look.state, action)))

    def not_repeating(self, looks: list[Look]) -> list[int]:
        """Return the legal actions of the last position that repeat no earlier repetition key."""
        here = looks[-1]
        assert here.mask is not None
        actions = [int(action) for action in np.flatnonzero(here.mask)]
        if not self.game.repetition_words:
            return actions
        earlier = {look.repetition.tobytes() for look in looks} - {here.repetition.tobytes()}
        words, rules = np.zeros(self.game.repetition_words, np.uint64), self.plain.rules
        allowed = []
        for action in actions:
            rules.repetition_key(self.plain.step(here.state, action), words)
            if words.tobytes() not in earlier:
                allowed.append(action)
        return allowed

    def can_go_on(self, look: Look, actions: list[int]) -> bool:
        """Return whether an unfinished game can go on; note it if not."""
        if look.mask is None or not look.mask.any():
            text = "the legal mask is empty although the game is not over"
            self.findings.add("law 2: an unfinished game has a legal action", text, look.state, moves=actions)
        elif len(actions) >= self.game.max_plies:
            text = f"the game is not over after max_plies = {self.game.max_plies} plies"
            self.findings.add("law 6: every game ends within max_plies", text, look.state, moves=actions)
        else:
            return True
        return False

    def check_state(self, look: Look, actions: list[int], before: Look | None = None) -> None:
        """Check one state on its own, and that `plies_left` has fallen since the one before."""
        faults = []
        if look.to_play not in (0, 1):
            faults.append(("signatures: to_play", f"to_play is {look.to_play}; it must be 0 or 1"))
        if look.terminal and not -1.0 <= look.outcome <= 1.0:  # true for nan
            text = f"outcome is {look.outcome}; it must be between -1 and 1"
            faults.append(("law 3: an outcome lies in [-1, 1]", text))
        if not np.isfinite(look.planes).all():
            faults.append(("law 4: planes", "planes contains inf or nan"))
        if look.terminal and not actions:
            law = "law 2: an unfinished game has a legal action"
            faults.append((law, "the game is over before the first move"))
        bound = before.plies_left if before else UNBOUNDED
        if look.plies_left < 0 or (bound != UNBOUNDED and look.plies_left >= bound):
            text = "plies_left is negative, or has not fallen since the ply before"
            faults.append(("law 8: plies_left bounds the plies until the end", text))
        for law, text in faults:
            self.findings.add(law, text, look.state, moves=actions)

    def check_key(self, look: Look) -> None:
        """Compare a state with earlier ones that have the same key, or the same planes and mask."""
        if look.mask is None or look.key is None:
            return
        if not np.array_equal(self.by_planes.setdefault(look.planes.tobytes(), look.mask), look.mask):
            self.warnings.add("the network cannot tell two states apart: equal planes, different legal masks")
        content = look.planes.tobytes() + look.mask.tobytes()
        known = self.by_key.setdefault(look.key.tobytes(), look)
        if known.mask is not None and known.planes.tobytes() + known.mask.tobytes() != content:
            what = "planes" if not np.array_equal(known.planes, look.planes) else "legal masks"
            law = "law 4: evaluation_key holds everything that planes and legal_mask depend on"
            text = f"evaluation_key is equal for two states with different {what}"
            self.findings.add(law, text, known.state, look.state)
        same = self.by_content.setdefault(content, look)
        if same.key is not None and not np.array_equal(same.key, look.key):
            text = "evaluation_key differs for two states with equal planes and legal mask"
            self.findings.add("law 4: evaluation_key holds nothing more", text, same.state, look.state)

    def check_symmetry(self, looks: list[Look], actions: list[int]) -> None:
        """Play the game as a random symmetry maps it and compare every position."""
        if len(self.game.action_symmetries) < 2:
            return
        which = int(self.rng.integers(1, len(self.game.action_symmetries)))
        action_map, cell_map = self.game.action_symmetries[which], self.game.cell_symmetries[which]
        mapped = self.plain.look(self.plain.initial(), 0)
        for ply, look in enumerate(looks):
            fault = symmetry_fault(look, mapped, action_map, cell_map)
            if fault:
                law = "law 5: a symmetry maps games to games"
                self.findings.add(law, fault, look.state, mapped.state, moves=actions[:ply])
            if fault or self.is_late(0.5):  # the rest of the time is for more games
                return
            if ply < len(actions):
                after = self.plain.step(mapped.state, int(action_map[actions[ply]]))
                mapped = self.plain.look(after, ply + 1)

    def check_compiled(self, looks: list[Look]) -> None:
        """Compare compiled and plain rules on the states of a game and many of their successors."""
        if self.plain.broke:
            return  # compiled, a rule that raises could write anywhere in memory
        state = np.full(self.game.state_words, 0xDEADBEEFDEADBEEF, np.uint64)
        initial_compiled(self.game.rule_addresses, state)
        if not np.array_equal(state, looks[0].state):
            self.differs("initial", looks[0].state)
        for look in looks:
            for rule, compiled, plain in self.both_answers(look):
                if not np.array_equal(compiled, plain):
                    self.differs(rule, look.state)
            if self.is_late(0.5):
                return

    def both_answers(self, look: Look) -> Iterator[tuple[str, Any, Any]]:
        """Yield (rule, compiled result, plain result) of a state."""
        game, addresses, given = self.game, self.game.rule_addresses, look.state.copy()
        mask, key = np.zeros(game.num_actions, np.bool_), np.zeros(game.key_words, np.uint64)
        planes, listed = np.zeros(game.planes_shape, np.float32), np.zeros(game.num_actions, np.int32)
        to_play, terminal, outcome, count = look_compiled(addresses, given, mask, listed, planes, key)
        yield "to_play", to_play, look.to_play
        yield "is_terminal", terminal, look.terminal
        yield "outcome", outcome, look.outcome
        yield "plies_left", plies_left_compiled(addresses, given), look.plies_left
        repetition = np.zeros(game.repetition_words, np.uint64)
        repetition_compiled(addresses, given, repetition)
        yield "repetition_key", repetition, look.repetition
        yield "planes", planes, look.planes
        if look.mask is not None:
            actions = np.flatnonzero(look.mask)
            if game.lists_moves:
                yield "legal_actions", listed[: max(0, count)], actions
            if game.rules.legal_mask is not interface.no_legal_mask:
                yield "legal_mask", mask, look.mask
            yield "evaluation_key", key, look.key
            for action in self.rng.permutation(actions)[:SUCCESSORS].tolist():
                successor = np.full(game.state_words, 0xDEADBEEFDEADBEEF, np.uint64)
                step_compiled(addresses, given, action, successor)
                yield "step", successor, self.plain.step(look.state, action)
        yield "the state they read", given, look.state

    def differs(self, rule: str, state: np.ndarray) -> None:
        """Note that a compiled rule and its plain twin differ."""
        text = f"compiled and plain Python results differ: {rule}"
        self.findings.add("compiled and plain rules are the same", text, state)

    def check_views(self) -> None:
        """Check planes and outcomes of one side against those of the other."""
        turn = find_turn(self.steps)
        if fault := turn_fault(self.steps, turn):
            self.findings.add("law 4: planes show the view of the player to move", fault.text, *fault.states)
        elif self.terminals and not any(look.outcome for look in self.terminals):
            self.warnings.add("every game is a draw")
        elif turn and self.terminals:
            for fault in outcome_faults(self.plain_look, self.steps, self.terminals, turn):
                if fault.certain:
                    law = "law 3: outcome is the value for the player to move"
                    self.findings.add(law, fault.text, *fault.states)
                else:
                    self.warnings.add(fault.text)

    def plain_look(self, state: np.ndarray) -> Look | None:
        """Call the plain rules on a state that play may never reach; return None if one raises."""
        rules, game = self.plain.rules, self.game
        planes, mask = np.zeros(game.planes_shape, np.float32), np.zeros(game.num_actions, np.bool_)
        actions = np.zeros(game.num_actions, np.int32)
        try:
            with np.errstate(all="ignore"):
                rules.planes(state.copy(), planes)
                if game.lists_moves:
                    mask[actions[: rules.legal_actions(state.copy(), actions)]] = True
                else:
                    rules.legal_mask(state.copy(), mask)
                over = bool(rules.is_terminal(state.copy()))
                outcome = float(rules.outcome(state.copy())) if over else 0.0
                to_play = int(rules.to_play(state.copy()))
        except Exception:
            return None
        return Look(state, 0, to_play, over, outcome, planes, mask, None, np.zeros(0, np.uint64))


def symmetry_fault(look: Look, mapped: Look, action_map: np.ndarray, cell_map: np.ndarray) -> str:
    """Return how ``mapped`` differs from the mirror image of ``look``; empty if it does not."""
    if look.to_play != mapped.to_play:
        return "to_play differs between a game and its mirror image"
    if look.terminal != mapped.terminal or look.outcome != mapped.outcome:
        return "is_terminal or outcome differs between a game and its mirror image"
    mask, image = look.mask, mapped.mask
    if mask is not None and image is not None and not np.array_equal(image[action_map], mask):
        return "the legal mask of a mirrored game is not the mirrored legal mask"
    cells = look.planes.reshape(len(look.planes), -1)
    if not np.array_equal(mapped.planes.reshape(cells.shape)[:, cell_map], cells):
        return "the planes of a mirrored game are not the mirrored planes"
    return ""


def check_game(game: Game, games: int = 200, seed: int = 1) -> GameCheck:
    """Check a game in random games; ``findings`` of the result is empty if it keeps the laws."""
    check = GameCheck(game, games, seed)
    check.run()
    return check


def quick_check(game: Game, seconds: float = QUICK_SECONDS) -> GameCheck:
    """Check a game for about ``seconds``."""
    check = GameCheck(game, games=200, seed=1, seconds=seconds)
    check.run()
    return check


def check_own_game(game: Game, name: str, options: Mapping[str, Any]) -> list[str]:
    """Check a game of the user's own file, or of an installed package, quickly; return the warnings.

    With other names do nothing.

    Raises:
        BrokenGame: the first finding.
    """
    if name in SHIPPED or name.startswith(OPENSPIEL):
        return []
    check = quick_check(game)
    words = shlex.join([f"game={name}", *option_words(options, "")])
    for fault in check.findings.first:
        raise BrokenGame(f"The rules of {name} are broken: {fault}; azero check_game {words} shows where.")
    return [f"Warning: {text} (azero check_game {words})." for text in sorted(check.warnings)]
