"""Does a game keep the laws of `games/game.py`?

`python -m azero.check_game NAME|path.py|openspiel:NAME [games=N] [seed=N] [option=value ...]`

Letters: A actions, C H W planes, S state words, K key words, R repetition words.

Random games are played with the rules as plain Python, which stops at a wrong index or a wrong type, then looked at once more
with the compiled rules. A finding names the law, says what happened and shows the board. Exit status 1 with findings, 0 without.
"""

from __future__ import annotations

import argparse
import math
import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numba import njit, typeof, types
from numba.core.ccallback import CFunc

from azero.command_line import WRONG_INPUT
from azero.config import UserError
from azero.games import game as interface
from azero.games.game import Game, Rules, rules_at
from azero.games.views import Terminal, Turn, draw_fault, find_turn, turn_fault
from azero.words import load_game, parse_words, whole_number

SUCCESSORS = 16  # of one state, compared between compiled and plain rules
# rule: the name of its signature in games/game.py
SIGNATURES = {
    "initial": "INITIAL",
    "step": "STEP",
    "legal_mask": "LEGAL_MASK",
    "is_terminal": "IS_TERMINAL",
    "outcome": "OUTCOME",
    "to_play": "TO_PLAY",
    "planes": "WRITE_PLANES",
    "evaluation_key": "EVALUATION_KEY",
    "repetition_key": "REPETITION_KEY",
}


class RuleBroke(Exception):
    """A rule raised; the finding is noted, and this game cannot go on."""


class Look(NamedTuple):
    """Everything the rules say of one state. Mask, planes and key are None at the end of a game, where nobody reads them."""

    state: np.ndarray  # [S] uint64
    ply: int
    to_play: int
    terminal: bool
    outcome: float  # for to_play; 0 unless terminal
    mask: np.ndarray | None  # [A] bool
    planes: np.ndarray  # [C, H, W] float32
    key: np.ndarray | None  # [K] uint64
    repetition: np.ndarray  # [R] uint64


class Finding(NamedTuple):
    """One kind of fault, shown where it happened first."""

    law: str
    text: str
    board: str


class Findings:
    """What was found: the first case of each kind, and how many there were."""

    def __init__(self, game: Game) -> None:
        self.game = game
        self.first: dict[str, Finding] = {}
        self.times: dict[str, int] = {}

    def add(self, law: str, text: str, *states: np.ndarray, moves: Sequence[int] | None = None) -> None:
        """Note a fault with the boards that show it; faults of equal text are one kind."""
        self.times[text] = self.times.get(text, 0) + 1
        if text not in self.first:
            boards = [self.board(state) for state in states]
            if moves is not None:
                boards.append("after the moves: " + (" ".join(map(self.action_name, moves)) or "none"))
            self.first[text] = Finding(law, text, "\n\n".join(boards))

    def board(self, state: np.ndarray) -> str:
        """Return a state as text: its words where the game cannot say it."""
        words = "state words: " + " ".join(f"{int(word):#x}" for word in state)
        try:
            return f"{self.game.format_state(state.copy())}\n{words}"
        except Exception:
            return words

    def action_name(self, action: int) -> str:
        """Return an action as people write it: its number where the game cannot say it."""
        try:
            return self.game.action_name(action)
        except Exception:
            return str(action)

    def __bool__(self) -> bool:
        """Tell whether there is any finding."""
        return bool(self.first)


# Calling the rules


class PlainCaller:
    """The rules as plain Python, each called twice: what one call leaves unwritten, or what varies, shows in the other."""

    def __init__(self, game: Game, findings: Findings) -> None:
        self.game, self.findings = game, findings
        self.broke = False  # a rule raised
        self.rules: Rules = game.rules.plain()

    def call(self, rule: str, state: np.ndarray | None, arguments: tuple[Any, ...], out: np.ndarray | None) -> Any:
        """Call a rule on a copy of ``state``, and note when it raises or writes to the state it reads.

        Raises:
            RuleBroke: it raised.
        """
        given = [] if state is None else [state.copy()]
        try:
            with np.errstate(all="ignore"):
                result = getattr(self.rules, rule)(*given, *arguments, *([] if out is None else [out]))
        except Exception as error:
            shown = [] if state is None else [state]
            self.findings.add("law 7: rules never raise", f"{rule} raised in plain Python: {last_line(error)}", *shown)
            self.broke = True
            raise RuleBroke from error
        if state is not None and not np.array_equal(given[0], state):
            self.findings.add("law 1: a rule never writes to the state it reads", f"{rule} changed the state it was given", state)
        return result

    def value(self, rule: str, state: np.ndarray) -> Any:
        """Return the answer of is_terminal, outcome or to_play."""
        return self.call(rule, state, (), None)

    def written(
        self, rule: str, state: np.ndarray | None, empty: Callable[[], tuple[np.ndarray, np.ndarray]], *arguments: Any
    ) -> Any:
        """Return what a rule writes into an array, tried with two different contents before."""
        first, second = empty()
        self.call(rule, state, arguments, first)
        self.call(rule, state, arguments, second)
        if first.tobytes() != second.tobytes():
            shown = [] if state is None else [state]
            self.findings.add(
                "law 4 and the signatures: every element is written",
                f"{rule} leaves elements as they were (or is not the same twice)",
                *shown,
            )
        return second

    def words(self, count: int) -> Callable[[], tuple[np.ndarray, np.ndarray]]:
        """Return two arrays of words with different contents."""
        return lambda: (np.full(count, 0xDEADBEEFDEADBEEF, np.uint64), np.zeros(count, np.uint64))

    def initial(self) -> np.ndarray:
        """Return the initial state."""
        return np.asarray(self.written("initial", None, self.words(self.game.state_words)))

    def step(self, state: np.ndarray, action: int) -> np.ndarray:
        """Return the successor."""
        return np.asarray(self.written("step", state, self.words(self.game.state_words), action))

    def look(self, state: np.ndarray, ply: int) -> Look:
        """Ask every rule about a state."""
        game = self.game
        terminal = bool(self.value("is_terminal", state))
        planes = self.written(
            "planes", state, lambda: (np.full(game.planes_shape, 77.0, np.float32), np.zeros(game.planes_shape, np.float32))
        )
        mask = key = None
        if not terminal:
            mask = self.written(
                "legal_mask", state, lambda: (np.ones(game.num_actions, np.bool_), np.zeros(game.num_actions, np.bool_))
            )
            key = self.written("evaluation_key", state, self.words(game.key_words))
        outcome = float(self.value("outcome", state)) if terminal else 0.0
        repetition = self.written("repetition_key", state, self.words(game.repetition_words))
        return Look(state, ply, int(self.value("to_play", state)), terminal, outcome, mask, planes, key, repetition)


@njit(cache=True, nogil=True)
def look_compiled(
    addresses: np.ndarray, state: np.ndarray, mask: np.ndarray, planes: np.ndarray, key: np.ndarray
) -> tuple[int, bool, float]:
    """Ask every compiled rule about a state; write mask, planes and key; return to_play, is_terminal and outcome."""
    rules = rules_at(addresses)
    terminal = rules.is_terminal(state)
    rules.planes(state, planes)
    if not terminal:
        rules.legal_mask(state, mask)
        rules.evaluation_key(state, key)
    return rules.to_play(state), terminal, rules.outcome(state) if terminal else 0.0


@njit(cache=True, nogil=True)
def repetition_compiled(addresses: np.ndarray, state: np.ndarray, key: np.ndarray) -> None:
    """Write the repetition key."""
    rules_at(addresses).repetition_key(state, key)


@njit(cache=True, nogil=True)
def initial_compiled(addresses: np.ndarray, state: np.ndarray) -> None:
    """Write the initial state."""
    rules_at(addresses).initial(state)


@njit(cache=True, nogil=True)
def step_compiled(addresses: np.ndarray, state: np.ndarray, action: int, successor: np.ndarray) -> None:
    """Write the successor."""
    rules_at(addresses).step(state, action, successor)


def last_line(error: BaseException) -> str:
    """Return what an exception says and where it was raised."""
    frames = traceback.extract_tb(error.__traceback__)
    return f"{type(error).__name__}: {error} (line {frames[-1].lineno} of {frames[-1].name})"


# The checks


class GameCheck:
    """Random games under the eye of every law."""

    def __init__(self, game: Game, games: int, seed: int) -> None:
        self.game, self.games = game, games
        self.findings = Findings(game)
        self.plain: PlainCaller  # made when the rules are known to be callable
        self.rng = np.random.default_rng(np.random.SeedSequence([seed]))
        self.by_key: dict[bytes, Look] = {}
        self.by_content: dict[bytes, Look] = {}
        self.steps: list[tuple[Look, Look]] = []  # consecutive looks, for the checks of both sides' views
        self.terminals: list[Look] = []
        self.lengths: list[int] = []
        self.movers: set[int] = set()

    def run(self) -> Findings:
        """Check everything and return what was found."""
        self.check_decorators()
        if not self.findings:
            self.plain = PlainCaller(self.game, self.findings)
            self.check_record()
        if not self.findings:
            for _ in range(self.games):
                try:
                    self.check_one_game()
                except RuleBroke:
                    continue
            self.check_movers()
            self.check_views()
        return self.findings

    def check_decorators(self) -> None:
        """Check that every rule is a cfunc of its own signature."""
        for name, signature in SIGNATURES.items():
            rule = getattr(self.game.rules, name)
            if not isinstance(rule, CFunc):
                self.findings.add("signatures", f"{name} is not compiled; write @interface.rule(interface.{signature}) above it")
            elif typeof(rule) != types.FunctionType(getattr(interface, signature)):
                self.findings.add("signatures", f"{name} is compiled with another signature than interface.{signature}")

    def check_record(self) -> None:
        """Check what the `Game` record says: symmetries, names."""
        game, add = self.game, self.findings.add
        _, height, width = game.planes_shape
        for name, table, size in (
            ("action_symmetries", game.action_symmetries, game.num_actions),
            ("cell_symmetries", game.cell_symmetries, height * width),
        ):
            if (
                table.ndim != 2
                or table.shape[1] != size
                or not np.array_equal(np.sort(table, axis=1), np.tile(np.arange(size), (len(table), 1)))
            ):
                add("law 5: symmetries", f"{name} must have {size} columns and each row must be a permutation of them")
            elif not np.array_equal(table[0], np.arange(size)):
                add("law 5: symmetries", f"row 0 of {name} is not the identity")
        if len(game.action_symmetries) != len(game.cell_symmetries):
            add("law 5: symmetries", "action_symmetries and cell_symmetries have different numbers of rows")
        for action in range(game.num_actions):
            try:
                understood = game.parse_action(game.action_name(action))
            except Exception as error:
                add("names of actions", f"action_name({action}) cannot be read back: {last_line(error)}")
                return
            if understood != action:
                add("names of actions", f"actions {understood} and {action} are both written {game.action_name(action)!r}")

    def check_one_game(self) -> None:
        """Play a random game, mapped by a random symmetry beside it, and look at all of it compiled."""
        looks, actions = self.play_random()
        self.lengths.append(len(actions))
        self.movers.update(look.to_play for look in looks[:-1])
        self.steps += pairwise(looks)
        self.terminals += [look for look in looks if look.terminal]
        for look in looks:
            self.check_key(look)
        self.check_symmetry(looks, actions)
        self.check_compiled(looks)

    def play_random(self) -> tuple[list[Look], list[int]]:
        """Play one game with the plain rules; the list ends early where a law is broken."""
        look = self.plain.look(self.plain.initial(), 0)
        self.check_state(look, [])
        if look.to_play != 0:
            self.findings.add("signatures: to_play", f"to_play of the initial state is {look.to_play}, not 0", look.state)
        looks, actions = [look], list[int]()
        while look.mask is not None and self.can_go_on(look, actions):
            allowed = self.not_repeating(looks)
            if not allowed:
                text = "every legal action would repeat an earlier position of the game"
                self.findings.add("law 2: an unfinished game has a legal action", text, look.state, moves=actions)
                break
            actions.append(int(self.rng.choice(allowed)))
            look = self.plain.look(self.plain.step(look.state, actions[-1]), len(actions))
            self.check_state(look, actions)
            looks.append(look)
        return looks, actions

    def not_repeating(self, looks: list[Look]) -> list[int]:
        """Return the legal actions of the last position that bring back no repetition key of an earlier one."""
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
        """Tell whether an unfinished game can go on, as it must."""
        if look.mask is None or not look.mask.any():
            text = "the legal mask is empty before the end"
            self.findings.add("law 2: an unfinished game has a legal action", text, look.state, moves=actions)
        elif len(actions) >= self.game.max_plies:
            text = f"the game is not over after max_plies = {self.game.max_plies} plies"
            self.findings.add("law 6: every game ends within max_plies", text, look.state, moves=actions)
        else:
            return True
        return False

    def check_state(self, look: Look, actions: list[int]) -> None:
        """Check one state by itself."""
        add = self.findings.add
        if look.to_play not in (0, 1):
            add("signatures: to_play", f"to_play is {look.to_play}, neither 0 nor 1", look.state, moves=actions)
        if look.terminal and not (math.isfinite(look.outcome) and -1.0 <= look.outcome <= 1.0):
            add("law 3: an outcome lies in [-1, 1]", f"outcome is {look.outcome}", look.state, moves=actions)
        if not np.isfinite(look.planes).all():
            add("law 4: planes", "planes holds a number that is not finite", look.state, moves=actions)
        if look.terminal and not actions:
            add("law 2: an unfinished game has a legal action", "the game is over before the first move", look.state)

    def check_key(self, look: Look) -> None:
        """Compare with every state seen before that has the same key, or the same planes and mask."""
        if look.mask is None or look.key is None:
            return
        content = look.planes.tobytes() + look.mask.tobytes()
        known = self.by_key.setdefault(look.key.tobytes(), look)
        if known.mask is not None and known.planes.tobytes() + known.mask.tobytes() != content:
            what = "planes" if not np.array_equal(known.planes, look.planes) else "legal masks"
            self.findings.add(
                "law 4: the key holds what planes and mask read",
                f"evaluation_key is equal for two states with different {what}",
                known.state,
                look.state,
            )
        same = self.by_content.setdefault(content, look)
        if same.key is not None and not np.array_equal(same.key, look.key):
            self.findings.add(
                "law 4: the key holds nothing more",
                "evaluation_key differs for two states with equal planes and legal mask",
                same.state,
                look.state,
            )

    def check_symmetry(self, looks: list[Look], actions: list[int]) -> None:
        """Play the game as a random symmetry maps it; everything must be the mapped thing."""
        if len(self.game.action_symmetries) < 2:
            return
        which = int(self.rng.integers(1, len(self.game.action_symmetries)))
        action_map, cell_map = self.game.action_symmetries[which], self.game.cell_symmetries[which]
        mapped = self.plain.look(self.plain.initial(), 0)
        for ply, look in enumerate(looks):
            fault = symmetry_fault(look, mapped, action_map, cell_map)
            if fault:
                self.findings.add("law 5: a symmetry maps games to games", fault, look.state, mapped.state, moves=actions[:ply])
                return
            if ply < len(actions):
                mapped = self.plain.look(self.plain.step(mapped.state, int(action_map[actions[ply]])), ply + 1)

    def check_compiled(self, looks: list[Look]) -> None:
        """Compare the compiled rules with the plain ones over the states of a game and many of their successors."""
        if self.plain.broke:
            return  # what raises in plain Python could write anywhere once compiled
        state = np.full(self.game.state_words, 0xDEADBEEFDEADBEEF, np.uint64)
        initial_compiled(self.game.rule_addresses, state)
        if not np.array_equal(state, looks[0].state):
            self.differs("initial", looks[0].state)
        for look in looks:
            for rule, compiled, plain in self.both_answers(look):
                if not np.array_equal(compiled, plain):
                    self.differs(rule, look.state)

    def both_answers(self, look: Look) -> Iterator[tuple[str, Any, Any]]:
        """Yield for each rule what it says of a state compiled, and what it says in plain Python."""
        game, addresses, given = self.game, self.game.rule_addresses, look.state.copy()
        mask, key = np.zeros(game.num_actions, np.bool_), np.zeros(game.key_words, np.uint64)
        planes = np.zeros(game.planes_shape, np.float32)
        to_play, terminal, outcome = look_compiled(addresses, given, mask, planes, key)
        yield "to_play", to_play, look.to_play
        yield "is_terminal", terminal, look.terminal
        yield "outcome", outcome, look.outcome
        repetition = np.zeros(game.repetition_words, np.uint64)
        repetition_compiled(addresses, given, repetition)
        yield "repetition_key", repetition, look.repetition
        yield "planes", planes, look.planes
        if look.mask is not None:
            yield "legal_mask", mask, look.mask
            yield "evaluation_key", key, look.key
            actions = np.flatnonzero(look.mask)
            for action in self.rng.permutation(actions)[:SUCCESSORS].tolist():
                successor = np.full(game.state_words, 0xDEADBEEFDEADBEEF, np.uint64)
                step_compiled(addresses, given, action, successor)
                yield "step", successor, self.plain.step(look.state, action)
        yield "the state it was given, after every rule", given, look.state

    def differs(self, rule: str, state: np.ndarray) -> None:
        """Note that a compiled rule and its plain twin disagree."""
        self.findings.add(
            "the compiled rules and the plain ones are the same", f"compiled and in plain Python differ: {rule}", state
        )

    def check_movers(self) -> None:
        """Both sides must come to move in some game."""
        if self.movers and self.movers != {0, 1} and max(self.lengths, default=0) > 1:
            self.findings.add("signatures: to_play", f"player {1 - min(self.movers)} never moves, in any game")

    def check_views(self) -> None:
        """Compare the views of both sides: planes turn with the mover, and a final board is not lost, or won, for both."""
        turn = find_turn(self.steps)
        fault = turn_fault(self.steps, turn)
        if fault:
            self.findings.add("law 4: planes are meant for the player to move", fault.text, *fault.states)
        elif isinstance(turn, Turn):
            unfair = draw_fault(self.plain_terminal, self.steps, self.terminals, turn)
            if unfair:
                self.findings.add("law 3: outcome is the value for the player to move", unfair.text, *unfair.states)

    def plain_terminal(self, state: np.ndarray) -> Terminal | None:
        """Ask the plain rules about a state that play may never reach; None where they break on it."""
        rules = self.plain.rules
        try:
            with np.errstate(all="ignore"):
                planes, mask = np.zeros(self.game.planes_shape, np.float32), np.zeros(self.game.num_actions, np.bool_)
                rules.planes(state.copy(), planes)
                rules.legal_mask(state.copy(), mask)
                over = bool(rules.is_terminal(state.copy()))
                outcome = float(rules.outcome(state.copy())) if over else 0.0
                return Terminal(over, outcome, int(rules.to_play(state.copy())), planes, mask)
        except Exception:
            return None


def symmetry_fault(look: Look, mapped: Look, action_map: np.ndarray, cell_map: np.ndarray) -> str:
    """Return what of ``mapped`` is not the mapped thing of ``look``; empty when all is."""
    if look.to_play != mapped.to_play:
        return "to_play differs between a game and its mirror image"
    if look.terminal != mapped.terminal or look.outcome != mapped.outcome:
        return "the end or the outcome differs between a game and its mirror image"
    if look.mask is not None and mapped.mask is not None and not np.array_equal(mapped.mask[action_map], look.mask):
        return "the legal mask of the mirror image is not the mirror image of the legal mask"
    cells = look.planes.reshape(len(look.planes), -1)
    if not np.array_equal(mapped.planes.reshape(cells.shape)[:, cell_map], cells):
        return "the planes of the mirror image are not the mirror image of the planes"
    return ""


# The program


def summary(check: GameCheck) -> str:
    """Return how the games went, for a person who knows the game to judge."""
    if not check.terminals:
        return "No game came to an end."
    firsts = np.array([look.outcome if look.to_play == 0 else -look.outcome for look in check.terminals])
    count = len(firsts)
    shares = [(firsts > 0).sum() / count, (firsts == 0).sum() / count, (firsts < 0).sum() / count]
    lengths = [length for length in check.lengths if length]
    return (
        f"{count} random games: first player wins {shares[0]:.1%}, draws {shares[1]:.1%}, second player wins {shares[2]:.1%}; "
        f"{min(lengths, default=0)} to {max(lengths, default=0)} plies (max_plies {check.game.max_plies}); "
        f"{len(check.by_content)} positions."
    )


def report(check: GameCheck) -> str:
    """Return everything as text."""
    lines = [f"{check.game.name}: {summary(check)}"]
    for number, finding in enumerate(check.findings.first.values(), 1):
        times = check.findings.times[finding.text]
        lines += ["", f"{number}. {finding.text}" + (f" ({times} times)" if times > 1 else ""), f"   {finding.law}"]
        lines += [f"     {line}".rstrip() for line in finding.board.splitlines()]
    found = len(check.findings.first)
    lines += ["", "Nothing wrong found." if not found else f"{found} finding{'s' if found > 1 else ''}."]
    return "\n".join(lines)


def check_game(game: Game, games: int = 200, seed: int = 1) -> GameCheck:
    """Check a game; ``findings`` of the result is empty when it keeps the laws."""
    check = GameCheck(game, games, seed)
    check.run()
    return check


def main(arguments: Sequence[str] | None = None) -> int:
    """Check the game that the command line names and print what was found; return the exit status."""
    parser = argparse.ArgumentParser(
        prog="python -m azero.check_game", description="Check that a game keeps the laws of azero/games/game.py."
    )
    parser.add_argument("game", help="a shipped game, the path of a Python file of your own, or such as openspiel:hex")
    parser.add_argument("settings", nargs="*", metavar="key=value", help="games=200, seed=1, and options of the game")
    parsed = parser.parse_args(arguments)
    try:
        settings = parse_words(parsed.settings, "games=500, seed=2, or an option of the game")
        games, seed = whole_number(settings, "games", 200, 1), whole_number(settings, "seed", 1, 0)
        game = load_game(parsed.game, settings)
    except UserError as mistake:
        print(f"azero: {mistake}", file=sys.stderr)
        return WRONG_INPUT
    check = check_game(game, games, seed)
    print(report(check))
    return 1 if check.findings else 0


if __name__ == "__main__":
    sys.exit(main())
