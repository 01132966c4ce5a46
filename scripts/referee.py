"""Compare the rules with OpenSpiel and GNU Go in many random games, and with published counts.

    python scripts/referee.py  # everything, about half an hour
    python scripts/referee.py openspiel --games 1000
    python scripts/referee.py gnugo counts hex
    python scripts/referee.py chess  # a million plies beside python-chess, and 200,000 beside others

openspiel  legal moves, boards and results at every ply of random games, all games that OpenSpiel has too
gnugo      Go with positional superko: legal points and stones at every ply (apt-get install gnugo)
counts     sequences of moves by ply against published counts, deeper than in the tests
hex        winning first moves on 4 x 4 by search
chess      legal moves, FEN, check and results of chess and its small forms at every ply of random games,
           half of them with many repetitions, beside python-chess, pyffish and OpenSpiel; counts of
           moves beside Fairy-Stockfish (pip install chess pyffish, apt-get install fairy-stockfish)

The last line is `mismatches=N`; the exit status is 1 unless N is 0.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from chess_referees import (
    FAIRY,
    VARIANTS,
    OpenSpiel,
    Pyffish,
    PythonChess,
    compare_chess,
    count_moves,
    fairy_counts,
    random_positions,
)
from gnugo import PROGRAM, compare_with_gnugo
from playing import perft
from referees import (
    BREAKTHROUGH,
    OPENSPIEL,
    compare_breakthrough_with_openspiel,
    compare_go_with_openspiel,
    compare_with_openspiel,
)

from azero.classic.deepening import Searcher
from azero.cli.hydra_program import one_sentence
from azero.config.schema import UserError
from azero.games import make_game
from azero.games.chess import read_position

COUNTS: list[tuple[str, dict[str, int], list[int]]] = [
    (
        *("connect_four", {}),
        [1, 7, 49, 343, 2401, 16807, 117649, 823536, 5673234, 39394572, 268031646],
    ),
    ("othello", {}, [1, 4, 12, 56, 244, 1396, 8200, 55092, 390216, 3005288]),
    ("othello", {"size": 6}, [1, 4, 12, 56, 244, 1364, 7604, 47740, 308716, 2114912]),
    ("hex", {"size": 3}, [1, 9, 72, 504, 3024, 15120, 54720, 146880, 207360, 120960]),
]
WINNING_FIRST_MOVES_4X4 = 4
CHESS_PLIES_A_GAME = 1000  # `--games` 1000: a million plies


def against_openspiel(games: int, seed: int) -> Iterator[int]:
    """One line for each game; yields mismatches."""
    asked = [(name, compare_with_openspiel) for name in OPENSPIEL]
    asked += [(name, compare_breakthrough_with_openspiel) for name in BREAKTHROUGH]
    for name, compare in asked:
        begin = time.perf_counter()
        result = compare(name, games, seed)
        print_result(f"OpenSpiel {name}", result.games, result.plies, len(result.mismatches), begin)
        print("\n".join(result.mismatches[:1]), end="")
        yield len(result.mismatches)
    for size in (9, 5):
        begin = time.perf_counter()
        result = compare_go_with_openspiel(games, seed, size)
        print_result(
            f"OpenSpiel go {size}, simple ko", result.games, result.plies, len(result.mismatches), begin
        )
        print("\n".join(result.mismatches[:1]), end="")
        yield len(result.mismatches)


def against_gnugo(games: int, seed: int) -> Iterator[int]:
    """On small boards positions come back often."""
    for size in (9, 5, 3):
        begin = time.perf_counter()
        played, plies, mismatches = compare_with_gnugo(max(1, games // 10), seed, size=size)
        print_result(f"GNU Go, {size} x {size}, positional superko", played, plies, mismatches, begin)
        yield mismatches


def against_counts(_games: int, _seed: int) -> Iterator[int]:
    """Published counts."""
    for name, options, published in COUNTS:
        begin = time.perf_counter()
        counts, _ = perft(make_game(name, **options), len(published) - 1)
        wrong = sum(ours != theirs for ours, theirs in zip(counts, published, strict=True))
        print_result(
            f"counts to ply {len(published) - 1}, {name} {options or ''}", 0, sum(counts), wrong, begin
        )
        yield wrong


def against_solved_hex(_games: int, _seed: int) -> Iterator[int]:
    """Every first move on 4 x 4, searched to the end."""
    begin = time.perf_counter()
    game = make_game("hex", size=4)
    searcher = Searcher(game)
    values = [searcher.search(game.step(game.initial_state(), action)).value for action in range(16)]
    winning = [
        game.action_name(game.initial_state(), action) for action in range(16) if values[action] < 0
    ]  # for the second player, to move there
    print_result(
        f"Hex 4 x 4: first moves that win: {' '.join(winning)}",
        0,
        0,
        int(len(winning) != WINNING_FIRST_MOVES_4X4),
        begin,
    )
    yield int(len(winning) != WINNING_FIRST_MOVES_4X4)


def against_chess(games: int, seed: int) -> Iterator[int]:
    """Random games until there are enough plies, then counts of moves from random positions."""
    plies = CHESS_PLIES_A_GAME * games
    for referee, variant, share in (
        (PythonChess, "standard", 1.0),
        (OpenSpiel, "standard", 0.05),
        *((Pyffish, variant, 0.05) for variant in VARIANTS),
    ):
        for backwards in (0.0, 0.8):
            begin = time.perf_counter()
            result = compare_chess(referee, 1 << 62, seed, variant, backwards, int(share * plies / 2))
            what = f"{referee.__name__} {variant}" + ", moves back" * bool(backwards)
            print_result(what, result.games, result.plies, len(result.mismatches), begin)
            print("\n".join(result.mismatches[:1]), end="")
            yield len(result.mismatches)
    for variant in VARIANTS:
        begin, fens = time.perf_counter(), random_positions(variant, 200, seed)
        game = make_game("chess", variant=variant)
        ours = [count_moves(game, read_position(fen, variant), 4)[-1] for fen in fens]
        wrong = sum(our != their for our, their in zip(ours, fairy_counts(variant, fens, 4), strict=True))
        print_result(f"Fairy-Stockfish {variant}, 4 plies from each", len(fens), sum(ours), wrong, begin)
        yield wrong


def print_result(what: str, games: int, plies: int, mismatches: int, begin: float) -> None:
    """Print one line of the table."""
    print(
        f"{what:45s} {games:7,} games {plies:13,} plies {mismatches:5} mismatches "
        f"{time.perf_counter() - begin:8.1f} s",
        flush=True,
    )


REFEREES: dict[str, Callable[[int, int], Iterator[int]]] = {
    "openspiel": against_openspiel,
    "gnugo": against_gnugo,
    "counts": against_counts,
    "hex": against_solved_hex,
    "chess": against_chess,
}


def refuse_absent(referees: Sequence[str]) -> None:
    """Refuse to begin where a referee that will be asked is not installed.

    Raises:
        UserError: it says what installs the referee.
    """
    if "openspiel" in referees and importlib.util.find_spec("pyspiel") is None:
        raise UserError('The referee openspiel is not installed; pip install "azero[openspiel]" installs it.')
    if "gnugo" in referees and PROGRAM is None:
        raise UserError("The referee gnugo is not installed; apt-get install gnugo installs it.")
    if "chess" in referees:
        for package in ("chess", "pyffish", "pyspiel"):
            if importlib.util.find_spec(package) is None:
                raise UserError(
                    f'The referee {package} is not installed; pip install "azero[dev]" installs it.'
                )
        if FAIRY is None:
            raise UserError(
                "The referee fairy-stockfish is not installed; apt-get install fairy-stockfish installs it."
            )


def main() -> int:
    """Ask the referees; return the exit status."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "referees", nargs="*", metavar="referee", choices=[*REFEREES, []], help=", ".join(REFEREES)
    )
    parser.add_argument(
        "--games",
        type=int,
        default=1000,
        help="random games of each game against OpenSpiel; a tenth of it against GNU Go; chess has 1000 "
        "plies for each",
    )
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    referees, mismatches = arguments.referees or [*REFEREES], 0
    refuse_absent(referees)
    for name in referees:
        mismatches += sum(REFEREES[name](arguments.games, arguments.seed))
    print(f"mismatches={mismatches}")
    return 1 if mismatches else 0


if __name__ == "__main__":
    with one_sentence():
        sys.exit(main())
