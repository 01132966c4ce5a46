"""`azero strength run=NAME`: how many mistakes does a champion make?

It answers positions whose exact scores are known, by its raw policy and by its search. A mistake is a move
that does not keep win, draw or loss. Connect Four has six sets of 1,000 positions, drawn from random play.
They are easy, medium or hard by the plies until the end under perfect play (< 14, 14 to 28, > 28), and early,
middle or late by the plies played (< 14, 14 to 28, > 28). Chess has 1,000 positions of each ending of two
kings and one more piece, which are solved first (`azero/truth/endgames.py`). Each position is searched with
an empty tree, without noise, many at once. Of small Hex it also shows the value of each first move.

With `perfect=GAMES` the champion of Connect Four moves first against perfect play instead. With
`replies=PLY` it moves first against every reply, up to that ply.
"""

from __future__ import annotations

import math
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from azero.cli.arguments import (
    DeviceSettings,
    refuse_rest,
    run_program,
    split_words,
    take_settings,
    whole_numbers,
)
from azero.config.schema import SearchConfig, UserError, option_words, setting, settings
from azero.kernels.compiling import CompileNotice
from azero.match.rating import score_interval
from azero.players.policy import PolicyPlayer
from azero.players.pv_mcts import PvMcts
from azero.process.machine import cores
from azero.report.console import Console, format_interval, format_share, table_text
from azero.run.disk import write_for_user
from azero.run.folder import newest_run
from azero.truth import judging, perfect_play
from azero.truth.endgames import endings_of, solve_ending
from azero.truth.hex_openings import has_openings
from azero.truth.known import DEVELOPMENT, FINAL, has_table, is_connect_four, shipped_file
from azero.truth.positions import PositionSet, read_positions
from azero.truth.solvers import Oracle, make_oracle

if TYPE_CHECKING:
    from azero.champion.load import TrainedWorkers  # imports torch

EXAMPLES = """
run=othello6
run=mine simulations=0,64,600 kind=puct
run=mine file=positions.gz
run=connect_four perfect=100 simulations=100
run=connect_four replies=11 simulations=100
"""
LEGEND = """mistakes: moves that throw away a win or a draw, with a 95 % interval
random: the mistakes of random moves
best: moves with the fastest win or the longest loss
value error: mean distance to the exact value"""


@dataclass(frozen=True)
class StrengthSettings(DeviceSettings):
    """Settings of the program.

    Every other argument is a setting of the champion's search, such as kind=puct.
    """

    run: str = setting(
        "", "Run whose champion answers; none: the one used last. Settings of its search may follow."
    )
    simulations: str = setting("0,600", "Simulations of each search, with commas; 0 is the raw policy.")
    network: str = setting("", "File of another network of the same game, instead of the champion.")
    file: str = setting("", "Positions that azero oracle made, instead of those that come with azero.")
    collection: str = setting(
        DEVELOPMENT, "The shipped positions; final ones are for the last table.", choices=(DEVELOPMENT, FINAL)
    )
    positions: int = setting(
        1000, "Positions of each set, at most, or of each later ply of replies.", between=(1, math.inf)
    )
    perfect: int = setting(
        0,
        "Games against perfect play instead: Connect Four, the champion moves first.",
        between=(0, math.inf),
    )
    replies: int = setting(
        0,
        "Try every reply instead, up to this ply: Connect Four, the champion moves first. After ply 11 "
        "replies to a sample of positions.",
        between=(0, 41),
    )
    book: str = setting(
        "", "With replies: a file for the moves up to each mistake of the last search, for selfplay.book."
    )
    seed: int = setting(1, "Seed of the perfect opponent's replies and of samples.", between=(0, math.inf))
    inference: str = setting("", "Such as openvino:bf16; empty: as in the run's self-play.")
    workers: int = setting(0, "Threads; 0 chooses two, or one on one core.", between=(0, math.inf))


def measure_asked(words: Sequence[str]) -> int:
    """Measure what the words of the command line ask for; return the exit status."""
    console = Console()
    with CompileNotice(console.message):
        measure_all(words, console)
    return 0


def measure_all(words: Sequence[str], console: Console) -> dict[str, float]:
    """Print a table for each number of simulations; return each number by name.

    A name is such as "search600_mean_percent", "policy_value_error" or "search100_replies_mistakes". Shares
    are in percent; mistakes against every reply are counted.
    """
    texts = split_words(words, bare="run")
    asked = take_settings(texts, StrengthSettings)
    known = settings(SearchConfig)
    unknown = {key: text for key, text in texts.items() if key.removeprefix("search.") not in known}
    refuse_rest(unknown, StrengthSettings, known)
    if asked.book and not asked.replies:
        raise UserError(f"book={asked.book} needs replies; set replies=21.")
    if not Path(asked.book).parent.is_dir():
        raise UserError(f"book={asked.book} cannot be written: its folder does not exist.")
    if {"num_simulations", "search.num_simulations"} & texts.keys():
        raise UserError("num_simulations cannot be set here; set simulations=600.")
    amounts = whole_numbers(asked.simulations, "simulations", "0,600")
    asked = replace(asked, run=asked.run or newest_run(asked.config))
    from azero.champion.load import change_search, load_for_workers  # here, because they import torch
    from azero.network.torch_inference import one_thread_per_worker

    network = Path(asked.network) if asked.network else None
    console.message(f"Loading {network or f'the champion of run {asked.run}'}.")
    found = dict[str, float]()
    with one_thread_per_worker():
        workers = asked.workers or min(2, cores())
        trained = load_for_workers(asked.config, asked.run, workers, network, asked.inference)
        trained = trained._replace(search=change_search(trained.search, texts))
        oracle = perfect_oracle(trained, asked) if asked.perfect or asked.replies else None
        sets = [] if oracle else read_sets(trained, asked)
        choice = trained.choice
        console.message(f"{network or asked.run}, {choice.backend} {choice.precision} on {choice.device}")
        if sets:
            console.message("\n" + LEGEND)
        for amount in amounts if sets or oracle else ():
            console.message(f"\nsearch of {amount:,} simulations" if amount else "\nraw policy")
            if not oracle:
                found |= measure(trained, amount, sets, console)
                continue
            if asked.perfect:
                play_perfect(trained, amount, oracle, asked, console)
            if asked.replies:
                found |= answer_replies(trained, amount, oracle, asked, console)
        if not oracle and has_openings(trained.game.name, trained.game.options):
            show_openings(trained, console)
        if sets and has_table(trained.game.name):
            console.message(f"\nazero correctness run={asked.run} asks about all 4,520 positions.")
    return found


def perfect_oracle(trained: TrainedWorkers, asked: StrengthSettings) -> Oracle:
    """Return the solver that knows perfect play.

    Raises:
        UserError: the game is not Connect Four on its usual board, or the solver is not installed.
    """
    game = trained.game
    if not is_connect_four(game.name, game.options):
        wanted = f"perfect={asked.perfect}" if asked.perfect else f"replies={asked.replies}"
        raise UserError(f"{wanted} needs Connect Four on 6 x 7; {asked.run} plays {game.name}.")
    return make_oracle(game)


def play_perfect(
    trained: TrainedWorkers, num_simulations: int, oracle: Oracle, asked: StrengthSettings, console: Console
) -> None:
    """Let the search, or the raw policy, move first against perfect play, and print the results."""
    game, inference = trained.game, trained.inferences[0]
    search = replace(trained.search, num_simulations=num_simulations)
    champion = PvMcts(game, inference, search) if num_simulations else PolicyPlayer(game, inference)
    opponent = perfect_play.PerfectOpponent(oracle, np.random.default_rng(asked.seed))
    console.message("The champion moves first against perfect play.")
    with console.stage("strength", 0, 0, asked.perfect, "games") as progress:
        games = perfect_play.play(
            game, champion, opponent, asked.perfect, lambda ended, ply: progress.update(ended, ply=ply)
        )
    console.message(perfect_play.report_text(game, oracle, games))


def answer_replies(
    trained: TrainedWorkers, num_simulations: int, oracle: Oracle, asked: StrengthSettings, console: Console
) -> dict[str, float]:
    """Let the search, or the raw policy, move first against every reply; print and return its mistakes."""
    found, plies = list[perfect_play.Replies](), (asked.replies + 1) // 2
    console.message("The champion moves first against every reply. A mistake throws away a win.")
    with console.stage("strength", 0, 0, plies, "plies") as progress:

        def answer(states: np.ndarray, at: np.ndarray) -> np.ndarray:
            def watch(done: float) -> None:
                progress.update(len(found) + done / len(states), positions=before + round(done))

            before = sum(each.positions for each in found)
            return answers_of(trained, num_simulations, states, at, watch).moves

        rng = np.random.default_rng(asked.seed)
        for each in perfect_play.try_replies(
            trained.game, answer, oracle, asked.replies, asked.positions, rng
        ):
            found.append(each)
        progress.update(len(found), positions=sum(each.positions for each in found))
    console.message(perfect_play.replies_text(trained.game, found))
    if asked.book:
        lines = [" ".join(trained.game.move_names(moves[:-1])) for each in found for moves in each.mistakes]
        write_for_user(Path(asked.book), "".join(f"{line}\n" for line in lines if line).encode())
    return {f"{tag_of(num_simulations)}_replies_mistakes": sum(len(each.mistakes) for each in found)}


def answers_of(
    trained: TrainedWorkers,
    num_simulations: int,
    states: np.ndarray,
    plies: np.ndarray,
    watch: Callable[[float], object],
) -> judging.Answers:
    """Return what a search, or the raw policy, answers in states [P, S] after plies [P].

    `watch` receives how many of the positions are done.
    """
    game, inferences, search, _ = trained
    if not num_simulations:
        return judging.ask_network(game, inferences[0], states)
    asked = replace(search, num_simulations=num_simulations)
    return judging.ask_search(game, inferences, asked, states, plies, watch)


def tag_of(num_simulations: int) -> str:
    """Return what names of numbers begin with."""
    return f"search{num_simulations}" if num_simulations else "policy"


def read_sets(trained: TrainedWorkers, asked: StrengthSettings) -> list[PositionSet]:
    """Return the sets of a file, of a collection that comes with azero, or of the endings of chess.

    Raises:
        UserError: nothing is known of this game, or the file cannot be read.
    """
    game = trained.game
    file = Path(asked.file) if asked.file else shipped_file(game.name, game.options, asked.collection)
    if file:
        return read_positions(file, game, asked.positions)[1]
    if has_openings(game.name, game.options):
        return []
    if game.name == "chess":
        return [solve_ending(game, each).sample(asked.positions, asked.seed) for each in endings_of(game)]
    late = f"plies={game.max_plies // 2}-{3 * game.max_plies // 4}"
    words = [f"game={game.name}", *option_words(game.options), f"out={game.name}.gz", late]
    made = shlex.join(["azero", "oracle", *words])
    raise UserError(
        f"no {asked.collection} positions of {game.name} come with azero; make some with {made} (in "
        f"game= the file of your own game, in plies= positions late enough to be solved) and pass "
        f"file={game.name}.gz, or match the champion with azero arena first=pv_mcts second=uct."
    )


def judge_sets(
    trained: TrainedWorkers, num_simulations: int, sets: Sequence[PositionSet], console: Console
) -> list[judging.Stats]:
    """Let a search, or the raw policy, answer all sets, and show how far it is."""
    judged = list[judging.Stats]()
    with console.stage("strength", 0, 0, sum(len(each.plies) for each in sets), "positions") as progress:

        def watch(done: float) -> None:
            progress.update(math.floor(done) + sum(stats.positions for stats in judged))

        watch(0)
        for each in sets:
            answers = answers_of(trained, num_simulations, each.states, each.plies, watch)
            judged.append(judging.judge(each, answers))
        watch(0)
    return judged


def measure(
    trained: TrainedWorkers, num_simulations: int, sets: Sequence[PositionSet], console: Console
) -> dict[str, float]:
    """Print the table of a search, or of the raw policy; return its numbers by name."""
    tag, judged = tag_of(num_simulations), judge_sets(trained, num_simulations, sets, console)
    chances = [judging.random_mistakes(each) for each in sets]
    mean = judging.mean_of(judged)
    rows = [["", "mistakes", "95 % interval", "random", "best", "value error"]]
    for each, stats, chance in zip(sets, judged, chances, strict=True):
        interval = score_interval(stats.mistakes, 0, stats.positions - stats.mistakes)  # Wilson's
        rows.append(row(each.name, stats, interval, chance))
    if len(sets) > 1:
        rows.append(row("mean", mean, mean_interval(judged), float(np.mean(chances))))
    console.message(table_text(rows))
    names = [*(each.name.replace(" ", "_") for each in sets), "mean"]
    return {
        **{
            f"{tag}_{name}_percent": round(100 * (1 - stats.keeps_value), 2)
            for name, stats in zip(names, [*judged, mean], strict=True)
        },
        f"{tag}_best_move_percent": round(100 * mean.best_move, 2),
        f"{tag}_value_error": round(mean.value_error, 4),
    }


def row(name: str, stats: judging.Stats, interval: tuple[float, float], chance: float) -> list[str]:
    """Return a line of the table."""
    return [
        name,
        format_share(1 - stats.keeps_value, 1),
        format_interval(*interval),
        format_share(chance, 0),
        format_share(stats.best_move, 1),
        f"{stats.value_error:.3f}",
    ]


def mean_interval(stats: Sequence[judging.Stats]) -> tuple[float, float]:
    """Return the 95 % interval of the mean share of mistakes.

    The sets are independent, so their variances add up. A set's share has the variance p (1 - p) / n, with
    two mistakes and two right answers added (Agresti and Coull 1998): no mistake in 1,000 answers does not
    prove that there are none.
    """
    mistakes = np.array([each.mistakes for each in stats]) + 2
    counts = np.array([each.positions for each in stats]) + 4
    half = 1.96 * float(np.sqrt((mistakes / counts * (1 - mistakes / counts) / counts).sum())) / len(stats)
    mean = float(np.mean([1 - each.keeps_value for each in stats]))
    return max(0.0, mean - half), min(1.0, mean + half)


def show_openings(trained: TrainedWorkers, console: Console) -> None:
    """Print the network's value of each first move of Hex, and how many have the right sign."""
    judged = judging.judge_openings(trained.game, trained.inferences[0])
    console.message("\nraw value of each first move for the first player, in hundredths")
    console.message(openings_text(judged, trained.game.options["size"]))
    console.message(
        f"right sign: {judged.right.sum()} of {len(judged.right)} (x: wrong), "
        f"value error {judged.value_error:.4f}"
    )


def openings_text(judged: judging.OpeningStats, size: int) -> str:
    """Return the first player's values as text, each row half a cell to the right of the one above."""
    cells = [
        f"{round(-100 * value):4d}{' ' if fine else 'x'}"
        for value, fine in zip(judged.values, judged.right, strict=True)
    ]
    return "\n".join(3 * row * " " + " ".join(cells[row * size : (row + 1) * size]) for row in range(size))


main = partial(run_program, "strength", measure_asked, StrengthSettings, EXAMPLES)

if __name__ == "__main__":
    sys.exit(main())
