"""Chess and its small forms beside other people's rules: random games compared at every ply, and counts."""

from __future__ import annotations

import random
import re
import shutil
import subprocess
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from playing import count_from
from referees import Comparison

from azero.games import make_game
from azero.games.chess import write_position
from azero.games.game import Game
from azero.games.kit.piece_moves import CHECKERS
from azero.games.kit.san import san
from azero.games.legal import make_legal

FAIRY = shutil.which("fairy-stockfish") or shutil.which("fairy-stockfish", path="/usr/games")
VARIANTS = {
    "standard": "chess",
    "gardner": "gardner",
    "losalamos": "losalamos",
}  # as Fairy-Stockfish names them
UNLIMITED = 9999  # plies; no referee ends a game for its length


class Referee(Protocol):
    """Somebody else's rules, at one position after the other."""

    def legal(self) -> set[str]: ...  # by cells, as e2e4

    def facts(self) -> dict[str, Any]: ...  # of OURS, some by name

    def push(self, name: str, written: str) -> None: ...  # a move by cells, and as SAN


# What is compared beside the legal moves: for a game and a state
OURS: dict[str, Callable[[Game, np.ndarray, str], Any]] = {
    "fen": lambda game, state, variant: write_position(state, variant),
    "fen without passing": lambda game, state, variant: without_passing(write_position(state, variant)),
    "check": lambda game, state, variant: bool(state[CHECKERS]),
    "over": lambda game, state, variant: game.is_terminal(state),
    "result": lambda game, state, variant: game.outcome(state) if game.is_terminal(state) else None,
    "written": lambda game, state, variant: written_moves(game, state),
}


def without_passing(fen: str) -> str:
    """Leave out the cell of taking in passing: some write it after each long step of a pawn."""
    fields = fen.split()
    return " ".join([*fields[:3], *fields[4:]])


def written_moves(game: Game, state: np.ndarray) -> set[str]:
    """The legal moves as SAN, without signs of check."""
    if game.is_terminal(state):
        return set()
    return {san(game, state, action).rstrip("+#") for action in game.legal_actions(state)}


class PythonChess:
    """python-chess: moves, FEN, check and every end of standard chess."""

    def __init__(self, variant: str, written: bool = False) -> None:
        """written: compare SAN too, which is slow."""
        import chess

        assert variant == "standard"
        self.board, self.with_san = chess.Board(), written

    def legal(self) -> set[str]:
        return {move.uci() for move in self.board.legal_moves}

    def facts(self) -> dict[str, Any]:
        board = self.board
        mate = board.is_checkmate()
        draws = (board.is_stalemate, board.is_insufficient_material, lambda: board.is_repetition(3))
        over = mate or board.halfmove_clock >= 100 or any(draw() for draw in draws)
        found = {"fen": board.fen(), "check": board.is_check(), "over": over}
        if self.with_san and not over:
            found["written"] = {board.san(move).rstrip("+#") for move in board.legal_moves}
        return {**found, "result": (-1.0 if mate else 0.0) if over else None}

    def push(self, name: str, written: str) -> None:
        self.board.push_uci(name)


class Pyffish:
    """pyffish, Fairy-Stockfish's library: moves, FEN, check and every end of each form."""

    def __init__(self, variant: str) -> None:
        import pyffish

        self.library, self.variant = pyffish, VARIANTS[variant]
        self.fen = self.start = pyffish.start_fen(self.variant)
        self.since: list[str] = []  # moves since the position `start`, all reversible
        self.moves = set(pyffish.legal_moves(self.variant, self.fen, []))

    def legal(self) -> set[str]:
        return self.moves

    def facts(self) -> dict[str, Any]:
        library, variant = self.library, self.variant
        check = library.gives_check(variant, self.fen, [])
        # Asked only where the answer may be yes, because each question takes two milliseconds
        drawn = len(self.since) > 7 and library.is_optional_game_end(variant, self.start, self.since)[0]
        if "p" not in self.fen.split()[0].lower():
            drawn = drawn or all(library.has_insufficient_material(variant, self.fen, []))
        over = not self.moves or drawn
        result = (-1.0 if check and not self.moves else 0.0) if over else None
        fen = without_passing(self.fen)
        return {"fen without passing": fen, "check": check, "over": over, "result": result}

    def push(self, name: str, written: str) -> None:
        self.fen = self.library.get_fen(self.variant, self.fen, [name])
        self.moves = set(self.library.legal_moves(self.variant, self.fen, []))
        self.since.append(name)
        if self.fen.split()[4] == "0":
            self.start, self.since = self.fen, []


class OpenSpiel:
    """OpenSpiel's chess: moves as SAN, FEN and every end."""

    def __init__(self, variant: str) -> None:
        import pyspiel

        assert variant == "standard"
        self.state = pyspiel.load_game("chess").new_initial_state()

    def actions(self) -> dict[str, int]:
        """The legal actions by SAN."""
        actions = {} if self.state.is_terminal() else self.state.legal_actions()
        return {self.state.action_to_string(action).rstrip("+#"): action for action in actions}

    def legal(self) -> set[str]:
        return set()

    def facts(self) -> dict[str, Any]:
        over = self.state.is_terminal()
        fen = without_passing(str(self.state))
        mover = 0 if fen.split()[1] == "b" else 1  # OpenSpiel's player 0 has Black
        result = self.state.returns()[mover] if over else None
        return {"fen without passing": fen, "written": set(self.actions()), "over": over, "result": result}

    def push(self, name: str, written: str) -> None:
        self.state.apply_action(self.actions()[written])


def compare_chess(
    referee: Callable[[str], Referee],
    games: int,
    seed: int,
    variant: str = "standard",
    backwards: float = 0.0,
    plies: int = 1 << 62,
) -> Comparison:
    """Play random games on both sides; a game stops at its first difference.

    backwards: how often a side takes back its last move where it can, so that positions repeat.
    plies: no game begins after so many.
    """
    game, choose = make_game("chess", variant=variant, max_plies=UNLIMITED), random.Random(seed)
    result = Comparison()
    while result.games < games and result.plies < plies:
        state, theirs, names = game.initial_state(), referee(variant), ["", ""]
        while True:
            found = chess_difference(game, state, theirs, variant)
            if found:
                result.mismatches.append(
                    f"{found}\n{write_position(state, variant)}\n{game.format_state(state)}"
                )
            if found or game.is_terminal(state):
                break
            legal = {name_of(game, state, action): action for action in game.legal_actions(state)}
            back = names[-2][2:4] + names[-2][:2]
            name = back if back in legal and choose.random() < backwards else choose.choice([*legal])
            written = san(game, state, legal[name]).rstrip("+#") if referee is OpenSpiel else ""
            state = game.step(state, legal[name])
            theirs.push(name, written)
            names.append(name)
            result.plies += 1
        result.games += 1
    return result


def name_of(game: Game, state: np.ndarray, action: int) -> str:
    """The name of an action in a state."""
    return game.action_name(state, action)


def chess_difference(game: Game, state: np.ndarray, theirs: Referee, variant: str) -> str:
    """What a referee says otherwise of the same position; empty if nothing."""
    for name, fact in theirs.facts().items():
        ours = OURS[name](game, state, variant)
        if ours != fact:
            return f"{name}: {ours} and {fact}"
    if game.is_terminal(state) or isinstance(theirs, OpenSpiel):
        return ""
    legal, other = {name_of(game, state, action) for action in game.legal_actions(state)}, theirs.legal()
    return "" if legal == other else f"legal on one side only: {legal ^ other}"


def fairy_counts(variant: str, positions: list[str], plies: int) -> list[int]:
    """Sequences of `plies` moves from each position, as Fairy-Stockfish counts them."""
    assert FAIRY is not None
    lines = [f"setoption name UCI_Variant value {VARIANTS[variant]}"]
    for position in positions:
        lines += [f"position fen {position}", f"go perft {plies}"]
    asked = subprocess.run(
        [FAIRY],
        input="\n".join([*lines, "quit", ""]),
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    return [int(count) for count in re.findall(r"^Nodes searched: (\d+)", asked.stdout, re.MULTILINE)]


def count_moves(game: Game, state: np.ndarray, plies: int) -> list[int]:
    """Sequences of 1, 2, …, `plies` moves from a state."""
    states = np.zeros((plies + 1, game.state_words), np.uint64)
    states[0] = state
    lists = np.zeros((plies + 1, game.num_actions), np.int32)
    tried, lengths, counts, finished = np.zeros((4, plies + 1), np.int64)
    count_from(
        *(game.rule_addresses, states, lists, make_legal(game.num_actions), tried, lengths, counts, finished)
    )
    return counts[1:].tolist()


def random_positions(variant: str, count: int, seed: int, pieces: int = 8) -> list[str]:
    """Positions of random games as FEN, each with at least so many pieces and an unspent clock.

    Fairy-Stockfish counts moves after an end for want of material too, which eight pieces do not reach soon.
    """
    game, rng = make_game("chess", variant=variant), np.random.default_rng(seed)
    found: list[str] = []
    while len(found) < count:
        state = game.initial_state()
        for _ in range(int(rng.integers(1, 80))):
            if game.is_terminal(state):
                break
            state = game.step(state, int(rng.choice(game.legal_actions(state))))
        if not game.is_terminal(state) and int(state[:2].sum()).bit_count() >= pieces:
            board = write_position(state, variant).split()
            found.append(" ".join([*board[:4], "0", "1"]))
    return found
